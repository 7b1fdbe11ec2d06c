"""Small pairs of torch models for the rules: distinct sizes, signed values, random weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import parity
from parity.report.report import Report

torch.set_num_threads(1)
draw = np.random.default_rng(21)
X = draw.standard_normal((5, 7)).astype("f")


def weights(*shape: int) -> torch.Tensor:
    return torch.from_numpy(draw.standard_normal(shape).astype("f"))


FIRST, SECOND, SQUARE = weights(7, 6), weights(6, 4), weights(6, 6)


def compare(*models: Callable[..., Any], inputs: Any = X) -> Report:
    return parity.compare(*(parity.wrap(one, framework="torch") for one in models), inputs=inputs)


def network(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(torch.tanh(x @ FIRST) @ SECOND, 1)


def sites(report: Report) -> list[tuple[str, str]]:
    """The operations at which two models diverge, by kind."""
    return [(found.reference.op, found.candidate.op) for found in report.divergences]


def kinds(report: Report) -> list[str]:
    """The kinds of all causes that are confirmed."""
    return [one.cause.kind for one in report.divergences if one.cause and one.cause.confirmed]


def summaries(report: Report) -> str:
    """What all causes say, a line each."""
    return "\n".join(one.cause.summary for one in report.divergences if one.cause)
