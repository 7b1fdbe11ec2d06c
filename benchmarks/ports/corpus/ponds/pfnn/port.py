"""PFNN in raw TensorFlow: a dict of tf.Variables, phase function as a 4-vector of spline weights."""
import math
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
S, W, H = 10, 6, 12
TWO_PI = 2.0 * math.pi


def spline_weights(phase):
    """[B] phase -> [B, 4]: how much of each control point is used."""
    u = 4.0 * phase / TWO_PI
    k = tf.cast(tf.floor(u), tf.int32)
    t = u - tf.floor(u)
    t2, t3 = t * t, t * t * t
    coef = tf.stack([-0.5 * t3 + t2 - 0.5 * t,
                     1.5 * t3 - 2.5 * t2 + 1.0,
                     -1.5 * t3 + 2.0 * t2 + 0.5 * t,
                     0.5 * t3 - 0.5 * t2], axis=1)
    idx = (k[:, None] + tf.constant([[-1, 0, 1, 2]])) % 4
    return tf.reduce_sum(coef[:, :, None] * tf.one_hot(idx, 4), axis=1)


def phase_dense(a, x, w, b):
    return tf.einsum("bk,koi,bi->bo", a, w, x) + tf.matmul(a, b)


class PFNN(tf.Module):
    def __init__(self, seed=11):
        super().__init__()
        r = np.random.RandomState(seed)
        n_in, n_out = S + 2 * W, S + 2 * W + 1
        sizes = [n_in, H, H, n_out]
        self.p = {}
        for i in range(3):
            self.p[f"w{i}"] = tf.Variable((r.randn(4, sizes[i + 1], sizes[i]) * 0.35).astype("f"))
            self.p[f"b{i}"] = tf.Variable((r.randn(4, sizes[i + 1]) * 0.2).astype("f"))
        self.p["x_mean"] = tf.Variable(r.randn(n_in).astype("f"), trainable=False)
        self.p["x_std"] = tf.Variable(r.uniform(0.6, 1.5, n_in).astype("f"), trainable=False)
        self.p["y_mean"] = tf.Variable(r.randn(n_out).astype("f"), trainable=False)
        self.p["y_std"] = tf.Variable(r.uniform(0.6, 1.5, n_out).astype("f"), trainable=False)

    def predict(self, state, traj, phase):
        p = self.p
        a = spline_weights(phase)
        x = tf.concat([state, tf.reshape(traj, [-1, 2 * W])], axis=1)
        h = (x - p["x_mean"]) / p["x_std"]
        h = tf.nn.elu(phase_dense(a, h, p["w0"], p["b0"]))
        h = tf.nn.elu(phase_dense(a, h, p["w1"], p["b1"]))
        y = phase_dense(a, h, p["w2"], p["b2"])
        y = y * p["y_std"] + p["y_mean"]
        new_state, new_traj, gait = tf.split(y, [S, 2 * W, 1], axis=1)
        return new_state, tf.reshape(new_traj, [-1, W, 2]), gait[:, 0]

    def __call__(self, state, traj, phase_in):
        phase, speed = tf.unstack(phase_in, axis=1)
        keep = tf.pow(tf.range(W, dtype=tf.float32) / W, 0.75)[None, :, None]
        for _ in range(2):
            phase = tf.math.floormod(phase + speed * TWO_PI / 60.0, TWO_PI)
            state, pred, gait = self.predict(state, traj, phase)
            traj = pred + keep * (traj - pred)
            speed = 1.0 + 6.0 * tf.sigmoid(gait)
        return state, traj, tf.stack([tf.cos(phase), tf.sin(phase)], axis=1)


def make():
    return PFNN()


def inputs(seed):
    r = np.random.RandomState(seed)
    return (r.randn(5, S).astype("f"), r.randn(5, W, 2).astype("f"),
            np.stack([r.uniform(0, 6.28, 5), r.uniform(1, 8, 5)], 1).astype("f"))


def load(ported, original):
    for i in range(3):
        layer = getattr(original, f"l{i}")
        ported.p[f"w{i}"].assign(layer.weight.detach().numpy())
        ported.p[f"b{i}"].assign(layer.bias.detach().numpy())
    for a, b in (("x_mean", "xmean"), ("x_std", "xstd"), ("y_mean", "ymean"), ("y_std", "ystd")):
        ported.p[a].assign(getattr(original, b).numpy())
