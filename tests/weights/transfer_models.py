"""The same nets in torch, Keras and Chainer, each with its layers made in another order."""

from __future__ import annotations

import keras
import numpy as np
import torch
from keras import layers

import parity
from parity.frameworks import load
from parity.frameworks.chainer import chainer

F, L, nn = chainer.functions, chainer.links, torch.nn
FRAMEWORKS = ("torch", "keras", "chainer")
RNG = np.random.default_rng(7)


def shuffled(model, inputs, layout="NCHW"):
    """A model with weights of its own, variances and scales positive."""
    wrapped = parity.wrap(model, input_layout=layout)
    adapter = load(wrapped.framework)
    adapter.record(wrapped, inputs)  # builds what is lazy
    for tensor in adapter.tensors(wrapped.obj):
        if tensor.dtype == "float32" and "z_values" not in tensor.name:  # a support is no weight
            drawn = RNG.normal(size=tensor.shape).astype("f") * 0.4
            positive = "var" in tensor.name or "gamma" in tensor.name
            tensor.write(np.abs(drawn) + 0.5 if positive else drawn)
    return wrapped


def contents(wrapped):
    adapter = load(wrapped.framework)
    return [np.array(tensor.read()) for tensor in adapter.tensors(wrapped.obj)]


def both(makers, source, target, inputs, images=False):
    """The two models with weights of their own, and the inputs as the source takes them."""
    models, last = [], images and inputs.transpose(0, 2, 3, 1)
    for name in (source, target):
        takes_last = images and name == "keras"
        layout = "NHWC" if takes_last else "NCHW"
        models.append(shuffled(makers[name](), last if takes_last else inputs, layout))
    return *models, last if images and source == "keras" else inputs


# --- images: convolutions, depthwise, norms, a flatten, square matrices, two heads ---------------


class TorchImages(nn.Module):
    def __init__(self):
        super().__init__()
        self.value, self.policy, self.second = nn.Linear(7, 1), nn.Linear(7, 3), nn.Linear(7, 7)
        self.first = nn.Linear(6 * 4 * 4, 7)
        self.conv_b, self.conv_a = nn.Conv2d(4, 6, 3, stride=2), nn.Conv2d(3, 4, 3)
        self.depthwise = nn.Conv2d(6, 6, 3, groups=6, padding=1)
        self.norm, self.layer_norm = nn.BatchNorm2d(4, eps=1e-3), nn.LayerNorm(7)

    def forward(self, x):
        h = torch.relu(self.norm(self.conv_a(x)))
        h = self.depthwise(torch.relu(self.conv_b(h)))
        h = self.layer_norm(torch.relu(self.first(h.flatten(1))))
        h = torch.tanh(self.second(h))
        return self.policy(h), self.value(h)


def keras_images():
    inputs = layers.Input((11, 11, 3))
    h = layers.BatchNormalization(epsilon=1e-3)(layers.Conv2D(4, 3)(inputs))
    h = layers.Conv2D(6, 3, strides=2, activation="relu")(layers.ReLU()(h))
    h = layers.Flatten()(layers.DepthwiseConv2D(3, padding="same")(h))
    h = layers.LayerNormalization(epsilon=1e-5)(layers.Dense(7, activation="relu")(h))
    h = layers.Dense(7, activation="tanh")(h)
    return keras.Model(inputs, [layers.Dense(3)(h), layers.Dense(1)(h)])


class ChainerImages(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.value, self.policy = L.Linear(7, 1), L.Linear(7, 3)
            self.conv_a, self.conv_b = L.Convolution2D(3, 4, 3), L.Convolution2D(4, 6, 3, stride=2)
            self.depthwise = L.DepthwiseConvolution2D(6, 1, 3, pad=1)
            self.norm, self.layer_norm = (
                L.BatchNormalization(4, eps=1e-3),
                L.LayerNormalization(7, eps=1e-5),
            )
            self.second, self.first = L.Linear(7, 7), L.Linear(None, 7)

    def forward(self, x):
        h = F.relu(self.norm(self.conv_a(x)))
        h = self.depthwise(F.relu(self.conv_b(h)))
        h = F.tanh(self.second(self.layer_norm(F.relu(self.first(h)))))
        return self.policy(h), self.value(h)


IMAGES = {"torch": TorchImages, "keras": keras_images, "chainer": ChainerImages}


# --- separate trunks, each shape twice -----------------------------------------------------------


class TorchTrunks(nn.Module):
    def __init__(self):
        super().__init__()
        self.v = nn.Sequential(
            nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1)
        )
        self.p = nn.Sequential(
            nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3)
        )

    def forward(self, x):
        value = self.v(x)
        return self.p(x), value


def keras_trunks():
    inputs = layers.Input((4,))
    p, v = (layers.Dense(8, activation="relu", name=f"{n}0")(inputs) for n in "pv")
    v, p = (layers.Dense(8, activation="relu", name=f"{n}1")(h) for n, h in (("v", v), ("p", p)))
    return keras.Model(inputs, [layers.Dense(3, name="p2")(p), layers.Dense(1, name="v2")(v)])


class ChainerTrunks(chainer.Chain):
    def __init__(self):
        super().__init__()
        sizes = {"a": (8, 8), "b": (4, 8), "c": (8, 1), "d": (8, 3), "e": (4, 8), "f": (8, 8)}
        with self.init_scope():
            for name, size in sizes.items():
                setattr(self, name, L.Linear(*size))

    def forward(self, x):
        p = self.d(F.relu(self.a(F.relu(self.b(x)))))
        return p, self.c(F.relu(self.f(F.relu(self.e(x)))))


TRUNKS = {"torch": TorchTrunks, "keras": keras_trunks, "chainer": ChainerTrunks}


# --- recurrent nets of two layers ----------------------------------------------------------------


class TorchRecurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.out, self.cells = nn.Linear(6, 2), kind(4, 6, 2, batch_first=True)

    def forward(self, x):
        return self.out(self.cells(x)[0])


def keras_recurrent(kind):
    inputs = layers.Input((5, 4))
    h = kind(6, return_sequences=True)(kind(6, return_sequences=True)(inputs))
    return keras.Model(inputs, layers.Dense(2)(h))


class ChainerRecurrent(chainer.Chain):
    def __init__(self, kind):
        super().__init__()
        with self.init_scope():
            self.out, self.cells = L.Linear(6, 2), kind(2, 4, 6, 0.0)

    def forward(self, x):
        before = (None,) * (2 if isinstance(self.cells, L.NStepLSTM) else 1)
        return self.out(F.stack(self.cells(*before, list(x))[-1], 0), n_batch_axes=2)


class ChainerStateful(chainer.Chain):
    """L.LSTM, whose gates are interleaved unit by unit."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.out, self.upper, self.lower = L.Linear(6, 2), L.LSTM(6, 6), L.LSTM(4, 6)

    def forward(self, x):
        self.lower.reset_state()
        self.upper.reset_state()
        steps = [self.out(self.upper(self.lower(x[:, t]))) for t in range(x.shape[1])]
        return F.stack(steps, 1)


LSTMS = {
    "torch": lambda: TorchRecurrent(nn.LSTM),
    "keras": lambda: keras_recurrent(layers.LSTM),
    "chainer": lambda: ChainerRecurrent(L.NStepLSTM),
    "stateful": ChainerStateful,
}
GRUS = {
    "torch": lambda: TorchRecurrent(nn.GRU),
    "keras": lambda: keras_recurrent(layers.GRU),
    "chainer": lambda: ChainerRecurrent(L.NStepGRU),
}


# --- attention, transposed convolutions, embeddings ----------------------------------------------


class TorchAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(4, 3)
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, x):
        return self.out(self.attention(x, x, x, need_weights=False)[0])


def keras_attention():
    inputs = layers.Input((5, 4))
    h = layers.MultiHeadAttention(2, 2)(inputs, inputs)
    return keras.Model(inputs, layers.Dense(3)(h))


class TorchTransposed(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(4 * 9 * 9, 2)
        self.one, self.up = nn.Conv2d(5, 4, 1), nn.ConvTranspose2d(3, 5, 3, stride=2)

    def forward(self, x):
        return self.out(self.one(self.up(x)).flatten(1))


def keras_transposed():
    inputs = layers.Input((4, 4, 3))
    h = layers.Conv2D(4, 1)(layers.Conv2DTranspose(5, 3, strides=2)(inputs))
    return keras.Model(inputs, layers.Dense(2)(layers.Flatten()(h)))


class ChainerTransposed(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.out, self.one = L.Linear(None, 2), L.Convolution2D(5, 4, 1)
            self.up = L.Deconvolution2D(3, 5, 3, stride=2)

    def forward(self, x):
        return self.out(self.one(self.up(x)))


TRANSPOSED = {"torch": TorchTransposed, "keras": keras_transposed, "chainer": ChainerTransposed}


class TorchWords(nn.Module):
    def __init__(self):
        super().__init__()
        self.direct, self.words = nn.Linear(15, 3), nn.Embedding(7, 5)
        self.conv, self.out = nn.Conv1d(5, 6, 2), nn.Linear(12, 3)

    def forward(self, x):
        h = self.words(x)
        return self.direct(h.flatten(1)) + self.out(self.conv(h.transpose(1, 2)).flatten(1))


def keras_words():
    inputs = layers.Input((3,), dtype="int32")
    h = layers.Embedding(7, 5)(inputs)
    wide = layers.Dense(3)(layers.Flatten()(layers.Conv1D(6, 2)(h)))
    return keras.Model(inputs, wide + layers.Dense(3)(layers.Flatten()(h)))


# --- what is alike by structure ------------------------------------------------------------------


class Difference(nn.Module):
    """3a - 2b: both layers are alike, and only running both shows which is which."""

    def __init__(self, swapped):
        super().__init__()
        self.a, self.b, self.swapped = nn.Linear(4, 8), nn.Linear(4, 8), swapped

    def forward(self, x):
        if self.swapped:
            b = self.b(x)
            return 3 * self.a(x) - 2 * b
        return 3 * self.a(x) - 2 * self.b(x)
