"""Two functions that are nearly one on the inputs, so that values are taken for each other."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

import parity
from benchmarks.corpus.scenarios.pair import chainer
from benchmarks.verdict.clean.catalogue import pairs
from benchmarks.verdict.inputs import draw as draw_inputs
from parity.report.report import Report

tf = pytest.importorskip("tensorflow")
F = chainer.functions

# Both forms of GELU differ by 2e-5 here, and to the last bit of float32 nowhere else.
NEARLY_ONE = (-0.3077 + 1e-4 * np.random.default_rng(0).standard_normal((7, 9))).astype("f")
# Beside numbers of a thousand they differ by next to nothing, wherever they do.
draw = np.random.default_rng(69)
SIX_DECADES = (draw.choice([-1, 1], (7, 9)) * 10.0 ** draw.uniform(-3, 3, (7, 9))).astype("f")
both = pytest.mark.parametrize("inputs", [NEARLY_ONE, SIX_DECADES], ids=["near", "six decades"])


def reference(x):
    return {
        "erf": tf.nn.gelu(x),
        "tanh": tf.nn.gelu(x, approximate=True),
        "silu": tf.nn.silu(x),
        "sigmoid": tf.sigmoid(x),
    }


def candidate(x, tanh=F.tanh):
    x = chainer.as_variable(x)
    inner = (2 / np.pi) ** 0.5 * (x + 0.044715 * x**3)
    return {
        "erf": 0.5 * x * (1 + F.erf(x / 2**0.5)),
        "tanh": 0.5 * x * (1 + tanh(inner)),
        "silu": x * F.sigmoid(x),
        "sigmoid": F.sigmoid(x),
    }


def compare(model, inputs=NEARLY_ONE) -> Report:
    return parity.compare(
        parity.wrap(reference, framework="tensorflow"),
        parity.wrap(model, framework="chainer"),
        inputs=inputs,
    )


@both
def test_values_taken_for_each_other_are_no_alarm(inputs) -> None:
    report = compare(candidate, inputs)
    assert report.verdict == "parity", str(report)


@both
def test_one_in_the_place_of_the_other_is_a_divergence(inputs) -> None:
    def exact(x):
        found = candidate(x)
        return {**found, "tanh": found["erf"]}

    assert compare(exact, inputs).verdict == "diverged"


@both
@pytest.mark.parametrize("share", [1e-6, 1e-4])
def test_a_small_fault_there_is_a_divergence(share: float, inputs) -> None:
    report = compare(lambda x: candidate(x, lambda inner: F.tanh((1 + share) * inner)), inputs)
    assert report.verdict == "diverged", str(report)


@pytest.mark.parametrize("number", [69, 449])
def test_an_alarm_of_the_many_right_comparisons(number: int) -> None:
    """A repair that harms beside one after which the outputs are nearer.

    A little nearer in the first; in the second it is an output's own, behind the one that harms.
    """
    (pair,) = (one for one in pairs() if one.name == "activations, tensorflow to chainer")
    built = pair.build()
    *_, (style, inputs) = islice(draw_inputs(built.inputs, number + 1, pair.styles), number + 1)
    assert style == "six decades"
    report = replace(built, inputs=inputs).compare()
    assert report.verdict == "parity", str(report)
    for share in (1e-5, 1e-4):  # and a fault there is none of it
        report = compare(lambda x, k=share: candidate(x, lambda i: F.tanh((1 + k) * i)), *inputs)
        assert report.verdict == "diverged", str(report)
