"""WaveNet in Keras: channels last, causal padding by the layer."""

import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
MU, TIME, SPEAKERS, RES, SKIP, DEPTH = 255.0, 40, 5, 12, 16, 4


def mu_law(x):
    return ops.sign(x) * ops.log1p(MU * ops.abs(x)) / np.log1p(MU)


def delay(x):
    """One step later, zero first."""
    return ops.pad(x, [[0, 0], [1, 0], [0, 0]])[:, :-1]


class GatedBlock(layers.Layer):
    def __init__(self, dilation):
        super().__init__()
        self.filter = layers.Conv1D(RES, 2, padding="causal", dilation_rate=dilation)
        self.gate = layers.Conv1D(RES, 2, padding="causal", dilation_rate=dilation)
        self.filter_speaker = layers.Dense(RES, use_bias=False)
        self.gate_speaker = layers.Dense(RES, use_bias=False)
        self.to_residual, self.to_skip = layers.Dense(RES), layers.Dense(SKIP)

    def call(self, x, speaker):
        f = self.filter(x) + self.filter_speaker(speaker)[:, None]
        g = self.gate(x) + self.gate_speaker(speaker)[:, None]
        z = ops.tanh(f) * ops.sigmoid(g)
        return x + self.to_residual(z), self.to_skip(z)


class WaveNet(keras.Model):
    def __init__(self):
        super().__init__()
        self.speakers = layers.Embedding(SPEAKERS, RES)
        self.front = layers.Conv1D(RES, 2, padding="causal")
        self.blocks = [GatedBlock(2**i) for i in range(DEPTH)]
        self.head = keras.Sequential(
            [layers.ReLU(), layers.Dense(SKIP), layers.ReLU(), layers.Dense(2)]
        )

    def call(self, wave, speaker):
        x = self.front(delay(mu_law(wave)[..., None]))
        cond = self.speakers(speaker)
        skips = []
        for block in self.blocks:
            x, skip = block(x, cond)
            skips.append(skip)
        y = self.head(sum(skips))
        return y[..., 0], ops.exp(ops.clip(y[..., 1], -7, 7))


def make(seed=0):
    net, rng = WaveNet(), np.random.default_rng(seed)
    net(ops.zeros((1, TIME)), ops.zeros((1,), "int32"))
    for w in net.weights:
        w.assign(rng.normal(0, np.prod(w.shape[:-1]) ** -0.5 if len(w.shape) > 1 else 0.2, w.shape))
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(TIME)
    wave = 0.6 * np.sin(t * rng.uniform(0.2, 0.9, (4, 1))) + rng.normal(0, 0.1, (4, TIME))
    return np.clip(wave, -1, 1).astype("float32"), np.array([0, 3, 1, 4], "int32")


def load(ported, original):
    def put(layer, link, rows=slice(None)):
        w = link.W.array[rows]
        w = w.transpose(2, 1, 0) if isinstance(layer, layers.Conv1D) else w.reshape(len(w), -1).T
        layer.set_weights([w] + ([] if link.b is None else [link.b.array[rows]]))

    ported.speakers.set_weights([original.embed.W.array])
    put(ported.front, original.front.conv)
    first, second = slice(0, RES), slice(RES, None)
    for mine, theirs in zip(ported.blocks, original.blocks):
        put(mine.filter, theirs.conv.conv, first), put(mine.gate, theirs.conv.conv, second)
        put(mine.filter_speaker, theirs.speaker, first), put(mine.gate_speaker, theirs.speaker, second)
        put(mine.to_residual, theirs.res), put(mine.to_skip, theirs.skip)
    put(ported.head.layers[1], original.mid), put(ported.head.layers[3], original.out)
