"""Longformer as a tf.Module; neighbourhoods are gathered by index."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"

PAD = 1


class Dense(tf.Module):
    def __init__(self, n_in, n_out, rng, name=None):
        super().__init__(name)
        self.w = tf.Variable(rng.normal(0, 0.3, (n_in, n_out)).astype("float32"), name="w")
        self.b = tf.Variable(rng.normal(0, 0.2, n_out).astype("float32"), name="b")

    def __call__(self, x):
        return tf.tensordot(x, self.w, axes=1) + self.b


class LayerNorm(tf.Module):
    def __init__(self, dim, rng, name=None):
        super().__init__(name)
        self.gamma = tf.Variable(rng.uniform(0.5, 1.5, dim).astype("float32"), name="gamma")
        self.beta = tf.Variable(rng.normal(0, 0.2, dim).astype("float32"), name="beta")

    def __call__(self, x):
        mean, var = tf.nn.moments(x, axes=[-1], keepdims=True)
        return tf.nn.batch_normalization(x, mean, var, self.beta, self.gamma, 1e-5)


class Attention(tf.Module):
    def __init__(self, dim, heads, attention_window, rng, name=None):
        super().__init__(name)
        self.heads, self.d = heads, dim // heads
        self.w = attention_window // 2
        for part in ("q", "k", "v", "q_global", "k_global", "v_global"):
            setattr(self, part, Dense(dim, dim, rng, name=part))

    def split(self, x):
        return tf.reshape(x, (tf.shape(x)[0], -1, self.heads, self.d))

    def neighbours(self, x):
        """(b, n, ..) -> (b, n, 2w + 1, ..)"""
        n, w = x.shape[1], self.w
        paddings = [[0, 0], [w, w]] + [[0, 0]] * (len(x.shape) - 2)
        index = np.arange(n)[:, None] + np.arange(2 * w + 1)[None]
        return tf.gather(tf.pad(x, paddings), index, axis=1)

    def __call__(self, x, mask):
        scale = 1.0 / np.sqrt(self.d).astype("float32")
        q = self.split(self.q(x)) * scale
        k, v = self.split(self.k(x)), self.split(self.v(x))

        local = tf.einsum("bnhd,bnwhd->bnhw", q, self.neighbours(k))
        local_mask = tf.concat([tf.zeros_like(mask[:, :1]), mask[:, 1:]], 1)
        local += (1.0 - self.neighbours(local_mask))[:, :, None] * -1e9
        glob = tf.einsum("bnhd,bhd->bnh", q, k[:, 0])
        probs = tf.nn.softmax(tf.concat([glob[..., None], local], -1))
        probs *= mask[:, :, None, None]
        out = tf.einsum("bnhw,bnwhd->bnhd", probs[..., 1:], self.neighbours(v))
        out += probs[..., :1] * v[:, :1]

        q_global = self.split(self.q_global(x[:, :1])) * scale
        k_global, v_global = self.split(self.k_global(x)), self.split(self.v_global(x))
        scores = tf.einsum("bqhd,bkhd->bhqk", q_global, k_global)
        scores += (1.0 - mask)[:, None, None] * -1e9
        out_global = tf.einsum("bhqk,bkhd->bqhd", tf.nn.softmax(scores), v_global)
        out = tf.concat([out_global, out[:, 1:]], axis=1)
        return tf.reshape(out, tf.shape(x))


class Layer(tf.Module):
    def __init__(self, dim, heads, window, rng, name=None):
        super().__init__(name)
        self.attention = Attention(dim, heads, window, rng)
        self.proj = Dense(dim, dim, rng)
        self.norm1 = LayerNorm(dim, rng)
        self.ffn1 = Dense(dim, 2 * dim, rng)
        self.ffn2 = Dense(2 * dim, dim, rng)
        self.norm2 = LayerNorm(dim, rng)

    def __call__(self, x, mask):
        x = self.norm1(x + self.proj(self.attention(x, mask)))
        return self.norm2(x + self.ffn2(tf.nn.gelu(self.ffn1(x))))


class Longformer(tf.Module):
    def __init__(self, vocab=23, dim=12, heads=2, layers=2, window=4, positions=16, seed=0):
        super().__init__()
        rng = np.random.default_rng(seed)
        self.words = tf.Variable(rng.normal(0, 0.5, (vocab, dim)).astype("float32"), name="words")
        self.positions = tf.Variable(rng.normal(0, 0.5, (positions, dim)).astype("float32"), name="positions")
        self.norm = LayerNorm(dim, rng)
        self.layers = [Layer(dim, heads, window, rng) for _ in range(layers)]
        self.pooler = Dense(dim, dim, rng)

    def __call__(self, ids):
        mask = tf.cast(ids != PAD, tf.int32)
        position = tf.cumsum(mask, axis=1) * mask + PAD
        x = tf.gather(self.words, ids) + tf.gather(self.positions, position)
        x = self.norm(x)
        mask = tf.cast(mask, tf.float32)
        for layer in self.layers:
            x = layer(x, mask)
        return x, tf.tanh(self.pooler(x[:, 0]))


def make():
    return Longformer(seed=6)


def inputs(seed):
    rng = np.random.default_rng(seed)
    ids = rng.integers(2, 23, (4, 11))
    ids[:, 0] = 0
    ids[np.arange(11)[None] >= np.array([11, 8, 10, 7])[:, None]] = PAD
    return (ids.astype("int64"),)


def load(ported, original):
    def dense(a, b):
        a.w.assign(b.weight.detach().numpy().T)
        a.b.assign(b.bias.detach().numpy())

    def norm(a, b):
        a.gamma.assign(b.weight.detach().numpy())
        a.beta.assign(b.bias.detach().numpy())

    ported.words.assign(original.word_embeddings.weight.detach().numpy())
    ported.positions.assign(original.position_embeddings.weight.detach().numpy())
    norm(ported.norm, original.norm)
    for a, b in zip(ported.layers, original.layers):
        for ours, theirs in (("q", "query"), ("k", "key"), ("v", "value")):
            dense(getattr(a.attention, ours), getattr(b.attention, theirs))
            dense(getattr(a.attention, ours + "_global"), getattr(b.attention, theirs + "_global"))
        dense(a.proj, b.attention_output)
        norm(a.norm1, b.attention_norm)
        dense(a.ffn1, b.intermediate)
        dense(a.ffn2, b.output)
        norm(a.norm2, b.output_norm)
    dense(ported.pooler, original.pooler)
