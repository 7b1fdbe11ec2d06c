"""Masks that one model holds in its state and the other computes lack no partner."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import torch
from keras import layers, ops

import parity

ROWS = np.random.default_rng(0).normal(size=(5, 4)).astype("float32")
MASK = np.triu(np.ones((4, 4), "float32"))


class Masked(torch.nn.Module):
    """Outputs that see the inputs before them alone."""

    def __init__(self, registered: bool = True) -> None:
        super().__init__()
        self.kernel = torch.nn.Parameter(torch.randn(4, 4))
        self.bias = torch.nn.Parameter(torch.randn(4))
        mask = torch.from_numpy(MASK.T)
        if registered:
            self.register_buffer("mask", mask)
        else:
            self.mask = torch.nn.Parameter(mask)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.linear(x, self.kernel * self.mask, self.bias)


class KerasMasked(layers.Layer):
    def build(self, shape):
        self.kernel = self.add_weight(shape=(4, 4), name="kernel")
        self.bias = self.add_weight(shape=(4,), name="bias")

    def call(self, x):
        return ops.matmul(x, self.kernel * MASK) + self.bias


@pytest.mark.parametrize("turned", [False, True])
def test_masks_that_one_model_holds(turned):
    models = [keras.Sequential([layers.Input((4,)), KerasMasked()]), Masked()]
    result = parity.transfer(*models[:: -1 if turned else 1], inputs=ROWS)
    assert result.verdict == "parity", str(result)
    assert result.table.left == ((), ())
    side = "source" if turned else "target"
    assert f"mask: buffers that the {side} alone holds" in result.table.notes


def test_what_is_trained_is_left_over():
    model = keras.Sequential([layers.Input((4,)), KerasMasked()])
    result = parity.transfer(model, Masked(registered=False), inputs=ROWS)
    assert result.verdict == "parity" and result.table.left == ((), ("mask",))
