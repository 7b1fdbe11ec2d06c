"""What one model computes step by step and the other at once is compared step by step."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
import torch

import parity
from parity.diagnosis.cut_into_steps import Cut, cut
from parity.frameworks.torch import record
from parity.report.report import Report

draw = np.random.default_rng(73)
STEPS, STATE, HEADS, PARTS = 5, 6, 3, 4
X = draw.standard_normal((4, STEPS, 7)).astype("f")
INTO, BACK = (draw.standard_normal(s).astype("f") / 2 for s in ((7, STATE), (STATE, STATE)))
OUT = draw.standard_normal((STATE, HEADS * PARTS)).astype("f")


def one_by_one(x: torch.Tensor) -> torch.Tensor:
    """A recurrence, and a head for each of its steps."""
    h, found = torch.zeros(len(x), STATE), []
    for step in range(STEPS):
        h = torch.tanh(x[:, step] @ torch.from_numpy(INTO) + h @ torch.from_numpy(BACK))
        parts = (h @ torch.from_numpy(OUT)).reshape(len(x), HEADS, PARTS)
        scale = parts.square().mean(-1, keepdim=True)  # the reference's line
        found.append((parts / (1 + scale)).sum(1))
    return torch.stack(found, 1).exp().mean(1)


def at_once(x: tf.Tensor, more: bool = False) -> tf.Tensor:
    """The same, whose heads are one product of all steps."""
    h, states = tf.zeros((len(x), STATE)), []
    for step in range(STEPS):
        h = tf.tanh(x[:, step] @ INTO + h @ BACK)
        states.append(h)
    parts = tf.reshape(tf.stack(states, 1) @ OUT, (-1, STEPS, HEADS, PARTS))
    scale = tf.reduce_mean(tf.square(parts), -1, keepdims=True)
    if more:
        scale = tf.reduce_sum(tf.abs(parts), -1, keepdims=True) * scale
    return tf.reduce_mean(tf.exp(tf.reduce_sum(parts / (1 + scale), 2)), 1)


def compared(more: bool = False) -> Report:
    return parity.compare(
        parity.wrap(lambda x: at_once(x, more), framework="tensorflow"),
        parity.wrap(one_by_one, framework="torch"),
        inputs=X,
    )


def lines(report: Report) -> set[str]:
    return {one.reference.code for one in report.divergences}


LINE = "scale = tf.reduce_sum(tf.abs(parts), -1, keepdims=True) * scale"


def test_the_place_is_that_of_each_step() -> None:
    assert compared().verdict == "parity"
    report = compared(more=True)
    (found,) = report.divergences
    assert lines(report) == {LINE} and found.times == STEPS
    assert found.cause is not None and found.cause.confirmed
    assert found.cause.parameters == {"operations": ("Abs, Sum, Mul", "none")}


def test_without_it_all_steps_are_one_region(monkeypatch) -> None:
    monkeypatch.setattr("parity.candidate.cuts", lambda found: ({}, {}))
    report = compared(more=True)
    assert report.verdict == "diverged" and LINE not in lines(report)


def test_a_tape_that_is_cut_gives_what_it_gave() -> None:
    tape = record(parity.wrap(one_by_one, framework="torch"), X)
    values = {
        value.id: Cut(axis, length)
        for value in tape.values
        if value.kind == "computed"
        for axis, length in enumerate(value.shape)
        if length in (HEADS, STEPS)
    }
    found = cut(tape, values)
    assert len(found.ops) > len(tape.ops) + len(values)
    (name,) = tape.outputs
    whole, parts = tape.outputs_of("float64")[name], found.outputs_of("float64")[name]
    np.testing.assert_array_equal(whole, parts)
    part = next(op for op in found.ops if op.kind == "slice" and op.inputs[0] in values)
    other = np.ones(found.values[part.outputs[0]].shape)
    moved = found.outputs_of("float64", {part.outputs[0]: other})[name]
    assert np.abs(moved - whole).max() > 1e-3


# --- steps that share an axis with the batch ------------------------------------------------------
MORE, GAINS = (draw.standard_normal(s).astype("f") for s in ((7, STATE), STATE))


def norm_of_each(x: torch.Tensor) -> torch.Tensor:
    """A layer for each step, then a recurrence of them."""
    h, found = torch.zeros(len(x), STATE), []
    for step in range(STEPS):
        one = torch.tanh(x[:, step] @ torch.from_numpy(MORE))
        one = torch.relu(one * torch.from_numpy(GAINS) + 0.1)
        h = torch.tanh(one + h @ torch.from_numpy(BACK))
        found.append(h)
    return torch.stack(found, 1)


def flattened(x: tf.Tensor, fault: bool, steps_first: bool) -> tf.Tensor:
    """The same, whose layer sees all steps of all samples as one batch."""
    if steps_first:
        x = tf.transpose(x, (1, 0, 2))
    flat = tf.tanh(tf.reshape(x, (-1, 7)) @ MORE)
    flat = flat * GAINS if fault else flat * GAINS + 0.1
    flat = tf.nn.relu(flat)
    parts = tf.reshape(flat, (STEPS, -1, STATE) if steps_first else (-1, STEPS, STATE))
    h, found = tf.zeros((4, STATE)), []
    for one in tf.unstack(parts, axis=0 if steps_first else 1):
        h = tf.tanh(one + h @ BACK)
        found.append(h)
    return tf.stack(found, 1)


@pytest.mark.parametrize("steps_first", (False, True))
def test_steps_within_an_axis_are_cut_too(steps_first: bool) -> None:
    def report(fault: bool) -> Report:
        return parity.compare(
            parity.wrap(norm_of_each, framework="torch"),
            parity.wrap(lambda x: flattened(x, fault, steps_first), framework="tensorflow"),
            inputs=X,
        )

    assert report(False).verdict == "parity"
    found = report(True).divergences
    assert sum(one.times for one in found) == STEPS
    assert {one.cause.kind for one in found if one.cause} == {"op-missing"}
    assert all(one.cause is not None and one.cause.confirmed for one in found)


@pytest.mark.parametrize(
    "way", (Cut(1, 30), Cut(0, 4), Cut(1, 5, 6), Cut(1, 5, 6, in_blocks=False), Cut(2, 7))
)
def test_the_parts_make_the_whole(way: Cut) -> None:
    whole = draw.standard_normal((4, 30, 7))
    parts = way.parts(whole)
    assert len(parts) == way.steps
    np.testing.assert_array_equal(way.together(*parts), whole)
    third = whole[:, 2::5] if not way.in_blocks else parts[2]
    np.testing.assert_array_equal(parts[2], third)


def test_only_what_treats_steps_alike_is_done_by_steps() -> None:
    def mixing(x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(torch.exp(x), 1).sum(1)

    tape = record(parity.wrap(mixing, framework="torch"), X)
    ways = {
        value.id: Cut(1, STEPS)
        for value in tape.values
        if value.kind == "computed" and value.shape == X.shape
    }
    found = cut(tape, ways)
    counts = {word: sum(op.word == word for op in found.ops) for word in ("exp", "softmax")}
    assert counts == {"exp": 1, "softmax": 1}  # of an input no steps are known
    softmax = next(op for op in found.ops if op.word == "softmax")
    assert found.values[softmax.inputs[0]].shape == X.shape
    (name,) = tape.outputs
    np.testing.assert_array_equal(
        tape.outputs_of("float64")[name], found.outputs_of("float64")[name]
    )
