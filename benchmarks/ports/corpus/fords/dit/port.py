"""DiT as a tf.Module, channels last."""
import math
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
LAYOUT = "NHWC"
C, S, P, D, HEADS, DEPTH, NCLS, FREQ = 3, 8, 2, 16, 4, 2, 10, 12


class Dense(tf.Module):
    def __init__(self, rng, n_in, n_out, name=None):
        super().__init__(name=name)
        self.w = tf.Variable(rng.randn(n_in, n_out).astype("float32") / math.sqrt(n_in), name="w")
        self.b = tf.Variable(rng.randn(n_out).astype("float32") * 0.2, name="b")

    def __call__(self, x):
        return tf.matmul(x, self.w) + self.b


def layer_norm(x, eps=1e-6):
    mean, var = tf.nn.moments(x, axes=[-1], keepdims=True)
    return (x - mean) * tf.math.rsqrt(var + eps)


def modulate(x, shift, scale):
    return x * (1.0 + scale[:, None]) + shift[:, None]


def pos_embedding(dim, grid):
    quarter = dim // 4
    omega = 10000.0 ** (-np.arange(quarter) / quarter)
    ys, xs = np.mgrid[:grid, :grid].reshape(2, -1)
    px, py = xs[:, None] * omega, ys[:, None] * omega
    return np.concatenate([np.sin(px), np.cos(px), np.sin(py), np.cos(py)], 1).astype("float32")


class Block(tf.Module):
    def __init__(self, rng, name=None):
        super().__init__(name=name)
        self.qkv = Dense(rng, D, 3 * D, "qkv")
        self.proj = Dense(rng, D, D, "proj")
        self.fc1 = Dense(rng, D, 2 * D, "fc1")
        self.fc2 = Dense(rng, 2 * D, D, "fc2")
        self.ada = Dense(rng, D, 6 * D, "ada")

    def attention(self, x):
        n = x.shape[1]
        hd = D // HEADS
        q, k, v = tf.split(self.qkv(x), 3, axis=-1)
        heads = lambda a: tf.transpose(tf.reshape(a, (-1, n, HEADS, hd)), (0, 2, 1, 3))
        q, k, v = heads(q), heads(k), heads(v)
        logits = tf.matmul(q, k, transpose_b=True) / math.sqrt(hd)
        out = tf.matmul(tf.nn.softmax(logits), v)
        return self.proj(tf.reshape(tf.transpose(out, (0, 2, 1, 3)), (-1, n, D)))

    def __call__(self, x, c):
        shift_a, scale_a, gate_a, shift_m, scale_m, gate_m = tf.split(self.ada(tf.nn.silu(c)), 6, axis=-1)
        x += gate_a[:, None] * self.attention(modulate(layer_norm(x), shift_a, scale_a))
        h = modulate(layer_norm(x), shift_m, scale_m)
        h = self.fc2(tf.nn.gelu(self.fc1(h), approximate=True))
        return x + gate_m[:, None] * h


class DiT(tf.Module):
    def __init__(self, seed=1):
        super().__init__(name="dit")
        rng = np.random.RandomState(seed)
        self.patch_w = tf.Variable(rng.randn(P, P, C, D).astype("float32") * 0.3, name="patch_w")
        self.patch_b = tf.Variable(rng.randn(D).astype("float32") * 0.2, name="patch_b")
        self.t1 = Dense(rng, FREQ, D, "t1")
        self.t2 = Dense(rng, D, D, "t2")
        self.table = tf.Variable(rng.randn(NCLS, D).astype("float32") * 0.3, name="table")
        self.blocks = [Block(rng, f"block{i}") for i in range(DEPTH)]
        self.final_ada = Dense(rng, D, 2 * D, "final_ada")
        self.final = Dense(rng, D, P * P * C, "final")
        self.pos = tf.constant(pos_embedding(D, S // P))

    def time_embedding(self, t):
        half = FREQ // 2
        freqs = tf.exp(-math.log(10000.0) * tf.range(half, dtype=tf.float32) / half)
        args = (t * 100.0)[..., None] * freqs
        emb = tf.concat([tf.cos(args), tf.sin(args)], axis=-1)
        return self.t2(tf.nn.silu(self.t1(emb)))

    def __call__(self, x, t, y):
        g = S // P
        x = tf.nn.conv2d(x, self.patch_w, strides=P, padding="VALID") + self.patch_b
        x = tf.reshape(x, (-1, g * g, D)) + self.pos
        c = tf.reduce_sum(self.time_embedding(t), axis=1)
        c += tf.reduce_mean(tf.gather(self.table, y), axis=1)
        for block in self.blocks:
            x = block(x, c)
        shift, scale = tf.split(self.final_ada(tf.nn.silu(c)), 2, axis=-1)
        x = self.final(modulate(layer_norm(x), shift, scale))
        x = tf.reshape(x, (-1, g, g, P, P, C))
        x = tf.transpose(x, (0, 1, 3, 2, 4, 5))
        return tf.reshape(x, (-1, S, S, C))


def make():
    return DiT()


def inputs(seed):
    r = np.random.RandomState(seed)
    x = r.randn(4, C, S, S).astype("float32").transpose(0, 2, 3, 1).copy()
    return x, r.rand(4, 2).astype("float32"), r.randint(0, NCLS, (4, 3)).astype("int64")


def load(ported, original):
    sd = {k: v.numpy() for k, v in original.state_dict().items()}
    def dense(d, name):
        d.w.assign(sd[name + ".weight"].T)
        d.b.assign(sd[name + ".bias"])
    ported.patch_w.assign(sd["x_embedder.weight"].transpose(2, 3, 1, 0))
    ported.patch_b.assign(sd["x_embedder.bias"])
    dense(ported.t1, "t_embedder.mlp.0")
    dense(ported.t2, "t_embedder.mlp.2")
    ported.table.assign(sd["y_embedder.weight"])
    for i, b in enumerate(ported.blocks):
        p = f"blocks.{i}."
        dense(b.qkv, p + "attn.qkv")
        dense(b.proj, p + "attn.proj")
        dense(b.fc1, p + "mlp.0")
        dense(b.fc2, p + "mlp.2")
        dense(b.ada, p + "adaLN_modulation.1")
    dense(ported.final, "final_layer.linear")
    dense(ported.final_ada, "final_layer.adaLN_modulation.1")
