"""Kernels shaped by heads, as an einsum takes them, against dense layers and among themselves."""

from __future__ import annotations

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
INPUTS = np.random.default_rng(3).normal(size=(2, 5, 7)).astype("f")
E, H, D, OUT = 7, 2, 3, 4
SHAPES = {"w": (E, H, D), "b": (H, D), "o": (H, D, OUT)}


class InLinear(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(E, H * D), nn.Linear(H * D, OUT, bias=False)

    def forward(self, x: Any) -> Any:
        heads = self.first(x).view(*x.shape[:2], H, D).transpose(1, 2)
        mixed = torch.tanh(heads).softmax(2) * heads
        return self.last(mixed.transpose(1, 2).reshape(*x.shape[:2], H * D))


class InTorch(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        for name, shape in SHAPES.items():
            self.register_parameter(name, nn.Parameter(torch.rand(shape)))

    def forward(self, x: Any) -> Any:
        heads = torch.einsum("nme,ehd->nhmd", x, self.w) + self.b[:, None]
        mixed = torch.tanh(heads).softmax(2) * heads
        return torch.einsum("nhmd,hde->nme", mixed, self.o)


class InTensorFlow(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        for name, shape in SHAPES.items():
            setattr(self, name, tf.Variable(tf.zeros(shape), name=name))

    def __call__(self, x: Any) -> Any:
        heads = tf.einsum("nme,ehd->nhmd", x, self.w) + self.b[:, None]
        mixed = tf.nn.softmax(tf.tanh(heads), 2) * heads
        return tf.einsum("nhmd,hde->nme", mixed, self.o)


class InTensorDot(InTensorFlow):
    def __call__(self, x: Any) -> Any:
        heads = tf.tensordot(x, self.w, 1) + self.b
        mixed = tf.nn.softmax(tf.tanh(heads), 1) * heads
        return tf.tensordot(mixed, self.o, 2)


class InKeras(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        own = [self.add_weight(shape=shape, name=name) for name, shape in SHAPES.items()]
        self.w, self.b, self.o = own

    def call(self, x: Any) -> Any:
        heads = ops.einsum("nme,ehd->nhmd", x, self.w) + self.b[:, None]
        mixed = ops.softmax(ops.tanh(heads), 2) * heads
        return ops.einsum("nhmd,hde->nme", mixed, self.o)


class InEinsumDense(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.first = layers.EinsumDense("nme,ehd->nmhd", (None, H, D), bias_axes="hd")
        self.last = layers.EinsumDense("nmhd,hde->nme", (None, OUT))

    def call(self, x: Any) -> Any:
        heads = self.first(x)
        return self.last(ops.softmax(ops.tanh(heads), 1) * heads)


class InChainer(nets.chainer.Chain):
    def __init__(self) -> None:
        super().__init__()
        with self.init_scope():
            for name, shape in SHAPES.items():
                setattr(self, name, nets.chainer.Parameter(np.ones(shape, "f")))

    def forward(self, x: Any) -> Any:
        heads = F.einsum("nme,ehd->nhmd", x, self.w)
        heads += F.broadcast_to(F.expand_dims(self.b, 1), heads.shape)
        mixed = F.softmax(F.tanh(heads), axis=2) * heads
        return F.einsum("nhmd,hde->nme", mixed, self.o)


class InChainersTensorDot(InChainer):
    def forward(self, x: Any) -> Any:
        heads = F.tensordot(x, self.w, 1)
        heads += F.broadcast_to(self.b, heads.shape)
        return F.tensordot(F.softmax(F.tanh(heads), axis=1) * heads, self.o, 2)


SHAPED = [
    InTorch,
    InTensorFlow,
    InTensorDot,
    InKeras,
    InEinsumDense,
    InChainer,
    InChainersTensorDot,
]


def moved(source: Any, target: Any) -> None:
    models = [nets.shuffled(model(), INPUTS) for model in (source, target)]
    result = parity.transfer(*models, INPUTS)
    assert result.verdict == "parity", str(result)
    assert result.table.left == ((), ())
    assert [row.role for row in result.table.rows] == ["kernel", "bias", "kernel"]


@pytest.mark.parametrize("shaped", SHAPED)
def test_kernels_by_heads_are_those_of_dense_layers(shaped: Any) -> None:
    moved(InLinear, shaped)


@pytest.mark.parametrize("shaped", [InTorch, InTensorFlow, InChainer])
def test_and_the_other_way_round(shaped: Any) -> None:
    moved(shaped, InLinear)


@pytest.mark.parametrize("number", range(3))
def test_kernels_by_heads_among_themselves(number: int) -> None:
    moved(SHAPED[number], SHAPED[-1 - number])
