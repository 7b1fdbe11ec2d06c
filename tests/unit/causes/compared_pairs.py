"""What a comparison of two torch functions reports: for the tests of single causes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import parity


class Values(np.random.Generator):
    """Standard normal arrays. Each module has its own: none depends on which are imported."""

    def __init__(self) -> None:
        super().__init__(np.random.PCG64(3))

    def __call__(self, *shape: int, scale: float = 1.0) -> np.ndarray:
        return (scale * self.standard_normal(shape)).astype(np.float32)


def tensor(array: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(array))


def cause_of(
    reference: Callable[..., Any], candidate: Callable[..., Any], *inputs: np.ndarray
) -> Any:
    """The cause of the first divergence; None if there is a divergence and no cause."""
    return compared(reference, candidate, *inputs).divergences[0].cause


UNNAMED = ("", "different-formula")  # no cause, or only what both sides compute


def kind(reference: Callable[..., Any], candidate: Callable[..., Any], *inputs: np.ndarray) -> str:
    """The kind of the cause, "" for none."""
    cause = cause_of(reference, candidate, *inputs)
    return "" if cause is None else str(cause.kind)


def compared(
    reference: Callable[..., Any], candidate: Callable[..., Any], *inputs: np.ndarray
) -> Any:
    """The report on two torch functions that differ."""
    report = parity.compare(
        parity.wrap(reference, framework="torch"),
        parity.wrap(candidate, framework="torch"),
        inputs=inputs if len(inputs) > 1 else inputs[0],
    )
    assert report.verdict == "diverged"
    return report
