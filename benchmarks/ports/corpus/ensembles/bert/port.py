"""The BERT encoder in Keras 3, with its MultiHeadAttention."""
import keras, tensorflow as tf
from keras import layers, ops

FRAMEWORK = "tensorflow"
V, H, HEADS, T, LAYERS = 50, 32, 4, 9, 2


class KLayer(layers.Layer):
    def __init__(self):
        super().__init__()
        self.att = layers.MultiHeadAttention(HEADS, H // HEADS)
        self.ln1, self.ln2 = layers.LayerNormalization(epsilon=1e-12), layers.LayerNormalization(epsilon=1e-12)
        self.inter, self.out = layers.Dense(64), layers.Dense(H)

    def call(self, x, mask):
        a = self.att(x, x, attention_mask=ops.cast(mask[:, None, :], "bool"))
        x = self.ln1(x + a)
        h = self.inter(x)
        h = ops.gelu(h, approximate=False)
        return self.ln2(x + self.out(h))


class KerasBert(keras.Model):
    def __init__(self):
        super().__init__()
        self.word, self.pos, self.kind = layers.Embedding(V, H), layers.Embedding(16, H), layers.Embedding(2, H)
        self.ln = layers.LayerNormalization(epsilon=1e-12)
        self.blocks = [KLayer() for _ in range(LAYERS)]
        self.pooler = layers.Dense(H)

    def call(self, ids, types, mask):
        positions = ops.arange(ids.shape[1])
        x = self.word(ids) + self.pos(positions)[None]
        x = x + self.kind(types)
        x = self.ln(x)
        for block in self.blocks:
            x = block(x, mask)
        first = x[:, 0]
        return {"sequence": x, "pooled": ops.tanh(self.pooler(first))}


def make():
    net = KerasBert()
    net(tf.zeros((4, T), "int64"), tf.zeros((4, T), "int64"), tf.ones((4, T), "int64"))
    return net


def load(net, ref):
    n = lambda p: p.detach().numpy()
    for k in ("word", "pos", "kind"):
        getattr(net, k).set_weights([n(getattr(ref, k).weight)])
    net.ln.set_weights([n(ref.ln.weight), n(ref.ln.bias)])
    net.pooler.set_weights([n(ref.pooler.weight).T, n(ref.pooler.bias)])
    for kb, tb in zip(net.blocks, ref.layers):
        ws = []
        for w, b in zip(n(tb.att.in_proj_weight).reshape(3, H, H), n(tb.att.in_proj_bias).reshape(3, H)):
            ws += [w.T.reshape(H, HEADS, H // HEADS), b.reshape(HEADS, H // HEADS)]
        kb.att.set_weights(ws + [n(tb.att.out_proj.weight).T.reshape(HEADS, H // HEADS, H), n(tb.att.out_proj.bias)])
        for k in ("ln1", "ln2"):
            getattr(kb, k).set_weights([n(getattr(tb, k).weight), n(getattr(tb, k).bias)])
        for k in ("inter", "out"):
            getattr(kb, k).set_weights([n(getattr(tb, k).weight).T, n(getattr(tb, k).bias)])
