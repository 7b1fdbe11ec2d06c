"""Distributions: probabilities and quantiles undo each other, and coupled samples are exact."""

from __future__ import annotations

import math

import numpy as np
import pytest

from parity.draws.draw import Draw
from parity.draws.families import FAMILIES, couple, fresh

DRAWS = [
    Draw("uniform", {"low": -1.0, "high": 3.0}),
    Draw("normal", {"mean": 2.0, "std": 0.5}),
    Draw("gumbel", {"loc": 0.0, "scale": 1.0}),
    Draw("laplace", {"loc": 1.0, "scale": 2.0}),
    Draw("logistic", {"loc": 0.0, "scale": 1.0}),
    Draw("cauchy", {"loc": 0.0, "scale": 1.0}),
    Draw("exponential", {"rate": 3.0}),
    Draw("truncated-normal", {"mean": 1.0, "std": 2.0, "low": -2.0, "high": 1.0}),
]
DISCRETE = [Draw("bernoulli", {"p": 0.3}), Draw("integers", {"low": 2.0, "high": 7.0})]


@pytest.mark.parametrize("draw", [*DRAWS, *DISCRETE], ids=str)
def test_the_quantile_of_a_samples_probability_is_the_sample(draw):
    random = np.random.default_rng(0)
    samples = fresh(draw, (500,), random)
    family = FAMILIES[draw.name]
    probability = family.probability(samples, draw.parameters, random)
    np.testing.assert_allclose(sum(probability), 1.0, rtol=1e-12)
    again = family.quantile(probability, draw.parameters)
    np.testing.assert_allclose(again, samples, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("source", [*DRAWS, *DISCRETE], ids=str)
@pytest.mark.parametrize("target", [*DRAWS, *DISCRETE], ids=str)
@pytest.mark.parametrize("mirrored", [False, True])
def test_coupled_samples_are_distributed_as_the_target(source, target, mirrored):
    random = np.random.default_rng(1)
    coupled = couple(fresh(source, (4000,), random), source, target, mirrored, random)
    p, _ = FAMILIES[target.name].probability(coupled, target.parameters, random)
    distance = np.abs(np.sort(p) - (np.arange(4000) + 0.5) / 4000).max()
    assert distance < 2.5 / math.sqrt(4000)  # chance leaves more in one of 130,000


def test_tails_keep_their_precision():
    normal = Draw("normal", {"mean": 0.0, "std": 1.0})
    exponential = Draw("exponential", {"rate": 1.0})
    samples = np.array([-8.0, 8.0])
    random = np.random.default_rng(0)
    p, q = FAMILIES["normal"].probability(samples, normal.parameters, random)
    there = FAMILIES["exponential"].quantile((p, q), exponential.parameters)
    back = FAMILIES["exponential"].probability(there, exponential.parameters, random)
    np.testing.assert_allclose(
        FAMILIES["normal"].quantile(back, normal.parameters), samples, rtol=1e-12
    )
