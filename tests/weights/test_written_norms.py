"""Norms written out in the middle of a model: their scales, shifts and statistics move."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
import torch
from keras import layers, ops

import parity
from tests.weights import transfer_models as nets

F, L, nn = nets.F, nets.L, torch.nn
RNG = np.random.default_rng(5)
INPUTS = RNG.normal(size=(7, 4)).astype("f")
WIDTH, EPSILON = 6, 1e-3
STATISTICS = ("g", "b", "mean", "var")


# --- four ways to hold two dense layers, and what is computed between them ------------------------


class InTorch(nn.Module):
    def __init__(self, norm: Callable[..., Any], names: tuple[str, ...]) -> None:
        super().__init__()
        self.norm, self.names = norm, names
        self.first, self.last = nn.Linear(4, WIDTH), nn.Linear(WIDTH, 3)
        for name in names:
            self.register_parameter(name, nn.Parameter(torch.rand(WIDTH)))

    def forward(self, x: Any) -> Any:
        own = [getattr(self, name) for name in self.names]
        return self.last(torch.tanh(self.norm(self.first(x), *own)))


class InTensorFlow(tf.Module):
    def __init__(self, norm: Callable[..., Any], names: tuple[str, ...]) -> None:
        super().__init__()
        self.norm, self.names = norm, names
        self.w1, self.w2 = tf.Variable(tf.zeros((4, WIDTH))), tf.Variable(tf.zeros((WIDTH, 3)))
        self.b1, self.b2 = tf.Variable(tf.zeros(WIDTH)), tf.Variable(tf.zeros(3))
        for name in names:
            setattr(self, name, tf.Variable(tf.ones(WIDTH), name=name))

    def __call__(self, x: Any) -> Any:
        own = [getattr(self, name) for name in self.names]
        return tf.tanh(self.norm(x @ self.w1 + self.b1, *own)) @ self.w2 + self.b2


class InKeras(keras.Model):
    def __init__(self, norm: Callable[..., Any], names: tuple[str, ...]) -> None:
        super().__init__()
        self.norm = norm
        self.first, self.last = layers.Dense(WIDTH), layers.Dense(3)
        self.own = [self.add_weight(shape=(WIDTH,), name=name) for name in names]

    def call(self, x: Any) -> Any:
        return self.last(ops.tanh(self.norm(self.first(x), *self.own)))


class InChainer(nets.chainer.Chain):
    def __init__(self, norm: Callable[..., Any], names: tuple[str, ...]) -> None:
        super().__init__()
        self.norm, self.names = norm, names
        with self.init_scope():
            self.first, self.last = L.Linear(4, WIDTH), L.Linear(WIDTH, 3)
            for name in names:
                setattr(self, name, nets.chainer.Parameter(np.ones(WIDTH, "f")))

    def forward(self, x: Any) -> Any:
        own = [getattr(self, name) for name in self.names]
        return self.last(F.tanh(self.norm(self.first(x), *own)))


class Named(nn.Module):
    """The same with a norm that is a layer."""

    def __init__(self, norm: Any) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(4, WIDTH), norm, nn.Linear(WIDTH, 3)

    def forward(self, x: Any) -> Any:
        return self.last(torch.tanh(self.norm(self.first(x))))


# --- layer norms ----------------------------------------------------------------------------------


def torch_var_mean(x, g, b):
    var, mean = torch.var_mean(x, -1, unbiased=False, keepdim=True)
    return (x - mean) * torch.rsqrt(var + EPSILON) * g + b


def torch_scaled_first(x, g, b):
    mean = x.mean(-1, keepdim=True)
    var = ((x - mean) ** 2).mean(-1, keepdim=True)
    return g * (x - mean) / (var + EPSILON).sqrt() + b


def torch_addcmul(x, g, b):
    mean, var = x.mean(-1, keepdim=True), x.var(-1, unbiased=False, keepdim=True)
    return torch.addcmul(b, (x - mean) / (var + EPSILON) ** 0.5, g)


def torch_functional(x, g, b):
    return nn.functional.layer_norm(x, (WIDTH,), eps=EPSILON) * g + b


def tf_batch_normalization(x, g, b):
    mean, var = tf.nn.moments(x, -1, keepdims=True)
    return tf.nn.batch_normalization(x, mean, var, b, g, EPSILON)


def tf_formula(x, g, b):
    mean, var = tf.nn.moments(x, -1, keepdims=True)
    return (x - mean) / tf.sqrt(var + EPSILON) * g + b


def keras_mean_of_squares(x, g, b):
    mean = ops.mean(x, -1, keepdims=True)
    var = ops.mean(x * x, -1, keepdims=True) - ops.square(mean)
    return (x - mean) * ops.rsqrt(var + EPSILON) * g + b


def keras_var(x, g, b):
    mean, var = ops.mean(x, -1, keepdims=True), ops.var(x, -1, keepdims=True)
    return g * (x - mean) / ops.sqrt(var + EPSILON) + b


def chainer_formula(x, g, b):
    d = x - F.broadcast_to(F.mean(x, axis=1, keepdims=True), x.shape)
    var = F.mean(d * d, axis=1, keepdims=True)
    h = d / F.broadcast_to(F.sqrt(var + EPSILON), x.shape)
    return F.scale(h, g, axis=1) + F.broadcast_to(b, x.shape)


def chainer_rsqrt(x, g, b):
    d = x - F.broadcast_to(F.average(x, axis=1, keepdims=True), x.shape)
    var = F.average(F.square(d), axis=1, keepdims=True)
    return F.bias(F.scale(d * F.broadcast_to(F.rsqrt(var + EPSILON), x.shape), g), b)


LAYER_NORMS = [
    (InTorch, torch_var_mean),
    (InTorch, torch_scaled_first),
    (InTorch, torch_addcmul),
    (InTorch, torch_functional),
    (InTensorFlow, tf_batch_normalization),
    (InTensorFlow, tf_formula),
    (InKeras, keras_mean_of_squares),
    (InKeras, keras_var),
    (InChainer, chainer_formula),
    (InChainer, chainer_rsqrt),
]


def moved(source: Any, target: Any, count: int, inputs: Any = INPUTS) -> Any:
    """The result of a transfer that must move all tensors."""
    models = [nets.shuffled(model, inputs) for model in (source, target)]
    result = parity.transfer(*models, inputs)
    assert result.verdict == "parity", str(result)
    assert result.table.left == ((), ()), str(result)
    assert sum(len(row.target) for row in result.table.rows) == count, str(result)
    return result


@pytest.mark.parametrize(("make", "norm"), LAYER_NORMS)
def test_a_layer_norm_by_hand_is_one(make: Any, norm: Any) -> None:
    result = moved(Named(nn.LayerNorm(WIDTH, eps=EPSILON)), make(norm, ("g", "b")), 6)
    assert {row.role for row in result.table.rows} == {"kernel", "bias", "gamma", "beta"}


@pytest.mark.parametrize("number", range(3))
def test_two_layer_norms_by_hand_are_the_same(number: int) -> None:
    (a, source), (b, target) = LAYER_NORMS[number], LAYER_NORMS[-1 - number]
    moved(a(source, ("g", "b")), b(target, ("g", "b")), 6)


# --- norms by the mean of squares, and with statistics --------------------------------------------


def torch_rms(x, g):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPSILON) * g


def tf_rms(x, g):
    return g * x / tf.sqrt(tf.reduce_mean(tf.square(x), -1, keepdims=True) + EPSILON)


def chainer_rms(x, g):
    root = F.rsqrt(F.mean(x * x, axis=1, keepdims=True) + EPSILON)
    return x * F.broadcast_to(root, x.shape) * F.broadcast_to(g, x.shape)


@pytest.mark.parametrize(("make", "norm"), [(InTensorFlow, tf_rms), (InChainer, chainer_rms)])
@pytest.mark.parametrize("layer", [True, False])
def test_a_norm_by_the_mean_of_squares(make: Any, norm: Any, layer: bool) -> None:
    source = Named(nn.RMSNorm(WIDTH, eps=EPSILON)) if layer else InTorch(torch_rms, ("g",))
    result = moved(source, make(norm, ("g",)), 5)
    assert [row.role for row in result.table.rows].count("gamma") == 1


def torch_one_more(x, g):
    return torch_rms(x, 1 + g)


def tf_one_more(x, g):
    return tf_rms(x, 1 + g)


def test_a_scale_that_is_one_more_is_another() -> None:
    """Set to do nothing, a plain scale agrees with an untrained one of the other kind."""
    result = moved(InTorch(torch_one_more, ("g",)), InTensorFlow(tf_one_more, ("g",)), 5)
    assert "gamma (add)" in {row.role for row in result.table.rows}
    source = nets.shuffled(InTorch(torch_one_more, ("g",)), INPUTS).obj
    with torch.no_grad():
        source.g.zero_()
    result = parity.transfer(source, nets.shuffled(InTensorFlow(tf_rms, ("g",)), INPUTS), INPUTS)
    assert result.report.verdict == "parity" and result.verdict == "unverified"
    assert "g of the source and g of the target were not moved" in str(result)


def test_what_is_scaled_again_has_two_scales() -> None:
    def source(x: Any, g: Any, b: Any, mean: Any, var: Any) -> Any:
        return torch_var_mean(x, g, b) * mean + var

    def target(x: Any, g: Any, b: Any, mean: Any, var: Any) -> Any:
        return tf_formula(x, g, b) * mean + var

    result = moved(InTorch(source, STATISTICS), InTensorFlow(target, STATISTICS), 8)
    roles = [row.role for row in result.table.rows]
    assert {*roles} == {"kernel", "bias", "gamma", "beta", "scale", "shift"}


def torch_fixed(x, g, b, mean, var):
    return (x - mean) * torch.rsqrt(var + EPSILON) * g + b


def tf_fixed(x, g, b, mean, var):
    return tf.nn.batch_normalization(x, mean, var, b, g, EPSILON)


def keras_fixed(x, g, b, mean, var):
    return (x - mean) / ops.sqrt(var + EPSILON) * g + b


def chainer_fixed(x, g, b, mean, var):
    shifted = F.bias(x, -mean)
    return F.bias(F.scale(shifted, g / F.sqrt(var + EPSILON)), b)


FIXED = [
    (InTorch, torch_fixed),
    (InTensorFlow, tf_fixed),
    (InKeras, keras_fixed),
    (InChainer, chainer_fixed),
]


@pytest.mark.parametrize(("make", "norm"), FIXED)
def test_a_batch_norm_by_hand_is_one(make: Any, norm: Any) -> None:
    source = Named(nn.BatchNorm1d(WIDTH, eps=EPSILON))
    result = moved(source, make(norm, STATISTICS), 8)
    partners = {row.source[0]: row.target[0].split(":")[0] for row in result.table.rows}
    names = ["norm.weight", "norm.bias", "norm.running_mean", "norm.running_var"]
    assert [partners[name].rpartition("/")[2] for name in names] == list(STATISTICS)


# --- norms without scale or shift -----------------------------------------------------------------


def torch_bare(scale: bool, center: bool) -> Any:
    return Named(nn.BatchNorm1d(WIDTH, eps=EPSILON, affine=scale and center))


def keras_bare(scale: bool, center: bool) -> Any:
    norm = layers.BatchNormalization(epsilon=EPSILON, scale=scale, center=center)
    rest = [layers.Activation("tanh"), layers.Dense(3)]
    return keras.Sequential([keras.Input((4,)), layers.Dense(WIDTH), norm, *rest])


def chainer_bare(scale: bool, center: bool) -> Any:
    norm = L.BatchNormalization(WIDTH, eps=EPSILON, use_gamma=scale, use_beta=center)
    return nets.chainer.Sequential(L.Linear(4, WIDTH), norm, F.tanh, L.Linear(WIDTH, 3))


def tf_bare(scale: bool, center: bool) -> Any:
    names = [name for name, has in zip(("g", "b"), (scale, center), strict=True) if has]

    def norm(x: Any, *own: Any) -> Any:
        given = dict(zip((*names, "mean", "var"), own, strict=True))
        affine = given.get("b"), given.get("g")
        return tf.nn.batch_normalization(x, given["mean"], given["var"], *affine, EPSILON)

    return InTensorFlow(norm, (*names, "mean", "var"))


BARE = {"torch": torch_bare, "keras": keras_bare, "chainer": chainer_bare, "tf": tf_bare}
AFFINE = list(itertools.product((False, True), repeat=2))


@pytest.mark.parametrize("target", ["keras", "chainer", "tf"])
@pytest.mark.parametrize(("scale", "center"), AFFINE)
def test_a_batch_norm_keeps_its_statistics_whatever_it_scales(
    scale: bool, center: bool, target: str
) -> None:
    # torch has scale and shift or none
    source = torch_bare if scale == center else keras_bare if target != "keras" else tf_bare
    result = moved(source(scale, center), BARE[target](scale, center), 6 + scale + center)
    roles = {row.role for row in result.table.rows}
    assert roles >= {"running mean", "running variance"}
    assert ("gamma" in roles, "beta" in roles) == (scale, center)


@pytest.mark.parametrize("source", ["keras", "chainer", "tf"])
def test_it_comes_back_to_torch_too(source: str) -> None:
    moved(BARE[source](False, False), torch_bare(False, False), 6)


@pytest.mark.parametrize("wide", [True, False])
def test_images_without_scale_and_shift(wide: bool) -> None:
    images = RNG.normal(size=(2, 5, 5, 3) if wide else (2, 5, 3)).astype("f")
    kind = nn.BatchNorm2d if wide else nn.BatchNorm1d
    norm = layers.BatchNormalization(epsilon=EPSILON, scale=False, center=False)
    target = keras.Sequential([keras.Input(images.shape[1:]), norm])
    moved(Last(kind(3, eps=EPSILON, affine=False)), target, 2, images)


class Last(nn.Module):
    """A layer of torch's whose channels come last."""

    def __init__(self, own: Any) -> None:
        super().__init__()
        self.own = own

    def forward(self, x: Any) -> Any:
        return self.own(x.movedim(-1, 1)).movedim(1, -1)


def test_a_batch_norm_by_hand_behind_a_flatten() -> None:
    """Its channels enter in another order: what is moved before it is no part of it."""
    images = RNG.normal(size=(5, 4, 4, 3)).astype("f")

    class Flat(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.last = nn.Conv2d(3, 2, 3), nn.Linear(8, 3)
            for name in STATISTICS:
                self.register_parameter(name, nn.Parameter(torch.rand(8)))

        def forward(self, x: Any) -> Any:
            h = torch.tanh(self.conv(x.movedim(-1, 1))).flatten(1)
            own = [getattr(self, name) for name in STATISTICS]
            return self.last(torch_fixed(h, *own))

    norm = layers.BatchNormalization(epsilon=EPSILON)
    hidden = [layers.Conv2D(2, 3, activation="tanh"), layers.Flatten()]
    target = keras.Sequential([keras.Input((4, 4, 3)), *hidden, norm, layers.Dense(3)])
    moved(Flat(), target, 8, images)


# --- what stands before and after a norm ----------------------------------------------------------


def test_the_rows_of_an_embedding_are_no_groups_of_channels() -> None:
    words = RNG.integers(0, 11, (6, 5)).astype("i4")
    source = nn.Sequential(nn.Embedding(11, 4), nn.LayerNorm(4), nn.Linear(4, 3))
    hidden = [layers.Embedding(11, 4), layers.LayerNormalization(epsilon=1e-5)]
    target = keras.Sequential([keras.Input((5,), dtype="int32"), *hidden, layers.Dense(3)])
    moved(source, target, 5, words)


def test_a_flatten_behind_a_norm_of_groups_has_its_order() -> None:
    images = RNG.normal(size=(6, 4, 5, 6)).astype("f")

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            groups = nn.GroupNorm(2, 4)
            self.own = nn.Sequential(nn.Conv2d(6, 4, 1), groups, nn.Flatten(), nn.Linear(80, 3))

        def forward(self, x: Any) -> Any:
            return self.own(x.movedim(-1, 1))

    hidden = [layers.Conv2D(4, 1), layers.GroupNormalization(2, epsilon=1e-5), layers.Flatten()]
    target = keras.Sequential([keras.Input((4, 5, 6)), *hidden, layers.Dense(3)])
    moved(Net(), target, 6, images)


def test_rows_that_were_put_together_and_parted_again_are_no_groups() -> None:
    series = RNG.normal(size=(6, 5, 4)).astype("f")

    class Rows(nets.chainer.Chain):
        def __init__(self) -> None:
            super().__init__()
            with self.init_scope():
                self.first, self.last = L.Linear(4, 4), L.Linear(4, 3)
                self.g = nets.chainer.Parameter(np.ones(4, "f"))
                self.b = nets.chainer.Parameter(np.zeros(4, "f"))

        def forward(self, x: Any) -> Any:
            h = F.reshape(self.first(F.reshape(x, (-1, 4))), x.shape)
            h = h - F.broadcast_to(F.mean(h, axis=-1, keepdims=True), h.shape)
            variance = F.mean(h**2, axis=-1, keepdims=True)
            h = h / F.broadcast_to(F.sqrt(variance + 1e-5), h.shape)
            h = h * F.broadcast_to(self.g, h.shape) + F.broadcast_to(self.b, h.shape)
            return F.reshape(self.last(F.reshape(h, (-1, 4))), (*x.shape[:2], 3))

    source = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 3))
    moved(source, Rows(), 6, series)
