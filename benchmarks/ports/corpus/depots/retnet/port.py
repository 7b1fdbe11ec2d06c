"""RetNet in TensorFlow: a tf.Module that holds dicts of variables, and functions over them."""

import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
VOCAB, DIM, HEADS, FFN, LAYERS, LENGTH = 30, 16, 2, 24, 2, 9
KEY = DIM // HEADS
ALPHA = (2.0 * LAYERS) ** 0.25


def rms_norm(x, scale=None, eps=1e-6):
    x = x * tf.math.rsqrt(tf.reduce_mean(tf.square(x), axis=-1, keepdims=True) + eps)
    return x if scale is None else x * scale


def rotary_tables(length):
    angle = 1.0 / (10000 ** tf.linspace(0.0, 1.0, KEY // 2))
    angle = tf.repeat(angle, 2)
    phase = tf.range(length, dtype=tf.float32)[:, None] * angle[None]
    return tf.sin(phase), tf.cos(phase)


def decay_mask(length):
    gamma = 1 - 2.0 ** (-5 - tf.range(HEADS, dtype=tf.float32))
    index = tf.range(length, dtype=tf.float32)
    distance = index[:, None] - index[None]
    powers = gamma[:, None, None] ** tf.maximum(distance, 0)
    mask = tf.where(distance >= 0, powers, 0.0)
    return mask / tf.sqrt(tf.reduce_sum(mask, -1, keepdims=True))


def rotate(x, sin, cos):
    even, odd = x[..., ::2], x[..., 1::2]
    turned = tf.reshape(tf.stack([-odd, even], axis=-1), tf.shape(x))
    return x * cos + turned * sin


def split_heads(x):
    shape = tf.shape(x)
    return tf.transpose(tf.reshape(x, (shape[0], shape[1], HEADS, -1)), (0, 2, 1, 3))


def retention(p, x, tables, mask):
    sin, cos = tables
    q = rotate(split_heads(x @ p["q"]), sin, cos)
    k = rotate(split_heads(x @ p["k"] * KEY**-0.5), sin, cos)
    v = split_heads(x @ p["v"])
    scores = tf.einsum("bhqd,bhkd->bhqk", q, k) * mask
    total = tf.reduce_sum(tf.abs(tf.stop_gradient(scores)), axis=-1, keepdims=True)
    scores = scores / tf.clip_by_value(total, 1.0, 5e4)
    out = tf.einsum("bhqk,bhkd->bqhd", scores, v)
    out = rms_norm(out)
    out = tf.reshape(out, (tf.shape(x)[0], tf.shape(x)[1], 2 * DIM))
    return (tf.nn.silu(x @ p["g"]) * out) @ p["out"]


def glu(p, x):
    return (tf.nn.gelu(x @ p["fc1"]) * (x @ p["gate"])) @ p["fc2"]


class RetNet(tf.Module):
    def __init__(self, seed):
        super().__init__()
        rng = np.random.default_rng(seed)

        def matrix(rows, columns):
            value = rng.normal(0, 1 / np.sqrt(rows), (rows, columns))
            return tf.Variable(value.astype("float32"))

        def scale():
            return tf.Variable(rng.uniform(0.6, 1.5, DIM).astype("float32"))

        self.embedding = matrix(VOCAB, DIM)
        self.embedding_norm = scale()
        self.blocks = []
        for _ in range(LAYERS):
            block = {
                "retention_norm": scale(),
                "retention": {
                    "q": matrix(DIM, DIM),
                    "k": matrix(DIM, DIM),
                    "v": matrix(DIM, 2 * DIM),
                    "g": matrix(DIM, 2 * DIM),
                    "out": matrix(2 * DIM, DIM),
                },
                "ffn_norm": scale(),
                "ffn": {"fc1": matrix(DIM, FFN), "gate": matrix(DIM, FFN), "fc2": matrix(FFN, DIM)},
            }
            self.blocks.append(block)
        self.norm = scale()
        self.head = matrix(DIM, VOCAB)

    def __call__(self, tokens):
        x = tf.gather(self.embedding, tokens) * DIM**0.5
        x = rms_norm(x, self.embedding_norm)
        tables, mask = rotary_tables(tokens.shape[1]), decay_mask(tokens.shape[1])
        for p in self.blocks:
            x = x * ALPHA + retention(p["retention"], rms_norm(x, p["retention_norm"]), tables, mask)
            x = x * ALPHA + glu(p["ffn"], rms_norm(x, p["ffn_norm"]))
        return rms_norm(x, self.norm) @ self.head


def make():
    return RetNet(3)


def inputs(seed):
    return (np.random.default_rng(seed).integers(0, VOCAB, (5, LENGTH)),)


def load(ported, original):
    def put(variable, parameter):
        variable.assign(parameter.detach().numpy())

    def linear(variable, module):
        variable.assign(module.weight.detach().numpy().T)

    put(ported.embedding, original.embed_tokens.weight)
    put(ported.embedding_norm, original.layernorm_embedding.weight)
    for block, layer in zip(ported.blocks, original.layers):
        put(block["retention_norm"], layer.retention_layer_norm.weight)
        put(block["ffn_norm"], layer.final_layer_norm.weight)
        for name in ("q", "k", "v", "g", "out"):
            linear(block["retention"][name], getattr(layer.retention, name + "_proj"))
        for name in ("fc1", "gate", "fc2"):
            linear(block["ffn"][name], getattr(layer.ffn, name))
    put(ported.norm, original.layer_norm.weight)
    linear(ported.head, original.output_projection)
