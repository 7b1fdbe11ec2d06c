"""Tables of several features that the other model holds as one, row after row."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
import torch

import parity

SIZES, WIDTH = (11, 60, 9), 4  # more rows than are ever looked up
OFFSETS = np.cumsum((0, *SIZES[:-1]))
IDS = np.stack([np.random.default_rng(3).integers(0, n, (7, 3)) for n in SIZES], 1)


class Apart(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tables = torch.nn.ModuleList(
            torch.nn.EmbeddingBag(n, WIDTH, mode="mean", padding_idx=0) for n in SIZES
        )
        self.out = torch.nn.Linear(WIDTH, 2)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        starts = torch.arange(0, ids[:, 0].numel(), ids.shape[2])
        rows = [table(ids[:, n].reshape(-1), starts) for n, table in enumerate(self.tables)]
        return self.out(torch.tanh(torch.stack(rows, 1)).sum(1))


class Together(tf.Module):
    def __init__(self, joins: int = sum(SIZES)) -> None:
        super().__init__()
        draw = np.random.default_rng(5)
        self.table = tf.Variable(draw.standard_normal((joins, WIDTH)).astype("f"))
        self.kernel = tf.Variable(draw.standard_normal((WIDTH, 2)).astype("f"))
        self.bias = tf.Variable(draw.standard_normal(2).astype("f"))

    def __call__(self, ids: tf.Tensor) -> tf.Tensor:
        there = tf.cast(ids != 0, "float32")[..., None]
        rows = tf.reduce_sum(tf.gather(self.table, ids + OFFSETS[:, None]) * there, 2)
        rows /= tf.maximum(tf.reduce_sum(there, 2), 1)
        return tf.reduce_sum(tf.tanh(rows), 1) @ self.kernel + self.bias


@pytest.mark.parametrize("turned", [False, True])
def test_each_is_a_range_of_its_rows(turned):
    apart, together = Apart(), Together()
    result = parity.transfer(*((together, apart) if turned else (apart, together)), inputs=IDS)
    assert result.verdict == "parity", result
    held = np.concatenate([table.weight.detach().numpy() for table in apart.tables])
    np.testing.assert_array_equal(held, together.table.numpy())


def test_a_table_of_more_rows_is_not_they():
    assert parity.transfer(Apart(), Together(sum(SIZES) + 1), inputs=IDS).verdict != "parity"
