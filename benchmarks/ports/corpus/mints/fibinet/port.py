"""FiBiNET with the Keras functional API."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "keras"
FIELD_DIMS = (7, 5, 9, 4)
FIRST, SECOND = np.triu_indices(len(FIELD_DIMS), k=1)


class Bilinear(layers.Layer):
    """One matrix for each left field, all pairs in one einsum."""

    def build(self, shape):
        self.w = self.add_weight(shape=(shape[1] - 1, shape[2], shape[2]), name="w")

    def call(self, x):
        left = ops.einsum("bfd,fde->bfe", x[:, :-1], self.w)
        return ops.take(left, FIRST, axis=1) * ops.take(x, SECOND, axis=1)


def senet(x, reduction):
    squeezed = ops.mean(x, axis=-1)
    a = layers.Dense(reduction, activation="relu", use_bias=False, name="se_reduce")(squeezed)
    a = layers.Dense(x.shape[1], activation="relu", use_bias=False, name="se_expand")(a)
    return x * ops.expand_dims(a, -1)


def hidden(x, units, i):
    x = layers.Dense(units, name=f"dnn_{i}")(x)
    x = layers.BatchNormalization(epsilon=1e-5, name=f"bn_{i}")(x)
    return layers.Activation("relu")(x)


def build(dim=4, dense=3):
    fields = keras.Input((len(FIELD_DIMS),), dtype="int32", name="fields")
    numbers = keras.Input((dense,), name="numbers")
    offsets = np.concatenate([[0], np.cumsum(FIELD_DIMS)[:-1]]).astype("int32")
    shifted = fields + offsets
    emb = layers.Embedding(sum(FIELD_DIMS), dim, name="embedding")(shifted)
    wide = ops.sum(layers.Embedding(sum(FIELD_DIMS), 1, name="wide")(shifted), axis=1)
    wide = wide + layers.Dense(1, name="wide_numbers")(numbers)
    interact = Bilinear(name="bilinear")
    crossed = ops.concatenate([interact(senet(emb, 2)), interact(emb)], axis=1)
    x = layers.Concatenate()([layers.Flatten()(crossed), numbers])
    x = hidden(x, 16, 1)
    x = hidden(x, 8, 2)
    deep = layers.Dense(1, use_bias=False, name="deep")(x)
    return keras.Model([fields, numbers], ops.sigmoid(wide + deep))


def make():
    net = build()
    rng = np.random.default_rng(4)
    for v in net.variables:
        noise = rng.normal(size=v.shape).astype("float32") * 0.4
        v.assign(np.abs(noise) + 0.3 if "variance" in v.path or "se_" in v.path else noise)
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    ids = np.stack([rng.integers(0, d, size=8) for d in FIELD_DIMS], axis=1)
    return ids.astype("int32"), rng.normal(size=(8, 3)).astype("float32")


def load(ported, original):
    def arr(t):
        return t.detach().numpy()

    def dense(name, t):
        w = [arr(t.weight).T]
        ported.get_layer(name).set_weights(w + ([arr(t.bias)] if t.bias is not None else []))

    ported.get_layer("embedding").set_weights([arr(original.embedding.weight)])
    ported.get_layer("wide").set_weights([arr(original.linear_emb.weight)])
    dense("wide_numbers", original.linear_dense)
    dense("se_reduce", original.senet.fc1)
    dense("se_expand", original.senet.fc2)
    ported.get_layer("bilinear").set_weights([np.stack([arr(l.weight).T for l in original.bilinear.bilinear])])
    dense("dnn_1", original.dnn1)
    dense("dnn_2", original.dnn2)
    dense("deep", original.dnn_out)
    for name, bn in (("bn_1", original.bn1), ("bn_2", original.bn2)):
        ported.get_layer(name).set_weights([arr(bn.weight), arr(bn.bias), arr(bn.running_mean), arr(bn.running_var)])
