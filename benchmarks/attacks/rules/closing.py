"""Round 3: against rules as they may become: layouts, masks, what is infinite in float32 alone."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, chainer_, normal, numpy_, tf_, torch_, weights
from benchmarks.attacks.heads import F, W, X, chainer, tf_head, torch_head

LAYOUT = "layouts-of-images"
MASK = "masks-written-otherwise"
LOST = "lost-in-float32"
ROADS = "other-roads-to-fewer-bits"
CALLED = "as-it-is-called"

KERNEL = normal(3, 3, 2, 4, scale=0.3)


def torch_features(x):
    w = torch.from_numpy(KERNEL.transpose(3, 2, 0, 1).copy())
    return torch.relu(torch.nn.functional.conv2d(x, w))


def tf_features(x):
    return tf.nn.relu(tf.nn.conv2d(tf.transpose(x, (0, 2, 3, 1)), KERNEL, 1, "VALID"))


@attack(LAYOUT, "features of images, channels last: height and width exchanged, of one length", 3)
def height_and_width() -> Case:
    x = normal(2, 2, 7, 7)

    def wrong(x):
        return tf.transpose(tf_features(x), (0, 2, 1, 3))

    return Case(torch_(torch_features), tf_(wrong), tf_(lambda x: tf_channels_first(x)), x)


def tf_channels_first(x):
    return tf.transpose(tf_features(x), (0, 3, 1, 2))


@attack(LAYOUT, "features of images that are flattened in the other layout, and returned", 3)
def flattened_features() -> Case:
    x = normal(2, 2, 6, 5)

    def wrong(x):
        return tf.reshape(tf_features(x), (2, -1))

    def right(x):
        return tf.reshape(tf_channels_first(x), (2, -1))

    return Case(torch_(lambda x: torch_features(x).flatten(1)), tf_(wrong), tf_(right), x)


@attack(LAYOUT, "a head of (actions, atoms) behind a convolution, exchanged", 3)
def head_behind_convolution() -> Case:
    x = normal(3, 2, 6, 5)
    v = weights(4, 6 * 7, seed=5)

    def reference(x):
        h = torch_features(x).mean((2, 3))
        return (h @ torch.from_numpy(v)).reshape(-1, 6, 7)

    def right(x):
        h = tf.reduce_mean(tf_features(x), (1, 2))
        return tf.reshape(tf.matmul(h, v), (-1, 6, 7))

    def wrong(x):
        return tf.transpose(right(x), (0, 2, 1))

    return Case(torch_(reference), tf_(wrong), tf_(right), x)


@attack(LAYOUT, "per-pixel class scores: the softmax over the width instead of the channels", 3)
def pixels_softmax() -> Case:
    x = normal(2, 2, 5, 6)

    def port(axis):
        return lambda x: tf.transpose(tf.nn.softmax(tf_features(x), axis), (0, 3, 1, 2))

    return Case(
        torch_(lambda x: torch.softmax(torch_features(x), 1)), tf_(port(2)), tf_(port(3)), x
    )


def _masked(fill, hidden=(1, 3)):
    mask = np.zeros(5, bool)
    mask[list(hidden)] = True
    return lambda x: tf.where(mask, np.float32(fill), x)


def _torch_masked(fill):
    mask = torch.zeros(5, dtype=torch.bool)
    mask[[1, 3]] = True
    return lambda x: x.masked_fill(mask, fill)


@attack(
    MASK,
    "masked logits: another element is hidden",
    3,
    {
        "inf-1e9": (-np.inf, -1e9),
        "1e9-least": (-1e9, float(np.finfo(np.float32).min)),
        "1e8-1e9": (-1e8, -1e9),
    },
)
def hidden_logits(reference, candidate) -> Case:
    wrong, right = _masked(candidate, (1, 2)), _masked(reference)
    return Case(torch_(_torch_masked(reference)), tf_(wrong), tf_(right), X)


@attack(MASK, "masked logits: a positive fill instead of a negative one", 3)
def positive_fill() -> Case:
    return Case(torch_(_torch_masked(-1e9)), tf_(_masked(1e9)), tf_(_masked(-1e9)), X)


@attack(MASK, "masked logits: a real logit of -5e7 where the other model hides", 3)
def low_logit() -> Case:
    x = X.copy()
    x[2, 0] = -5e7

    def wrong(x):
        return _masked(-1e9)(tf.maximum(x, -1e3))

    return Case(torch_(_torch_masked(-1e9)), tf_(wrong), tf_(_masked(-1e9)), x)


@attack(MASK, "the values that a mask leaves are off by 1e-4", 3)
def beside_masked() -> Case:
    def wrong(x):
        return _masked(-1e9)(x * 1.0001)

    return Case(torch_(_torch_masked(-1e9)), tf_(wrong), tf_(_masked(-1e9)), X)


@attack(
    LOST,
    "an element is infinite in float32 in both models, and finite in float64; another is off",
    3,
    {"2e-4": (2e-4,), "2e-5": (2e-5,), "1e-6": (4e-6,)},
)
def infinite_in_both(off) -> Case:
    x = X.copy()
    x[1, 1] = 95

    def port(factor):
        return lambda x: tf.exp(x) * factor

    return Case(torch_(lambda x: torch.exp(x)), tf_(port(1 + off)), tf_(port(1.0)), x)


@attack(LOST, "an element is NaN in float32 in both models, and a number in float64", 3)
def nan_in_both() -> Case:
    x = X.copy()
    x[1, 1] = 95

    def port(factor):
        def model(x):
            e = tf.exp(x)
            return e / (1 + e) * factor

        return model

    def reference(x):
        e = torch.exp(x)
        return e / (1 + e)

    return Case(torch_(reference), tf_(port(1.0001)), tf_(port(1.0)), x)


@attack(LOST, "a row overflows and is masked; the rest of the batch is off by 3e-5", 3)
def overflow_masked() -> Case:
    x = X.copy()
    x[2] = 200
    live = np.array([1, 1, 0, 1, 1, 1], bool)[:, None]

    def reference(x):
        return torch.where(torch.from_numpy(live), torch.sinh(x), torch.zeros(()))

    def port(factor):
        return lambda x: tf.where(live, factor * tf.sinh(x), 0.0)

    return Case(torch_(reference), tf_(port(1.00003)), tf_(port(1.0)), x)


@attack(LOST, "a NumPy port: infinities of float32 beside a fault of 1e-5", 3)
def numpy_overflow() -> Case:
    x = X.copy()
    x[0] = 91

    def port(factor):
        def model(x):
            with np.errstate(over="ignore"):
                return np.minimum(np.exp(x) * x.dtype.type(factor), x.dtype.type(3e38))

        return model

    def reference(x):
        return torch.clamp(torch.exp(x), max=3e38)

    return Case(torch_(reference), numpy_(port(1.00002)), numpy_(port(1)), x)


@attack(LOST, "squares underflow in float32: a norm of 1e-25 is 0, guarded by another epsilon", 3)
def underflowing_norm() -> Case:
    x = X.copy()
    x[4] *= 1e-25

    def reference(x):
        return x / (torch.sqrt((x * x).sum(1, keepdim=True)) + 1e-12)

    def port(epsilon):
        def model(x):
            return x / (tf.sqrt(tf.reduce_sum(x * x, 1, keepdims=True)) + epsilon)

        return model

    return Case(torch_(reference), tf_(port(1e-11)), tf_(port(1e-12)), x)


def _fixed_point(t):
    return (t * 4096).round().to(torch.int16).float() / 4096


def _decimals(t):
    return torch.round(t, decimals=3)


def _through_numpy(t):
    return torch.from_numpy(t.detach().numpy().astype(np.float16).astype(np.float32))


def _through_list(t):
    return torch.tensor([[float(f"{v:.4g}") for v in row] for row in t.tolist()])


def _through_complex(t):
    return torch.complex(t, t).to(torch.complex32).to(torch.complex64).real


def _through_uint8(t):
    low, high = t.min(), t.max()
    return ((t - low) / (high - low) * 255).to(torch.uint8).float() / 255 * (high - low) + low


_ROADS = {
    "fixed-point": (_fixed_point,),
    "decimals": (_decimals,),
    "numpy": (_through_numpy,),
    "text": (_through_list,),
    "complex": (_through_complex,),
    "uint8": (_through_uint8,),
}


@attack(ROADS, "a weight loses bits on its way into the product", 3, _ROADS)
def weight_by(road) -> Case:
    def wrong(x):
        return torch.tanh(x @ road(torch.from_numpy(W)))

    return Case(tf_(tf_head), torch_(wrong), torch_(torch_head), X)


@attack(ROADS, "an activation loses bits on its way to the output", 3, _ROADS)
def activation_by(road) -> Case:
    def wrong(x):
        return road(torch_head(x)) * 1.5

    def reference(x):
        return tf_head(x) * 1.5

    return Case(tf_(reference), torch_(wrong), torch_(lambda x: torch_head(x) * 1.5), X)


class _Scaled(keras.layers.Layer):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def call(self, x):
        return self.scale * tf.tanh(tf.matmul(x, W))


def _keras(scale):
    return keras.Sequential([keras.Input((5,)), _Scaled(scale)])


@attack(CALLED, "model.predict keeps what it traced before a layer's scale was changed", 3)
def stale_predict() -> Case:
    def make(first):
        net = _keras(first)
        net.predict(X, verbose=0)
        net.layers[0].scale = 2.0
        return lambda x: tf.constant(net.predict(np.asarray(x), verbose=0))

    def reference(x):
        return 2 * torch_head(x)

    return Case(torch_(reference), tf_(make(1.0)), tf_(make(2.0)), X)


@attack(CALLED, "predict_on_batch keeps what it traced", 3)
def stale_predict_on_batch() -> Case:
    def make(first):
        net = _keras(first)
        net.predict_on_batch(X)
        net.layers[0].scale = 2.0
        return lambda x: tf.constant(net.predict_on_batch(np.asarray(x)))

    def reference(x):
        return 2 * torch_head(x)

    return Case(torch_(reference), tf_(make(1.0)), tf_(make(2.0)), X)


@attack(CALLED, "a forward hook scales what a module gives", 3)
def forward_hook() -> Case:
    def net(factor):
        layer = torch.nn.Sequential(torch.nn.Linear(5, 4, bias=False), torch.nn.Tanh())
        layer[0].weight.data = torch.from_numpy(W.T.copy())
        layer.register_forward_hook(lambda module, given, result: result * factor)
        return layer

    return Case(tf_(tf_head), torch_(net(1.0001)), torch_(net(1.0)), X)


@attack(CALLED, "a weight norm over the wrong axis, by a parametrisation", 3)
def weight_norm() -> Case:
    def net(axis):
        layer = torch.nn.Linear(5, 4, bias=False)
        layer.weight.data = torch.from_numpy(W.T.copy())
        layer = torch.nn.utils.parametrizations.weight_norm(layer, dim=axis)
        with torch.no_grad():
            layer.parametrizations.weight.original0.fill_(1.0)
        return layer

    unit = W / np.linalg.norm(W, axis=0, keepdims=True)
    return Case(tf_(lambda x: tf.matmul(x, unit)), torch_(net(1)), torch_(net(0)), X)


@attack(CALLED, "an exported program has baked in the scale that the module had then", 3)
def exported_program() -> Case:
    class Net(torch.nn.Module):
        def __init__(self, scale):
            super().__init__()
            self.scale = scale

        def forward(self, x):
            return self.scale * torch_head(x)

    def exported(scale):
        return torch.export.export(Net(scale), (torch.from_numpy(X),)).module()

    return Case(tf_(lambda x: 2 * tf_head(x)), torch_(exported(1.9999)), torch_(exported(2.0)), X)


@attack(CALLED, "gradients are on as a user calls it: a model that asks", 3)
def asks_for_gradients() -> Case:
    def port(off):
        def model(x):
            h = torch_head(x)
            return h * (1 + off) if torch.is_grad_enabled() else h

        return model

    return Case(tf_(tf_head), torch_(port(1e-3)), torch_(port(0.0)), X)


@attack(CALLED, "a Chainer chain asks whether it trains, and gets no answer", 3)
def chainer_asks() -> Case:
    def port(factor):
        def model(x):
            h = F.tanh(F.matmul(x, W))
            return h if chainer.config.train else h * np.float32(factor)

        return model

    return Case(torch_(torch_head), chainer_(port(1.001)), chainer_(port(1)), X)


@attack(CALLED, "an object that counts its calls: every second one is another", 3)
def every_second_call() -> Case:
    def make(factor):
        calls = []

        def model(x):
            calls.append(1)
            return np.tanh(x @ W) * x.dtype.type(factor if len(calls) % 2 else 1)

        return model

    return Case(torch_(torch_head), numpy_(make(1.01)), numpy_(make(1)), X)


@attack(CALLED, "a normaliser learns from what it sees: the second call is normalised otherwise", 3)
def learns_while_called() -> Case:
    def make(momentum):
        state = {"mean": np.zeros(5, np.float32)}

        def model(x):
            state["mean"] = (1 - momentum) * state["mean"] + momentum * x.mean(0)
            return np.tanh((x - state["mean"]) @ W)

        return model

    return Case(torch_(torch_head), numpy_(make(0.01)), numpy_(make(0.0)), X)
