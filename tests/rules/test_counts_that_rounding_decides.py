"""Models that hold the number of what they pick, where rounding decides how many that are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
import tensorflow as tf
import torch

import parity
from parity.errors import ReplayError
from parity.matching.counts import with_counts_as_ran
from parity.stages import record
from parity.tape import Adapter

# h / 3 * 3 is h for some of its elements, and for others in float64
ROWS = np.random.default_rng(0).normal(size=(40, 6)).astype("f4")


def in_torch(scale: float = 1.0) -> Callable[[Any], Any]:
    def model(h: Any) -> Any:
        kept = torch.nonzero(h / 3 * 3 == h)
        return (torch.full((len(kept),), scale) * h[kept[:, 0], kept[:, 1]]).mean(0, keepdim=True)

    return model


def by_mask_in_torch(scale: float = 1.0) -> Callable[[Any], Any]:
    def model(h: Any) -> Any:
        kept = h[h / 3 * 3 == h]
        return (kept.reshape(kept.shape[0], 1) * scale).mean(0)

    return model


def in_tensorflow(scale: float = 1.0) -> Callable[[Any], Any]:
    def model(h: Any) -> Any:
        kept = tf.gather_nd(h, tf.where(tf.equal(h / 3 * 3, h)))
        return tf.reduce_mean(tf.reshape(kept, [len(kept), 1]) * scale, 0)

    return model


# Chainer picks by what the host computes, which is one constant in every replay
MODELS = {
    "torch": in_torch,
    "torch, by a mask": by_mask_in_torch,
    "tensorflow": in_tensorflow,
}


def built(port: str, scale: float = 1.0) -> Any:
    return parity.wrap(MODELS[port](scale), framework=port.split(",")[0])


def compared(reference: str, candidate: str, scale: float = 1.0) -> parity.Report:
    return parity.compare(built(reference), built(candidate, scale), inputs=ROWS)


def test_rounding_decides_on_these_rows() -> None:
    wide = ROWS.astype(np.float64)
    assert (ROWS / np.float32(3) * np.float32(3) == ROWS).sum() != (wide / 3 * 3 == wide).sum()


@pytest.mark.parametrize("candidate", MODELS)
@pytest.mark.parametrize("reference", MODELS)
def test_models_that_hold_the_count_are_unverified(reference: str, candidate: str) -> None:
    report = compared(reference, candidate)
    assert report.verdict == "unverified", str(report)
    assert "how many values it picks may be decided by rounding" in report.worst.reasons[-1]


@pytest.mark.parametrize("candidate", MODELS)
@pytest.mark.parametrize("reference", MODELS)
def test_what_they_do_with_it_is_still_compared(reference: str, candidate: str) -> None:
    report = compared(reference, candidate, scale=1.25)
    assert report.verdict == "diverged", str(report)
    assert "scale" in report.worst.divergences[0].candidate.code


class Broken:
    def __init__(self, adapter: Adapter) -> None:
        self.cast, self.to_numpy, self.from_numpy = (
            getattr(adapter, verb) for verb in ("cast", "to_numpy", "from_numpy")
        )

    def execute(self, *_: object) -> None:
        raise ReplayError("broken whatever it picks")


def test_another_failure_is_raised_as_it_was() -> None:
    tape = record(built("torch"), ROWS)
    tape = replace(tape, adapter=cast(Adapter, Broken(tape.adapter)))
    with pytest.raises(ReplayError, match="of the first replay"):
        with_counts_as_ran(tape, ReplayError("of the first replay"))
