"""Recurrent PPO in plain TensorFlow, the GRU written out."""
import tensorflow as tf

FRAMEWORK = "tensorflow"
H = 24


class TFRecurrentPPO(tf.Module):
    def step(self, x, state):
        gi = tf.matmul(x, self.wi) + self.bi
        gh = tf.matmul(state, self.wh) + self.bh
        ir, iz, i_n = tf.split(gi, 3, axis=-1)
        hr, hz, hn = tf.split(gh, 3, axis=-1)
        r, z = tf.sigmoid(ir + hr), tf.sigmoid(iz + hz)
        n = tf.tanh(i_n + r * hn)
        return (1.0 - z) * n + z * state

    def __call__(self, obs, dones, state):
        x = tf.tanh(tf.tensordot(obs, self.w1, 1) + self.b1)
        x = tf.tanh(tf.tensordot(x, self.w2, 1) + self.b2)
        ys = []
        for t in range(x.shape[0]):
            keep = 1.0 - dones[t][:, None]
            state = state * keep
            state = self.step(x[t], state)
            ys.append(state)
        y = tf.stack(ys)
        logits = tf.tensordot(y, self.wp, 1) + self.bp
        return tf.nn.softmax(logits), tf.squeeze(tf.tensordot(y, self.wv, 1) + self.bv, -1), state


def make():
    return TFRecurrentPPO()


def load(dst, src):
    w = {k: v.detach().numpy() for k, v in src.named_parameters()}
    var = lambda a, name: tf.Variable(a, name=name)
    dst.w1, dst.b1 = var(w["encoder.0.weight"].T, "w1"), var(w["encoder.0.bias"], "b1")
    dst.w2, dst.b2 = var(w["encoder.2.weight"].T, "w2"), var(w["encoder.2.bias"], "b2")
    dst.wi, dst.bi = var(w["gru.weight_ih_l0"].T, "wi"), var(w["gru.bias_ih_l0"], "bi")
    dst.wh, dst.bh = var(w["gru.weight_hh_l0"].T, "wh"), var(w["gru.bias_hh_l0"], "bh")
    dst.wp, dst.bp = var(w["pi.weight"].T, "wp"), var(w["pi.bias"], "bp")
    dst.wv, dst.bv = var(w["v.weight"].T, "wv"), var(w["v.bias"], "bv")
