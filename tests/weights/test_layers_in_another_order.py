"""A layer on each of two values, in another order: kernels of unlike sizes show which is which."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import keras
import numpy as np
import pytest
import torch
from keras import layers
from torch.nn import functional as F

import parity
from parity.weights import pairing
from parity.weights.unlike_kernels import exchanged_where_unlike

X = np.random.default_rng(4).standard_normal((3, 3, 8, 8)).astype("f")


class Fused(torch.nn.Module):
    """Features at two scales, each brought to one width, the coarser ones first."""

    def __init__(self) -> None:
        super().__init__()
        self.fine, self.coarse = torch.nn.Conv2d(3, 5, 1), torch.nn.Conv2d(5, 7, 2, 2)
        self.widths = torch.nn.ModuleList([torch.nn.Linear(n, 4) for n in (5, 7)])
        self.out = torch.nn.Conv2d(8, 2, 1)

    def forward(self, x: Any) -> Any:
        found, parts = [], []
        for layer in (self.fine, self.coarse):
            x = torch.tanh(layer(x))
            found.append(x)
        for one, width in zip(found, self.widths, strict=True):
            y = width(one.flatten(2).transpose(1, 2)).transpose(1, 2)
            y = y.reshape(len(y), -1, *one.shape[2:])
            parts.append(F.interpolate(y, size=found[0].shape[2:], mode="nearest"))
        return self.out(torch.cat(parts[::-1], 1))


def in_keras() -> Any:
    x = keras.Input((8, 8, 3))
    fine = layers.Conv2D(5, 1, activation="tanh")(x)
    coarse = layers.Conv2D(7, 2, 2, activation="tanh")(fine)
    first = layers.Dense(4, name="of_fine")(fine)
    second = layers.UpSampling2D(2)(layers.Dense(4, name="of_coarse")(coarse))
    return keras.Model(x, layers.Conv2D(2, 1)(layers.Concatenate()([second, first])))


def moved() -> Any:
    """The weights moved, each to the layer that computes the same."""
    models = (
        parity.wrap(Fused(), inputs=X, input_layout="NCHW"),
        parity.wrap(in_keras(), inputs=X.transpose(0, 2, 3, 1), input_layout="NHWC"),
    )
    found = parity.transfer(*models)
    assert found.verdict == "parity"
    pairs = {one["target"][0]: one["source"] for one in found.pairing.to_map()["pairs"]}
    assert pairs["of_fine/kernel"] == ["widths.0.weight"]
    assert pairs["of_coarse/bias"] == ["widths.1.bias"]
    return found


def test_layers_that_stand_the_other_way_round() -> None:
    assert not moved().pairing.notes


def test_layers_that_are_paired_crosswise_are_exchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    """However the programs are aligned, and without a search that runs both models."""

    def crossed(align: Any) -> Any:
        def aligned(source: Any, target: Any) -> dict[int, int]:
            steps = align(source, target)
            first, second = (a for a in steps if source.steps[a].kind == "dense")
            return {**steps, first: steps[second], second: steps[first]}

        return aligned

    for name in ("align", "align_by_products"):
        monkeypatch.setattr(pairing, name, crossed(getattr(pairing, name)))
    assert not moved().pairing.notes  # the search would leave one


def steps_of(*shapes: tuple[int, ...]) -> Any:
    """Steps by number, each with a kernel of a shape."""
    return {at: {"kernel": SimpleNamespace(shape=shape)} for at, shape in enumerate(shapes)}


def test_steps_whose_kernels_are_of_unlike_sizes_are_exchanged_if_that_fits() -> None:
    source = steps_of((4, 5), (4, 7), (6, 6))
    assert exchanged_where_unlike(source, source, {0: 1, 1: 0, 2: 2}) == {0: 0, 1: 1, 2: 2}
    assert not exchanged_where_unlike(source, source, {0: 0, 1: 1, 2: 2})
    target = steps_of((7, 4), (4, 6), (6, 6))  # 7 by 4 is what the other framework has
    assert not exchanged_where_unlike(source, target, {0: 0, 1: 1, 2: 2})
    several = steps_of((4, 5), (4, 7), (4, 5), (4, 7))
    assert not exchanged_where_unlike(several, several, {0: 1, 1: 0, 2: 3, 3: 2})  # two ways
