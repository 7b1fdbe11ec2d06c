"""DeBERTa in Keras; scores by relative position are picked with take_along_axis."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
WIDTH, N_HEADS, MAX_REL = 16, 2, 5
HEAD = WIDTH // N_HEADS


def norm():
    return layers.LayerNormalization(epsilon=1e-7)


class RelativeAttention(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.q, self.k, self.v = (layers.Dense(WIDTH) for _ in range(3))
        self.pk = layers.Dense(WIDTH, use_bias=False)
        self.pq = layers.Dense(WIDTH)

    def call(self, x, keep, positions):
        n = x.shape[1]
        to_heads = lambda y: ops.reshape(y, (-1, n, N_HEADS, HEAD))
        q, k, v = to_heads(self.q(x)), to_heads(self.k(x)), to_heads(self.v(x))
        pk = ops.reshape(self.pk(positions), (2 * MAX_REL, N_HEADS, HEAD))
        pq = ops.reshape(self.pq(positions), (2 * MAX_REL, N_HEADS, HEAD))
        content = ops.einsum("bihd,bjhd->bhij", q, k)
        i, j = np.arange(n)[:, None], np.arange(n)[None, :]
        distance = np.clip(i - j + MAX_REL, 0, 2 * MAX_REL - 1)[None, None]
        by_key = ops.take_along_axis(ops.einsum("bihd,phd->bhip", q, pk), distance, axis=3)
        backwards = np.clip(j - i + MAX_REL, 0, 2 * MAX_REL - 1)[None, None]
        by_query = ops.take_along_axis(ops.einsum("bjhd,phd->bhjp", k, pq), backwards, axis=3)
        logits = (content + by_key + ops.swapaxes(by_query, 2, 3)) / np.sqrt(3.0 * HEAD)
        logits = ops.where(keep[:, None, None, :], logits, -1e30)
        mixed = ops.einsum("bhij,bjhd->bihd", ops.softmax(logits), v)
        return ops.reshape(mixed, (-1, n, WIDTH))


class Block(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.attention = RelativeAttention()
        self.out = layers.Dense(WIDTH)
        self.ln_a, self.ln_b = norm(), norm()
        self.wide = layers.Dense(2 * WIDTH, activation="gelu")
        self.narrow = layers.Dense(WIDTH)

    def call(self, x, keep, positions):
        x = self.ln_a(x + self.out(self.attention(x, keep, positions)))
        x = self.ln_b(x + self.narrow(self.wide(x)))
        return x


class Classifier(keras.Model):
    def __init__(self):
        super().__init__()
        self.embed = layers.Embedding(60, WIDTH)
        self.ln = norm()
        self.rel = layers.Embedding(2 * MAX_REL, WIDTH)
        self.rel_ln = norm()
        self.blocks = [Block() for _ in range(2)]
        self.pool = layers.Dense(WIDTH)
        self.logits = layers.Dense(3)

    def call(self, ids, attention_mask):
        keep = ops.cast(attention_mask, "bool")
        x = self.ln(self.embed(ids))
        x = x * ops.expand_dims(ops.cast(keep, x.dtype), -1)
        positions = self.rel_ln(self.rel(ops.arange(2 * MAX_REL)))
        for block in self.blocks:
            x = block(x, keep, positions)
        pooled = ops.gelu(self.pool(x[:, 0]), approximate=False)
        return self.logits(pooled), x


def make():
    keras.utils.set_random_seed(9)
    net = Classifier()
    net(*inputs(0))
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    lengths = np.array([12, 7, 10, 5])
    mask = np.arange(12) < lengths[:, None]
    ids = np.where(mask, rng.integers(1, 60, (4, 12)), 0)
    return ids.astype("int64"), mask.astype("int64")


def load(ported, original):
    def dense(layer, linear):
        weights = [linear.weight.detach().numpy().T]
        if linear.bias is not None:
            weights.append(linear.bias.detach().numpy())
        layer.set_weights(weights)

    def ln(layer, module):
        layer.set_weights([module.weight.detach().numpy(), module.bias.detach().numpy()])

    ported.embed.set_weights([original.words.weight.detach().numpy()])
    ported.rel.set_weights([original.rel_embeddings.weight.detach().numpy()])
    ln(ported.ln, original.norm)
    ln(ported.rel_ln, original.rel_norm)
    for ours, theirs in zip(ported.blocks, original.layers):
        a, b = ours.attention, theirs.attention
        for layer, linear in (
            (a.q, b.query_proj), (a.k, b.key_proj), (a.v, b.value_proj),
            (a.pk, b.pos_key_proj), (a.pq, b.pos_query_proj),
            (ours.out, theirs.dense), (ours.wide, theirs.up), (ours.narrow, theirs.down),
        ):
            dense(layer, linear)
        ln(ours.ln_a, theirs.norm1)
        ln(ours.ln_b, theirs.norm2)
    dense(ported.pool, original.pooler)
    dense(ported.logits, original.classifier)
