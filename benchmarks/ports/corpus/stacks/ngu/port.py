"""NGU net on plain TensorFlow: tf.Module, hand-rolled LSTM."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
A, ARMS, H, OBS, E = 6, 4, 24, 9, 0.01
BETAS = tf.constant([0.0, 0.1, 0.25, 0.3])


def squash(x):
    return tf.sign(x) * (tf.sqrt(tf.abs(x) + 1.0) - 1.0) + E * x


def unsquash(x):
    return tf.sign(x) * (((tf.sqrt(1.0 + 4.0 * E * (tf.abs(x) + 1.0 + E)) - 1.0) / (2.0 * E)) ** 2 - 1.0)


class Affine(tf.Module):
    def __init__(self, i, o, rng):
        super().__init__()
        self.w = tf.Variable(rng.normal(0, 0.2, (i, o)).astype("float32"))
        self.b = tf.Variable(np.zeros(o, "float32"))

    def __call__(self, x):
        return tf.tensordot(x, self.w, 1) + self.b


class Stream(tf.Module):
    def __init__(self, rng):
        super().__init__()
        self.a = [Affine(H, 20, rng), Affine(20, A, rng)]
        self.v = [Affine(H, 20, rng), Affine(20, 1, rng)]

    def __call__(self, x):
        a = self.a[1](tf.nn.relu(self.a[0](x)))
        v = self.v[1](tf.nn.relu(self.v[0](x)))
        return a + (v - tf.reduce_mean(a, -1, keepdims=True))


class NGUNet(tf.Module):
    def __init__(self, rng):
        super().__init__()
        self.enc = Affine(OBS, 16, rng)
        self.gates = Affine(16 + A + 2 + ARMS + H, 4 * H, rng)
        self.ext, self.int = Stream(rng), Stream(rng)

    def lstm(self, x, h, c):
        i, f, g, o = tf.split(self.gates(tf.concat([x, h], 1)), 4, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        return tf.sigmoid(o) * tf.tanh(c), c

    def __call__(self, obs, prev_a, r_ext, r_int, reset, arm, h, c):
        steps = obs.shape[1]
        code = tf.tile(tf.one_hot(arm, ARMS)[:, None], (1, steps, 1))
        rewards = tf.stack([r_ext, r_int], axis=-1)
        seq = tf.concat([tf.nn.relu(self.enc(obs)), tf.one_hot(prev_a, A), rewards, code], axis=-1)
        zeros = tf.zeros_like(h)
        ys = []
        for x, r in zip(tf.unstack(seq, axis=1), tf.unstack(reset > 0.5, axis=1)):
            h = tf.where(r[:, None], zeros, h)
            c = tf.where(r[:, None], zeros, c)
            h, c = self.lstm(x, h, c)
            ys.append(h)
        y = tf.stack(ys, axis=1)
        beta = tf.gather(BETAS, arm)[:, None, None]
        q = squash(unsquash(self.ext(y)) + beta * unsquash(self.int(y)))
        return {"q": q, "greedy_value": tf.reduce_max(q, -1), "state": (h, c)}


def make():
    return NGUNet(np.random.default_rng(3))


def load(model, reference):
    def put(dst, src):
        dst.w.assign(src.weight.detach().numpy().T)
        dst.b.assign(src.bias.detach().numpy())

    put(model.enc, reference.torso)
    for dst, src in ((model.ext, reference.extrinsic), (model.int, reference.intrinsic)):
        for k in (0, 1):
            put(dst.a[k], src.adv[2 * k])
            put(dst.v[k], src.val[2 * k])
    p = {k: v.detach().numpy() for k, v in reference.core.named_parameters()}
    model.gates.w.assign(np.concatenate([p["weight_ih"], p["weight_hh"]], axis=1).T)
    model.gates.b.assign(p["bias_ih"] + p["bias_hh"])
