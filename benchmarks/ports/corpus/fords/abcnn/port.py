"""ABCNN-3 in Keras (functional API around small layers)."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
VOCAB, S, E, CO, W, LAYERS, NF = 30, 8, 10, 12, 3, 2, 3


def match_score(x, y):
    # B, S, D each
    diff = ops.expand_dims(x, 2) - ops.expand_dims(y, 1)
    dist = ops.sqrt(ops.sum(ops.square(diff), axis=-1) + 1e-6)
    return 1.0 / (1.0 + dist)


class AttentionFeature(layers.Layer):
    def build(self, shapes):
        self.w = self.add_weight(shape=(S, shapes[0][-1]), initializer="glorot_uniform", name="w")

    def call(self, xy):
        x, y = xy
        a = match_score(x, y)
        fx = ops.matmul(a, self.w)
        fy = ops.matmul(ops.transpose(a, (0, 2, 1)), self.w)
        return ops.concatenate([x, fx], axis=-1), ops.concatenate([y, fy], axis=-1)


class WeightedPooling(layers.Layer):
    def call(self, cs):
        cx, cy = cs
        a = match_score(cx, cy)
        weight_x = ops.sum(a, axis=2)
        weight_y = ops.sum(a, axis=1)
        return self.pool(cx, weight_x), self.pool(cy, weight_y)

    def pool(self, c, weight):
        c = c * ops.expand_dims(weight, -1)
        windows = ops.stack([c[:, i:i + S] for i in range(W)], axis=2)
        return ops.sum(windows, axis=2)


class Cosine(layers.Layer):
    def call(self, ab):
        a, b = ab
        norms = ops.norm(a, axis=-1, keepdims=True) * ops.norm(b, axis=-1, keepdims=True)
        return ops.sum(a * b, axis=-1, keepdims=True) / (norms + 1e-8)


def build():
    q = keras.Input((S,), batch_size=5, dtype="int32", name="q")
    a = keras.Input((S,), batch_size=5, dtype="int32", name="a")
    feats = keras.Input((NF,), batch_size=5, name="feats")
    embed = layers.Embedding(VOCAB, E, name="embed")
    mean = layers.GlobalAveragePooling1D()
    pad = layers.ZeroPadding1D(W - 1)
    cosine = Cosine()
    x, y = embed(q), embed(a)
    sims = [cosine([mean(x), mean(y)])]
    for i in range(LAYERS):
        conv = layers.Conv1D(CO, W, activation="tanh", name=f"conv{i}")
        x, y = AttentionFeature(name=f"att{i}")([x, y])
        x, y = conv(pad(x)), conv(pad(y))
        sims.append(cosine([mean(x), mean(y)]))
        if i < LAYERS - 1:
            x, y = WeightedPooling()([x, y])
    h = layers.Concatenate()(sims + [feats])
    logits = layers.Dense(2, name="fc")(h)
    out = layers.Activation("log_softmax")(logits)
    return keras.Model([q, a, feats], out)


def make():
    m = build()
    rng = np.random.RandomState(13)
    for w in m.weights:
        w.assign(rng.randn(*w.shape).astype("float32") * 0.4)
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    return (r.randint(0, VOCAB, (5, S)).astype("int32"), r.randint(0, VOCAB, (5, S)).astype("int32"),
            r.rand(5, NF).astype("float32"))


def load(ported, original):
    ported.get_layer("embed").embeddings.assign(original.embed.W.array)
    for i, l in enumerate(original.layers):
        ported.get_layer(f"att{i}").w.assign(l.w_att.array)
        ported.get_layer(f"conv{i}").kernel.assign(l.conv.W.array.transpose(2, 1, 0))
        ported.get_layer(f"conv{i}").bias.assign(l.conv.b.array)
    ported.get_layer("fc").kernel.assign(original.fc.W.array.T)
    ported.get_layer("fc").bias.assign(original.fc.b.array)
