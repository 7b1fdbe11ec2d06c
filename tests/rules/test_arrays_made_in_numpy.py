"""What a Chainer model makes of its inputs in NumPy depends on them, and counts as an input."""

from __future__ import annotations

from typing import Any

import chainer.functions as F
import numpy as np
import torch

import parity
from parity.frameworks.chainer import record
from parity.report.report import Report

draw = np.random.default_rng(57)
TABLE = draw.standard_normal((11, 6)).astype("f")
INTO = draw.standard_normal((5, 6)).astype("f")
IDS = draw.integers(1, 11, (4, 3)).astype("i")


def words(ids: torch.Tensor) -> torch.Tensor:
    found = [torch.from_numpy(TABLE)[ids[:, step]] for step in range(3)]
    return torch.tanh(torch.stack(found, 1)) @ torch.from_numpy(INTO).T


def in_numpy(ids: Any, fault: bool = False) -> Any:
    """The same; each step's words are cut out of an array that is not followed."""
    ranks = np.arange(6, dtype="f")  # of no input
    found = []
    for step in range(3):
        one = F.tanh(F.embed_id(np.array(ids.tolist())[:, step], TABLE)) + 0.0 * ranks
        one = F.relu(one) if fault else one
        found.append(F.linear(one, INTO))
    return F.stack(found, 1)


def compared(fault: bool) -> Report:
    return parity.compare(
        parity.wrap(words, framework="torch"),
        parity.wrap(lambda ids: in_numpy(ids, fault), framework="chainer"),
        inputs=IDS,
    )


def test_the_place_behind_them_is_found_and_its_cause_is_proved():
    assert compared(False).verdict == "parity"
    (found,) = compared(True).divergences
    assert found.cause is not None
    assert (found.cause.kind, found.cause.confirmed) == ("op-extra", True)


def test_arrays_that_no_input_reaches_stay_constants():
    tape = record(parity.wrap(in_numpy, framework="chainer"), IDS)
    made = [value.shape for value in tape.values if "NumPy" in value.name]
    assert made == [(4,)] * 3
    fixed = [one for one in tape.values if one.kind == "constant" and one.shape == (6,)]
    assert fixed and not any(tape.is_live(one.id) for one in fixed)
    assert all(not op.static for op in tape.ops if op.word == "embedding")


def test_a_model_that_takes_no_other_order_keeps_its_constants():
    def sorted_alone(ids: Any) -> Any:
        if (np.diff(ids[:, :1], axis=0) > 0).any():
            raise ValueError("not sorted")
        return in_numpy(ids)

    ids = np.sort(IDS, 0)[::-1].copy()
    tape = record(parity.wrap(sorted_alone, framework="chainer"), ids)
    assert all(op.static for op in tape.ops if op.word == "embedding")
