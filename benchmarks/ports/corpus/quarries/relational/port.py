"""Relational agent written with tf.Module and bare TensorFlow ops (NHWC inside)."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
HEADS, D_HEAD = 2, 16


class Affine(tf.Module):
    def __init__(self, n_in, n_out, rng, bias=True, name=None):
        super().__init__(name=name)
        self.w = tf.Variable((rng.normal(size=(n_in, n_out)) * (2 / n_in) ** 0.5).astype("f"), name="w")
        self.b = tf.Variable((0.1 * rng.normal(size=n_out)).astype("f"), name="b") if bias else None

    def __call__(self, x):
        y = tf.einsum("...i,io->...o", x, self.w)
        return y if self.b is None else y + self.b


class Norm(tf.Module):
    def __init__(self, n, rng, name=None):
        super().__init__(name=name)
        self.scale = tf.Variable((1 + 0.2 * rng.normal(size=n)).astype("f"), name="scale")
        self.offset = tf.Variable((0.1 * rng.normal(size=n)).astype("f"), name="offset")

    def __call__(self, x):
        mean, var = tf.nn.moments(x, axes=[-1], keepdims=True)
        return tf.nn.batch_normalization(x, mean, var, self.offset, self.scale, 1e-5)


class RelationalAgent(tf.Module):
    def __init__(self, n_actions=4, rounds=2, seed=0):
        super().__init__()
        rng = np.random.default_rng(seed)
        self.k1 = tf.Variable((rng.normal(size=(2, 2, 3, 12)) * 0.4).astype("f"))
        self.b1 = tf.Variable((rng.normal(size=12) * 0.1).astype("f"))
        self.k2 = tf.Variable((rng.normal(size=(2, 2, 12, 24)) * 0.2).astype("f"))
        self.b2 = tf.Variable((rng.normal(size=24) * 0.1).astype("f"))
        self.embed = Affine(26, 32, rng)
        self.q, self.k, self.v = (Affine(32, HEADS * D_HEAD, rng, bias=False) for _ in range(3))
        self.nq, self.nk, self.nv = (Norm(D_HEAD, rng) for _ in range(3))
        self.g1, self.g2 = Affine(HEADS * D_HEAD, 64, rng), Affine(64, 32, rng)
        self.nout = Norm(32, rng)
        self.rounds = rounds
        self.fc1, self.fc2 = Affine(32, 48, rng), Affine(48, 48, rng)
        self.policy, self.value = Affine(48, n_actions, rng), Affine(48, 1, rng)

    def heads(self, x):
        b, n = x.shape[0], x.shape[1]
        return tf.transpose(tf.reshape(x, [b, n, HEADS, D_HEAD]), [0, 2, 1, 3])

    def relate(self, e):
        q = self.nq(self.heads(self.q(e)))
        k = self.nk(self.heads(self.k(e)))
        v = self.nv(self.heads(self.v(e)))
        scores = tf.matmul(q, k, transpose_b=True) / np.sqrt(D_HEAD)
        att = tf.nn.softmax(scores, axis=-1)
        mixed = tf.transpose(tf.matmul(att, v), [0, 2, 1, 3])
        mixed = tf.reshape(mixed, [e.shape[0], e.shape[1], HEADS * D_HEAD])
        return self.nout(e + tf.nn.relu(self.g2(tf.nn.relu(self.g1(mixed)))))

    def __call__(self, obs):
        x = tf.transpose(obs, [0, 2, 3, 1])
        x = tf.nn.relu(tf.nn.conv2d(x, self.k1, 1, "VALID") + self.b1)
        x = tf.nn.relu(tf.nn.conv2d(x, self.k2, 1, "VALID") + self.b2)
        b, h, w, c = x.shape
        cols, rows = tf.meshgrid(tf.linspace(-1.0, 1.0, w), tf.linspace(-1.0, 1.0, h), indexing="xy")
        xy = tf.tile(tf.stack([cols, rows], axis=-1)[None], [b, 1, 1, 1])
        x = tf.concat([x, xy], axis=-1)
        e = self.embed(tf.reshape(x, [b, h * w, c + 2]))
        for _ in range(self.rounds):
            e = self.relate(e)
        z = tf.reduce_max(e, axis=1)
        z = tf.nn.relu(self.fc2(tf.nn.relu(self.fc1(z))))
        return {"log_pi": tf.nn.log_softmax(self.policy(z)), "value": self.value(z)[:, 0]}


def make():
    return RelationalAgent(seed=8)


def load(ported, original):
    p = {k: v.detach().numpy() for k, v in original.named_parameters()}
    for i, (k, b) in enumerate(((ported.k1, ported.b1), (ported.k2, ported.b2)), 1):
        k.assign(p[f"conv{i}.weight"].transpose(2, 3, 1, 0))
        b.assign(p[f"conv{i}.bias"])
    dense = {"embed": "embed", "q": "attend.to_q", "k": "attend.to_k", "v": "attend.to_v",
             "g1": "attend.g.0", "g2": "attend.g.2", "fc1": "fc.0", "fc2": "fc.2",
             "policy": "pi", "value": "v"}
    for mine, theirs in dense.items():
        layer = getattr(ported, mine)
        layer.w.assign(p[theirs + ".weight"].T)
        if layer.b is not None:
            layer.b.assign(p[theirs + ".bias"])
    for mine, theirs in {"nq": "norm_q", "nk": "norm_k", "nv": "norm_v", "nout": "norm_out"}.items():
        getattr(ported, mine).scale.assign(p[f"attend.{theirs}.weight"])
        getattr(ported, mine).offset.assign(p[f"attend.{theirs}.bias"])


def inputs(seed):
    rng = np.random.default_rng(seed)
    palette = rng.uniform(size=(8, 3))
    palette[0] = 0.86
    board = rng.choice(8, size=(6, 9, 9), p=[0.65] + [0.05] * 7)
    return palette[board].transpose(0, 3, 1, 2).astype(np.float32).copy()
