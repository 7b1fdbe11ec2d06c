"""A cause that holds for masks of zeros and ones alone is named, and not proved."""

from __future__ import annotations

import chainer.functions as F
import numpy as np
import torch

import parity
from parity.report.report import Report
from tests.rules.pairs import FIRST, SQUARE

draw = np.random.default_rng(57)
X = draw.standard_normal((6, 4, 7)).astype("f")
ALIVE, TALKS = ((draw.uniform(size=(6, 4)) > 0.3).astype("f") for _ in range(2))
OTHERS = (1 - np.eye(4)).astype("f")


def reference(x: np.ndarray, alive: np.ndarray, talks: np.ndarray) -> object:
    """Messages of agents that are alive and talk to others that are alive, masked by NumPy."""
    mask = OTHERS[None] * alive[:, :, None] * (alive * talks)[:, None, :]
    h = F.tanh(F.matmul(x.reshape(24, 7), FIRST.numpy())).reshape(6, 4, 6)
    return F.matmul(F.tanh(F.matmul(mask, h)).reshape(24, 6), SQUARE.numpy())


def compare(receiver: bool, keeps_all: bool = False) -> Report:
    def candidate(x: torch.Tensor, alive: torch.Tensor, talks: torch.Tensor) -> torch.Tensor:
        speaks = alive if keeps_all else alive * talks
        mask = torch.from_numpy(OTHERS) * (speaks[:, :, None] if receiver else speaks[:, None])
        mask = mask * alive[:, :, None]
        h = torch.tanh(x.reshape(24, 7) @ FIRST).reshape(6, 4, 6)
        return torch.tanh(mask @ h).reshape(24, 6) @ SQUARE

    models = parity.wrap(reference, framework="chainer"), parity.wrap(candidate, framework="torch")
    return parity.compare(*models, inputs=[X, ALIVE, TALKS])


def test_a_mask_along_another_axis() -> None:
    (found,) = compare(receiver=True).divergences
    assert found.cause is not None and found.cause.kind == "broadcast-axis"
    assert not found.cause.confirmed and "zeros and ones" in found.cause.unproved


def test_another_mask_is_not_one_along_another_axis() -> None:
    report = compare(receiver=False, keeps_all=True)
    assert report.verdict == "diverged"
    causes = [one.cause.kind for one in report.divergences if one.cause]
    assert "broadcast-axis" not in causes


def test_the_same_mask_made_by_both() -> None:
    assert compare(receiver=False).verdict == "parity"
