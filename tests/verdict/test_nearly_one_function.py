"""Two functions that are nearly one on the inputs, so that values are taken for each other."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from types import SimpleNamespace

import numpy as np
import pytest

import parity
from benchmarks.corpus.scenarios.pair import chainer
from benchmarks.verdict.clean.catalogue import pairs
from benchmarks.verdict.inputs import draw as draw_inputs
from parity.diagnosis.final_check import repairs_harm
from parity.report.report import Report
from parity.tape import Site

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


@pytest.mark.parametrize(
    ("residual", "at_output", "found"),
    [
        (5.9e-5, True, 1.2e-9),  # it differs by what was substituted before it
        (1.2e-9, True, None),  # it differs by itself: its repair is the fault's
        (5.9e-5, False, None),  # what follows may have damped it
    ],
)
def test_which_repair_of_an_output_shows_nothing(
    residual: float, at_output: bool, found: float | None
) -> None:
    """Beside one that harms; the outputs differ by 1.2e-9, and by 7.2e-12 once it is repaired."""
    harming, own = Site("Erf", "a"), Site("Mul", "b")
    region = SimpleNamespace(entry=SimpleNamespace(site=own))
    mismatch = SimpleNamespace(reference=region, candidate=region, values=(3, 7))
    tape = SimpleNamespace(before_moves=lambda value: value)
    divergences = [
        SimpleNamespace(reference=one, candidate=one, output_before=1.2e-9, **effect)
        for one, effect in (
            (harming, {"output_after": 5.9e-5, "residual": 6.8e-5}),
            (own, {"output_after": 7.2e-12, "residual": residual}),
        )
    ]
    matched = SimpleNamespace(side=SimpleNamespace(tape=tape))
    outputs = [SimpleNamespace(candidate=7 if at_output else 9)]
    assert repairs_harm(matched, outputs, divergences, [mismatch]) == found
