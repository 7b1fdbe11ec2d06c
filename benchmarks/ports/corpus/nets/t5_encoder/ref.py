"""T5 v1.1 style encoder written with tf.Module and raw tf.Variables."""
import math

import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"

CONFIG = dict(vocab=31, d_model=24, d_kv=6, heads=4, d_ff=40, layers=2,
              num_buckets=8, max_distance=12, eps=1e-6)


def relative_bucket(rel, num_buckets, max_distance):
    """Bidirectional bucketing of rel = key position - query position."""
    num_buckets //= 2
    ret = tf.cast(rel > 0, tf.int32) * num_buckets
    n = tf.abs(rel)
    max_exact = num_buckets // 2
    large = max_exact + tf.cast(
        tf.math.log(tf.cast(tf.maximum(n, 1), tf.float32) / max_exact)
        / math.log(max_distance / max_exact) * (num_buckets - max_exact), tf.int32)
    large = tf.minimum(large, num_buckets - 1)
    return ret + tf.where(n < max_exact, n, large)


class T5Encoder(tf.Module):
    def __init__(self, cfg, rng):
        super().__init__()
        self.cfg = cfg
        d, inner, ff = cfg["d_model"], cfg["heads"] * cfg["d_kv"], cfg["d_ff"]

        def var(name, shape, scale, mean=0.0):
            return tf.Variable((mean + scale * rng.normal(size=shape)).astype(np.float32), name=name)

        self.shared = var("shared", (cfg["vocab"], d), 1.0)
        self.rel_bias = var("rel_bias", (cfg["num_buckets"], cfg["heads"]), 0.8)
        self.blocks = []
        for i in range(cfg["layers"]):
            self.blocks.append({
                "ln1": var(f"b{i}_ln1", (d,), 0.2, 1.0),
                "q": var(f"b{i}_q", (d, inner), 0.25 / math.sqrt(cfg["d_kv"])),
                "k": var(f"b{i}_k", (d, inner), 0.25),
                "v": var(f"b{i}_v", (d, inner), 0.25),
                "o": var(f"b{i}_o", (inner, d), 0.25),
                "ln2": var(f"b{i}_ln2", (d,), 0.2, 1.0),
                "wi0": var(f"b{i}_wi0", (d, ff), 0.25),
                "wi1": var(f"b{i}_wi1", (d, ff), 0.25),
                "wo": var(f"b{i}_wo", (ff, d), 0.2),
            })
        self.ln_f = var("ln_f", (d,), 0.2, 1.0)

    def rms(self, x, w):
        return w * x * tf.math.rsqrt(tf.reduce_mean(tf.square(x), -1, keepdims=True) + self.cfg["eps"])

    def __call__(self, input_ids, attention_mask):
        c = self.cfg
        B, T = input_ids.shape
        x = tf.gather(self.shared, input_ids)
        pos = tf.range(T)
        bucket = relative_bucket(pos[None, :] - pos[:, None], c["num_buckets"], c["max_distance"])
        bias = tf.transpose(tf.gather(self.rel_bias, bucket), [2, 0, 1])[None]
        mask = tf.cast(attention_mask, tf.float32)
        bias = bias + (1.0 - mask[:, None, None, :]) * -1e9
        for blk in self.blocks:
            h = self.rms(x, blk["ln1"])
            q, k, v = (tf.reshape(h @ blk[n], (B, T, c["heads"], c["d_kv"])) for n in "qkv")
            w = tf.nn.softmax(tf.einsum("bqhd,bkhd->bhqk", q, k) + bias, axis=-1)
            y = tf.reshape(tf.einsum("bhqk,bkhd->bqhd", w, v), (B, T, -1))
            x = x + y @ blk["o"]
            h = self.rms(x, blk["ln2"])
            x = x + (tf.nn.gelu(h @ blk["wi0"], approximate=True) * (h @ blk["wi1"])) @ blk["wo"]
        x = self.rms(x, self.ln_f)
        pooled = tf.reduce_sum(x * mask[..., None], 1) / tf.reduce_sum(mask, 1, keepdims=True)
        return {"last_hidden_state": x, "pooled": pooled}


def make():
    return T5Encoder(CONFIG, np.random.default_rng(33))


def inputs(seed):
    rng = np.random.default_rng(seed)
    ids = rng.integers(1, CONFIG["vocab"], (4, 15)).astype(np.int32)
    lens = np.array([15, 9, 12, 6])
    mask = (np.arange(15)[None] < lens[:, None]).astype(np.int32)
    return {"input_ids": ids * mask, "attention_mask": mask}
