"""What one model computes step by step and the other at once is compared step by step."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

import parity
from parity.diagnosis.steps_of_loops import Cut, cut
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
