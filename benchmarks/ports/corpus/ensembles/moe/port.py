"""The mixture of experts in TensorFlow, dense: every expert on every token."""
import tensorflow as tf

FRAMEWORK = "tensorflow"
D, FF, EXPERTS, TOP = 12, 24, 6, 2


class TfMoE(tf.Module):
    def __call__(self, x):
        mean, var = tf.nn.moments(x, [-1], keepdims=True)
        h = (x - mean) * tf.math.rsqrt(var + 1e-5) * self.scale + self.shift
        h = tf.reshape(h, (-1, D))
        logits = tf.matmul(h, self.gate)
        top, idx = tf.math.top_k(logits, TOP)
        weight = tf.nn.softmax(top)
        onehot = tf.one_hot(idx, EXPERTS)
        combine = tf.einsum("nk,nke->ne", weight, onehot)
        hidden = tf.einsum("nd,edf->nef", h, self.w1) + self.b1
        hidden = tf.nn.gelu(hidden, approximate=True)
        y = tf.einsum("nef,efd->ned", hidden, self.w2)
        out = tf.einsum("ne,ned->nd", combine, y + self.b2)
        probs = tf.nn.softmax(logits)
        load = tf.reduce_mean(tf.reduce_sum(onehot, 1), 0)
        aux = EXPERTS * tf.reduce_sum(load * tf.reduce_mean(probs, 0))
        return {"y": x + tf.reshape(out, tf.shape(x)), "aux": tf.repeat(aux, tf.shape(x)[0]), "logits": logits}


def make():
    return TfMoE()


def load(net, ref):
    n = lambda p: tf.Variable(p.detach().numpy())
    net.scale, net.shift = n(ref.norm.weight), n(ref.norm.bias)
    net.gate = n(ref.gate.weight.T)
    net.w1, net.b1, net.w2, net.b2 = n(ref.w1), n(ref.b1), n(ref.w2), n(ref.b2)
