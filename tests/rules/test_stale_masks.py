"""A mask that NumPy made of values that differ further up only follows from those."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import parity

chainer = pytest.importorskip("chainer")
from chainer import functions as F  # noqa: E402

X = np.random.default_rng(0).normal(size=(8, 6)).astype(np.float32)
W = np.random.default_rng(1).normal(size=(6, 5)).astype(np.float32)


class HuberInTorch(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.from_numpy(W))

    def forward(self, x):
        error = torch.tanh(x @ self.w) * 2
        huber = torch.where(error.abs() <= 1, 0.5 * error**2, error.abs() - 0.5)
        weight = (0.3 - (error < 0).float()).abs()
        return (weight * huber).sum(1)


class HuberInChainer(chainer.Chain):
    def __init__(self, scale=2.0, edge=1.0, sign=1):
        super().__init__()
        self.scale, self.edge, self.sign = scale, edge, sign
        with self.init_scope():
            self.w = chainer.Parameter(W)

    def forward(self, x):
        error = F.tanh(F.matmul(x, self.w)) * self.scale
        size = F.absolute(error)
        sizes = np.array(size.array.tolist(), "f")  # not followed from here on
        huber = F.where(sizes <= self.edge, 0.5 * error * error, size - 0.5)
        below = (self.sign * error.array < 0).astype(np.float32)
        return F.sum(F.absolute(0.3 - below) * huber, axis=1)


def compared(**settings):
    return parity.compare(HuberInTorch(), HuberInChainer(**settings), inputs=X)


def test_right_models_agree():
    assert compared().verdict == "parity"


def test_masks_made_of_a_wrong_value_are_a_note():
    report = compared(scale=1.5)

    assert report.verdict == "diverged"
    (divergence,) = report.divergences
    assert "1.5" in str(divergence.cause.parameters), str(report)
    notes = [note.kind for note in report.comparisons[0].notes]
    assert "host-decided" in notes, str(report)


@pytest.mark.parametrize("settings", [{"edge": 0.5}, {"sign": -1}])
def test_a_wrong_mask_by_itself_is_a_divergence(settings):
    report = compared(**settings)

    assert report.verdict == "diverged"
    assert report.divergences


def test_a_mask_of_the_models_own_is_no_consequence():
    """It is the same on all inputs, so that nothing before it explains it."""

    class Masked(torch.nn.Module):
        def __init__(self, scale, diagonal):
            super().__init__()
            self.scale, self.diagonal = scale, diagonal
            self.w = torch.nn.Parameter(torch.from_numpy(W[:, :5]))

        def forward(self, x):
            hidden = torch.tanh(x @ self.w) * self.scale
            scores = hidden @ hidden.T
            mask = torch.tril(torch.ones(8, 8), self.diagonal)
            return torch.softmax(scores.masked_fill(mask == 0, -1e9), 1)

    report = parity.compare(Masked(2.0, 0), Masked(1.5, 1), inputs=X)

    assert len(report.divergences) == 2, str(report)
