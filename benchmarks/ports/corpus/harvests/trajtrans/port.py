"""The trajectory transformer with plain TensorFlow."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
K, V, D, N_HEAD, N_LAYER, CONTEXT = 8, 16, 32, 4, 2, 32


def layer_norm(x, gain, bias):
    mean, variance = tf.nn.moments(x, axes=[-1], keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-5) * gain + bias


def visible(length):
    """(length, length): 1 where the row may read the column."""
    causal = tf.linalg.band_part(tf.ones((length, length)), -1, 0)
    is_value = tf.range(length) % K == K - 1
    return causal * (1.0 - tf.cast(is_value, tf.float32))[None, :]


def attention(p, x):
    t = x.shape[1]
    qkv = x @ p["w_qkv"] + p["b_qkv"]
    q, k, v = [tf.transpose(tf.reshape(y, (-1, t, N_HEAD, D // N_HEAD)), (0, 2, 1, 3))
               for y in tf.split(qkv, 3, axis=-1)]
    scores = tf.matmul(q, k, transpose_b=True) / np.sqrt(D // N_HEAD).astype("float32")
    scores = tf.where(visible(t) > 0, scores, -np.inf)
    mixed = tf.matmul(tf.nn.softmax(scores), v)
    mixed = tf.reshape(tf.transpose(mixed, (0, 2, 1, 3)), (-1, t, D))
    return mixed @ p["w_o"] + p["b_o"]


def block(p, x):
    x += attention(p, layer_norm(x, p["g1"], p["c1"]))
    h = layer_norm(x, p["g2"], p["c2"])
    h = tf.nn.gelu(h @ p["w_up"] + p["b_up"])
    return x + h @ p["w_down"] + p["b_down"]


class TrajectoryGPT(tf.Module):
    def __init__(self, seed):
        super().__init__()
        rng = np.random.default_rng(seed)
        var = lambda *s: tf.Variable(rng.normal(0, 0.2, s), dtype=tf.float32)
        self.thresholds = tf.Variable(np.sort(rng.normal(size=(K, V - 1))), dtype=tf.float32,
                                      trainable=False)
        self.embedding = var(K * V, D)
        self.position = var(CONTEXT, D)
        shapes = {"w_qkv": (D, 3 * D), "b_qkv": (3 * D,), "w_o": (D, D), "b_o": (D,),
                  "g1": (D,), "c1": (D,), "g2": (D,), "c2": (D,), "w_up": (D, 4 * D),
                  "b_up": (4 * D,), "w_down": (4 * D, D), "b_down": (D,)}
        self.layers = [{k: var(*s) for k, s in shapes.items()} for _ in range(N_LAYER)]
        self.gain, self.shift = var(D), var(D)
        self.head, self.head_bias = var(K, V, D), var(K, V)

    def __call__(self, transitions):
        steps = transitions.shape[1]
        above = transitions[..., None] > self.thresholds
        bins = tf.reduce_sum(tf.cast(above, tf.int32), axis=-1)
        tokens = tf.reshape(bins, (-1, steps * K))
        ids = tokens + tf.tile(tf.range(K) * V, [steps])
        x = tf.gather(self.embedding, ids) + self.position[:steps * K]
        for p in self.layers:
            x = block(p, x)
        x = layer_norm(x, self.gain, self.shift)
        which = tf.range(steps * K) % K
        logits = tf.einsum("btd,tvd->btv", x, tf.gather(self.head, which))
        logits += tf.gather(self.head_bias, which)
        nll = tf.nn.sparse_softmax_cross_entropy_with_logits(tokens[:, 1:], logits[:, :-1])
        counts = tf.cast(which[1:] != 0, tf.float32)
        return logits, -tf.reduce_sum(nll * counts, axis=1) / tf.reduce_sum(counts)


def make(seed=1):
    return TrajectoryGPT(seed)


def inputs(seed=0):
    return np.random.default_rng(seed).normal(size=(4, 4, 8)).astype("float32")


def load(ported, original):
    n = lambda t: t.detach().numpy()
    ported.thresholds.assign(n(original.thresholds))
    ported.embedding.assign(n(original.tok_emb.weight))
    ported.position.assign(n(original.pos_emb)[0])
    for p, b in zip(ported.layers, original.blocks):
        a = b.attn
        p["w_qkv"].assign(np.concatenate([n(m.weight).T for m in (a.query, a.key, a.value)], axis=1))
        p["b_qkv"].assign(np.concatenate([n(m.bias) for m in (a.query, a.key, a.value)]))
        for w, c, m in (("w_o", "b_o", a.proj), ("w_up", "b_up", b.mlp[0]), ("w_down", "b_down", b.mlp[2])):
            p[w].assign(n(m.weight).T)
            p[c].assign(n(m.bias))
        for g, c, m in (("g1", "c1", b.ln1), ("g2", "c2", b.ln2)):
            p[g].assign(n(m.weight))
            p[c].assign(n(m.bias))
    ported.gain.assign(n(original.ln_f.weight))
    ported.shift.assign(n(original.ln_f.bias))
    ported.head.assign(n(original.head))
    ported.head_bias.assign(n(original.head_bias))
