"""Values that the host makes of its inputs are constants of the tape, and values all the same."""

from __future__ import annotations

from typing import Any

import chainer.functions as F
import numpy as np
import torch

import parity
from parity.report.report import Report

draw = np.random.default_rng(91)
# the same from behind, so that the order of the samples does not show what is made of them
X, OTHER = (draw.standard_normal((4, 5, 6)).astype("f") for _ in range(2))
X[2:] = X[1::-1]
FIRST, SECOND = (draw.standard_normal((6, 3)).astype("f") for _ in range(2))


def reference(x: torch.Tensor, other: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """An advantage over what the policy expects, and the loss of it."""
    policy = torch.softmax(other @ torch.from_numpy(SECOND), -1)
    q = torch.tanh(x * x) @ torch.from_numpy(FIRST)
    advantage = q.sum(-1) - (policy * q).sum(-1)
    return advantage, (advantage * torch.log(policy.amax(-1))).mean(1)


def candidate(x: Any, other: Any) -> tuple[Any, Any]:
    """The same in Chainer, of a square of numbers that Python had: on the tape it is a constant."""
    flat = np.array(x.tolist(), "f").reshape(-1, 6)
    policy = F.softmax(F.reshape(F.matmul(F.reshape(other, (-1, 6)), SECOND), (4, 5, 3)), -1)
    q = F.reshape(F.matmul(F.tanh(flat * flat), FIRST), (4, 5, 3))
    advantage = F.sum(q, -1) - F.mean(q, -1)
    return advantage, F.mean(advantage * F.log(F.max(policy, -1)), 1)


def compared() -> Report:
    models = parity.wrap(reference, framework="torch"), parity.wrap(candidate, framework="chainer")
    return parity.compare(*models, inputs=(X, OTHER))


def test_a_fault_among_them_is_one_and_has_a_name() -> None:
    report = compared()
    (found,) = report.divergences
    assert found.cause is not None and not found.cause.confirmed
    assert found.cause.kind == "reduction-kind", report
    assert "no others could be generated" in found.cause.unproved


def test_as_constants_it_is_one_and_said_in_the_same_letters(monkeypatch) -> None:
    monkeypatch.setattr("parity.candidate.differ_in_weights_alone", lambda matched, layers: False)
    (found,) = compared().divergences
    assert found.cause is None and found.closest is not None  # it is not proved
    assert found.closest.evidence[0] == "formula: sum(a * b, axis=-1) -> mean(b, axis=-1)"
    monkeypatch.setattr(
        "parity.diagnosis.divergences.is_repaired_before", lambda proofs, mismatch, others: False
    )
    assert len(compared().divergences) == 2
