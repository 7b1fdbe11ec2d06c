"""The decoder as functions over a dict of TensorFlow variables."""

import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
VOCAB, DIM, HEADS, GROUPS, FF, WINDOW, LAYERS = 40, 32, 4, 2, 48, 4, 2
D = DIM // HEADS


def rms_norm(x, gain):
    return x * tf.math.rsqrt(tf.reduce_mean(x * x, -1, keepdims=True) + 1e-5) * gain


def rope(x):  # batch, head, time, depth
    t = tf.range(tf.shape(x)[2], dtype=tf.float32)
    theta = tf.constant(10000.0) ** (-tf.range(0, D, 2, dtype=tf.float32) / D)
    phase = tf.einsum("t,f->tf", t, theta)
    c, s = tf.cos(phase), tf.sin(phase)
    x1, x2 = x[..., : D // 2], x[..., D // 2 :]
    return tf.concat([x1 * c - x2 * s, x2 * c + x1 * s], axis=-1)


def heads(x, w, n):  # b t c -> b n t d
    return tf.transpose(tf.reshape(x @ w, (tf.shape(x)[0], -1, n, D)), (0, 2, 1, 3))


def allowed(t):
    """Each position sees itself and the WINDOW - 1 before it."""
    return tf.linalg.band_part(tf.ones((t, t), tf.bool), WINDOW - 1, 0)


def attention(x, p):
    q = rope(heads(x, p["q"], HEADS))
    k, v = rope(heads(x, p["k"], GROUPS)), heads(x, p["v"], GROUPS)
    k, v = (tf.repeat(y, HEADS // GROUPS, axis=1) for y in (k, v))
    scores = tf.matmul(q, k, transpose_b=True) / np.sqrt(D).astype("float32")
    scores = tf.where(allowed(x.shape[1]), scores, -np.inf)
    mixed = tf.transpose(tf.nn.softmax(scores) @ v, (0, 2, 1, 3))
    return tf.reshape(mixed, (-1, x.shape[1], HEADS * D)) @ p["o"]


def swiglu(x, p):
    return (tf.nn.silu(x @ p["gate"]) * (x @ p["up"])) @ p["down"]


class Decoder(tf.Module):
    def __init__(self, rng):
        super().__init__()

        def weight(*shape):
            return tf.Variable(rng.normal(0, shape[0] ** -0.5, shape).astype("float32"))

        def gain():
            return tf.Variable(1 + 0.2 * rng.normal(size=DIM).astype("float32"))

        shapes = {"q": (DIM, HEADS * D), "k": (DIM, GROUPS * D), "v": (DIM, GROUPS * D), "o": (HEADS * D, DIM)}
        shapes |= {"gate": (DIM, FF), "up": (DIM, FF), "down": (FF, DIM)}
        self.embedding, self.final = weight(VOCAB, DIM), gain()
        self.blocks = [
            {"att_norm": gain(), "ff_norm": gain()} | {k: weight(*s) for k, s in shapes.items()}
            for _ in range(LAYERS)
        ]

    def __call__(self, tokens):
        x = tf.gather(self.embedding, tokens)
        for p in self.blocks:
            x += attention(rms_norm(x, p["att_norm"]), p)
            x += swiglu(rms_norm(x, p["ff_norm"]), p)
        return tf.matmul(rms_norm(x, self.final), self.embedding, transpose_b=True)


def make(seed=0):
    return Decoder(np.random.default_rng(seed))


def inputs(seed=0):
    return np.random.default_rng(seed).integers(0, VOCAB, (4, 12))


def load(ported, original):
    sd = {k: v.numpy() for k, v in original.state_dict().items()}
    ported.embedding.assign(sd["embed.weight"])
    ported.final.assign(sd["norm.weight"])
    for i, p in enumerate(ported.blocks):
        for name, variable in p.items():
            variable.assign(sd[f"layers.{i}.{name}.weight"].T)
