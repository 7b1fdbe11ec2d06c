"""A helper that differs in each of its calls is placed there, and not where the calls meet."""

from __future__ import annotations

from typing import Any

import chainer.functions as F
import numpy as np
import torch
from torch.nn.functional import normalize

import parity
from parity.report.report import Report

draw = np.random.default_rng(3)
QUERY, KEY = (draw.standard_normal((6, 5)).astype("f") for _ in range(2))
X, OTHERS = (draw.standard_normal((4, steps, 6)).astype("f") for steps in (3, 7))


def cosines(x: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    q, k = x @ torch.from_numpy(QUERY), others @ torch.from_numpy(KEY)
    return torch.relu(normalize(q, dim=2) @ normalize(k, dim=2).transpose(1, 2))


def in_chainer(x: Any, others: Any, axis: int) -> Any:
    def projected(one: Any, weight: Any) -> Any:
        flat = F.matmul(F.reshape(one, (-1, 6)), weight)
        return F.normalize(F.reshape(flat, (*one.shape[:2], 5)), 1e-12, axis)

    return F.relu(F.matmul(projected(x, QUERY), projected(others, KEY), transb=True))


def compared(axis: int) -> Report:
    return parity.compare(
        parity.wrap(cosines, framework="torch"),
        parity.wrap(lambda x, others: in_chainer(x, others, axis), framework="chainer"),
        inputs=(X, OTHERS),
    )


def test_each_branch_is_a_divergence():
    assert compared(2).verdict == "parity"
    (found,) = compared(1).divergences
    assert found.cause is not None and found.times == 2
    assert (found.cause.kind, found.cause.confirmed) == ("norm-axis", True)


def test_without_it_they_are_one_region(monkeypatch):
    monkeypatch.setattr("parity.diagnosis.cut_search.branches", lambda *arguments: [])
    (found,) = compared(1).divergences
    assert found.cause is None or found.cause.kind != "norm-axis"


def test_parts_of_one_norm_are_no_branches():
    """A mean over another axis moves both what it is taken off and what that is divided by."""

    def standardised(x: torch.Tensor, axis: int) -> torch.Tensor:
        centred = x - x.mean(axis, keepdim=True)
        return torch.relu(centred / (centred.square().mean(axis, keepdim=True) + 1e-3).sqrt())

    models = (
        parity.wrap(lambda x, axis=axis: standardised(x, axis), framework="torch")
        for axis in (2, 1)
    )
    (found,) = parity.compare(*models, inputs=X).divergences
    assert found.cause is not None and found.cause.kind == "norm-axis"
