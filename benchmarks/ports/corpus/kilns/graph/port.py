"""The limb graph policy as a tf.Module."""
import math

import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
FROM = np.array([0, 1, 1, 2, 0, 3, 4, 5, 6, 3, 2], "int32")
TO = np.array([1, 0, 2, 1, 3, 4, 3, 3, 5, 6, 0], "int32")
MOTORS = np.array([1, 2, 4, 6], "int32")
NODES, H = 7, 16


class Linear(tf.Module):
    def __init__(self, rng, n_in, n_out):
        super().__init__()
        self.w = tf.Variable((rng.normal(size=(n_in, n_out)) / np.sqrt(n_in)).astype("float32"))
        self.b = tf.Variable((0.2 * rng.normal(size=n_out)).astype("float32"))

    def __call__(self, x):
        return tf.tensordot(x, self.w, axes=1) + self.b


class GRU(tf.Module):
    """Gates in torch's order: reset, update, new."""

    def __init__(self, rng):
        super().__init__()
        self.inp = Linear(rng, H, 3 * H)
        self.rec = Linear(rng, H, 3 * H)

    def __call__(self, x, h):
        ir, iz, i_new = tf.split(self.inp(x), 3, axis=-1)
        hr, hz, h_new = tf.split(self.rec(h), 3, axis=-1)
        reset, keep = tf.sigmoid(ir + hr), tf.sigmoid(iz + hz)
        cand = tf.tanh(i_new + reset * h_new)
        return (1.0 - keep) * cand + keep * h


class LimbPolicy(tf.Module):
    def __init__(self, rng, rounds=3):
        super().__init__()
        self.rounds = rounds
        self.embed = Linear(rng, 9, H)
        self.msg1, self.msg2 = Linear(rng, 2 * H + 3, H), Linear(rng, H, H)
        self.gru = GRU(rng)
        self.mean1, self.mean2 = Linear(rng, H, H), Linear(rng, H, 1)
        self.log_std = tf.Variable((0.2 * rng.normal(size=4)).astype("float32"))
        self.score, self.value = Linear(rng, H, 1), Linear(rng, H, 1)

    def messages(self, h, edges):
        pair = [tf.gather(h, FROM, axis=1), tf.gather(h, TO, axis=1), edges]
        return self.msg2(tf.nn.relu(self.msg1(tf.concat(pair, axis=-1))))

    def gather_in(self, messages):
        by_edge = tf.transpose(messages, [1, 0, 2])
        total = tf.math.unsorted_segment_sum(by_edge, TO, NODES)
        degree = np.bincount(TO, minlength=NODES).astype("float32")
        total = total / tf.reshape(tf.maximum(tf.constant(degree), 1.0), [-1, 1, 1])
        return tf.transpose(total, [1, 0, 2])

    def __call__(self, nodes, edges, root, actions):
        context = tf.repeat(root[:, None, :], NODES, axis=1)
        h = tf.tanh(self.embed(tf.concat([nodes, context], axis=2)))
        for _ in range(self.rounds):
            incoming = self.gather_in(self.messages(h, edges))
            h = self.gru(incoming, h)
        limbs = tf.gather(h, MOTORS, axis=1)
        mean = self.mean2(tf.tanh(self.mean1(limbs)))[..., 0]
        z = (actions - mean) * tf.exp(-self.log_std)
        logp = -0.5 * tf.reduce_sum(z * z, axis=1) - tf.reduce_sum(self.log_std)
        logp = logp - 0.5 * len(MOTORS) * math.log(2 * math.pi)
        weights = tf.nn.softmax(self.score(h)[..., 0], axis=1)
        pooled = tf.einsum("bn,bnd->bd", weights, h)
        return mean, logp, self.value(pooled)[:, 0]


def make():
    return LimbPolicy(np.random.default_rng(14))


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    b = 5
    return (
        rng.normal(size=(b, 7, 5)).astype("float32"),
        rng.normal(size=(b, 11, 3)).astype("float32"),
        rng.normal(size=(b, 4)).astype("float32"),
        rng.normal(size=(b, 4)).astype("float32"),
    )


def load(ported, original):
    def put(linear, weight, bias):
        linear.w.assign(weight.detach().numpy().T)
        linear.b.assign(bias.detach().numpy())

    for ours, theirs in (
        (ported.embed, original.embed),
        (ported.msg1, original.message[0]),
        (ported.msg2, original.message[2]),
        (ported.mean1, original.mean[0]),
        (ported.mean2, original.mean[2]),
        (ported.score, original.score),
        (ported.value, original.value),
    ):
        put(ours, theirs.weight, theirs.bias)
    put(ported.gru.inp, original.update.weight_ih, original.update.bias_ih)
    put(ported.gru.rec, original.update.weight_hh, original.update.bias_hh)
    ported.log_std.assign(original.log_std.detach().numpy())
