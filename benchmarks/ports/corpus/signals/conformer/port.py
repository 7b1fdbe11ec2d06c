"""The conformer block in Keras, channels last, with einsum."""

import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
DIM, HEADS, KERNEL, VOCAB = 32, 4, 7, 19


def feed_forward(name):
    return keras.Sequential(
        [
            layers.LayerNormalization(epsilon=1e-5),
            layers.Dense(4 * DIM, activation="swish"),
            layers.Dropout(0.1),
            layers.Dense(DIM),
            layers.Dropout(0.1),
        ],
        name=name,
    )


class RelPosAttention(layers.Layer):
    def __init__(self):
        super().__init__()
        hd = DIM // HEADS
        self.norm = layers.LayerNormalization(epsilon=1e-5)
        self.q = layers.EinsumDense("btd,dhk->bthk", (None, HEADS, hd), bias_axes="hk")
        self.k = layers.EinsumDense("btd,dhk->bthk", (None, HEADS, hd), bias_axes="hk")
        self.v = layers.EinsumDense("btd,dhk->bthk", (None, HEADS, hd), bias_axes="hk")
        self.p = layers.EinsumDense("btd,dhk->bthk", (None, HEADS, hd))
        self.o = layers.EinsumDense("bthk,hkd->btd", (None, DIM), bias_axes="d")
        self.bias_u = self.add_weight(shape=(HEADS, hd), name="bias_u")
        self.bias_v = self.add_weight(shape=(HEADS, hd), name="bias_v")

    def position_table(self, t):
        distance = np.arange(t - 1, -t, -1, dtype="float32")
        inverse = 1.0 / 10000.0 ** (np.arange(0, DIM, 2, dtype="float32") / DIM)
        angles = np.outer(distance, inverse)
        table = np.stack([np.sin(angles), np.cos(angles)], axis=-1)
        return table.reshape(1, 2 * t - 1, DIM).astype("float32")

    def call(self, x, mask):
        t = x.shape[1]
        h = self.norm(x)
        q, k, v = self.q(h), self.k(h), self.v(h)
        p = self.p(self.position_table(t))[0]
        ac = ops.einsum("bihk,bjhk->bhij", q + self.bias_u, k)
        bd = ops.einsum("bihk,rhk->bhir", q + self.bias_v, p)
        # row i of the scores wants the distances i - j, which start at column t - 1 - i
        index = np.arange(t)[None, :] + (t - 1) - np.arange(t)[:, None]
        index = np.broadcast_to(index, (x.shape[0], HEADS, t, t))
        bd = ops.take_along_axis(bd, index, axis=-1)
        scores = (ac + bd) * (DIM // HEADS) ** -0.5
        scores = ops.where(mask[:, None, None, :], scores, -1e4)
        weights = ops.softmax(scores, axis=-1)
        return self.o(ops.einsum("bhij,bjhk->bihk", weights, v))


class ConvModule(layers.Layer):
    def __init__(self):
        super().__init__()
        self.norm = layers.LayerNormalization(epsilon=1e-5)
        self.expand = layers.Dense(2 * DIM)
        self.depthwise = layers.DepthwiseConv1D(KERNEL, padding="same")
        self.bn = layers.BatchNormalization(epsilon=1e-5)
        self.project = layers.Dense(DIM)

    def call(self, x, mask):
        value, gate = ops.split(self.expand(self.norm(x)), 2, axis=-1)
        x = value * ops.sigmoid(gate)
        x = ops.where(mask[:, :, None], x, 0.0)
        x = self.bn(self.depthwise(x))
        x = x * ops.sigmoid(x)
        return self.project(x)


class Recogniser(keras.Model):
    def __init__(self):
        super().__init__()
        self.ff_a, self.ff_b = feed_forward("ff_a"), feed_forward("ff_b")
        self.mhsa = RelPosAttention()
        self.conv = ConvModule()
        self.final_norm = layers.LayerNormalization(epsilon=1e-5)
        self.head = layers.Dense(VOCAB)

    def call(self, features, lengths):
        mask = ops.arange(features.shape[1]) < ops.cast(lengths, "int32")[:, None]
        x = features + self.ff_a(features) / 2
        x = x + self.mhsa(x, mask)
        x = x + self.conv(x, mask)
        x = x + self.ff_b(x) / 2
        logits = self.head(self.final_norm(x))
        return logits - ops.logsumexp(logits, axis=-1, keepdims=True)


def make():
    model = Recogniser()
    model(np.zeros((2, 5, DIM), "float32"), np.array([5, 3]))
    return model


def load(port, reference):
    s = {k: v.numpy() for k, v in reference.state_dict().items()}

    def norm(layer, key):
        layer.gamma.assign(s[key + ".weight"])
        layer.beta.assign(s[key + ".bias"])

    def dense(layer, key):
        weight = s[key + ".weight"]
        layer.set_weights([weight.reshape(weight.shape[:2]).T, s[key + ".bias"]])

    for block, key in ((port.ff_a, "ff1"), (port.ff_b, "ff2")):
        norm(block.layers[0], key + ".norm")
        dense(block.layers[1], key + ".up")
        dense(block.layers[3], key + ".down")
    a, hd = port.mhsa, DIM // HEADS
    norm(a.norm, "attention.norm")
    for i, layer in enumerate((a.q, a.k, a.v)):
        part = slice(i * DIM, (i + 1) * DIM)
        kernel = s["attention.qkv.weight"][part].T.reshape(DIM, HEADS, hd)
        layer.set_weights([kernel, s["attention.qkv.bias"][part].reshape(HEADS, hd)])
    a.p.set_weights([s["attention.pos.weight"].T.reshape(DIM, HEADS, hd)])
    a.o.set_weights([s["attention.out.weight"].T.reshape(HEADS, hd, DIM), s["attention.out.bias"]])
    a.bias_u.assign(s["attention.u"])
    a.bias_v.assign(s["attention.v"])
    norm(port.conv.norm, "conv.norm")
    dense(port.conv.expand, "conv.pointwise1")
    dense(port.conv.project, "conv.pointwise2")
    depth = s["conv.depthwise.weight"].transpose(2, 0, 1)
    port.conv.depthwise.set_weights([depth, s["conv.depthwise.bias"]])
    bn = "conv.batch_norm."
    port.conv.bn.set_weights([s[bn + k] for k in ("weight", "bias", "running_mean", "running_var")])
    norm(port.final_norm, "norm")
    dense(port.head, "ctc")
