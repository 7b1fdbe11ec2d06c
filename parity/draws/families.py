"""Distributions with known parameters: from a sample to its probability and back.

A sample's probability is a pair: that of a smaller number and that of a larger one. The smaller of
the two is exact, so that tails keep their precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, TypeGuard

import numpy as np

from parity.draws.draw import Array, Draw, generator

Probability = tuple[Array, Array]
Parameters = Mapping[str, float]

_LEAST = 2.0**-26  # of a probability: half a step of the uniform numbers in float32
_FAR = -5.0  # the power of ten of the smallest probability that is tried on purpose
_SCALES = {  # families that are moved and stretched, with the names of shift and scale
    "normal": ("mean", "std"),
    "gumbel": ("loc", "scale"),
    "laplace": ("loc", "scale"),
    "cauchy": ("loc", "scale"),
    "logistic": ("loc", "scale"),
}
_erfc: Any = np.frompyfunc(math.erfc, 1, 1)
_quantile_of_normal: Callable[..., Any] = np.frompyfunc(NormalDist().inv_cdf, 1, 1)


@dataclass(frozen=True)
class Family:
    """One distribution.

    Attributes:
        probability: of a sample, standardised; of a discrete one any probability that gives it,
            chosen by the generator.
        quantile: the sample with a probability.
        discrete: whether several probabilities give one sample.
    """

    probability: Callable[[Array, Parameters, np.random.Generator], Probability]
    quantile: Callable[[Probability, Parameters], Array]
    discrete: bool = False


def known(draw: Draw | None) -> TypeGuard[Draw]:
    """Whether fresh samples can be drawn, and others' samples be transformed to these."""
    return draw is not None and draw.name in FAMILIES and not draw.reads


def fresh(
    draw: Draw, shape: tuple[int, ...], random: np.random.Generator, far: bool = False
) -> Array:
    """Samples of a known distribution, or a permutation.

    Args:
        far: whether half of them are from its ends, where nothing is impossible: a sample that two
            models of one function would both take.
    """
    if draw.name == "permutation":
        order: Array = random.permutation(int(draw.parameters["n"]))
        return order
    if draw.name == "normal" and not far:  # by quantiles they take most of many runs' time
        return stretched(random.standard_normal(shape), draw)
    p = np.clip(random.random(shape), _LEAST, 1 - _LEAST)
    if far and not FAMILIES[draw.name].discrete:
        tail = 10.0 ** random.uniform(_FAR, 0.0, shape) / 2
        end = np.where(random.random(shape) < 0.5, tail, 1 - tail)
        p = np.where(random.random(shape) < 0.5, p, end)
    return FAMILIES[draw.name].quantile((p, 1 - p), draw.parameters)


def couple(
    samples: Array, source: Draw, target: Draw, mirrored: bool, random: np.random.Generator
) -> Array:
    """Samples of one distribution as those of another that have the same probabilities.

    What comes out is distributed exactly as `target`, so that a model which gets it computes what
    it might have computed by itself.

    Args:
        mirrored: whether the probability of a larger number is used for that of a smaller.
    """
    samples = np.asarray(samples, np.float64)
    if source == target and not mirrored:
        return samples
    if source.name == target.name and source.name in _AFFINE:
        standardised: Array = standard(samples, source)
        if mirrored:
            standardised = _AFFINE[source.name] - standardised
        return stretched(standardised, target)
    p, q = FAMILIES[source.name].probability(samples, source.parameters, random)
    p, q = np.clip(p, _LEAST**2, None), np.clip(q, _LEAST**2, None)
    if not FAMILIES[source.name].discrete:  # float32 uniform numbers may be 0 or 1
        p, q = np.maximum(p, _LEAST), np.maximum(q, _LEAST)
    with np.errstate(all="ignore"):
        return FAMILIES[target.name].quantile((q, p) if mirrored else (p, q), target.parameters)


def between(draw: Draw | None, a: Array, b: Array) -> float:
    """How much probability lies between samples of a law, at most; infinity where none is known."""
    family = FAMILIES.get(draw.name) if draw is not None else None
    if draw is None or family is None or family.discrete or a.shape != b.shape:
        return math.inf
    first, second = (
        family.probability(one.astype(np.float64), draw.parameters, generator(0)) for one in (a, b)
    )
    # either tail's is exact where that tail is the smaller one
    distance = np.minimum(*(np.abs(np.subtract(*both)) for both in zip(first, second, strict=True)))
    return float(distance.max(initial=0.0))


def can_be_moved(draw: Draw) -> bool:
    """Whether samples of a family's laws are each other's, moved and stretched."""
    return (draw.name == "uniform" or draw.name in _SCALES) and _place(draw)[1] > 0


def standard(samples: Array, draw: Draw) -> Array:
    """Samples of a law that can be moved, as those of its family with shift 0 and scale 1."""
    shift, scale = _place(draw)
    return (samples - shift) / scale if scale else samples


def stretched(samples: Array, draw: Draw) -> Array:
    """The other way round."""
    shift, scale = _place(draw)
    return shift + scale * samples


def _place(draw: Draw) -> tuple[float, float]:
    if draw.name == "uniform":
        return draw.parameters["low"], draw.parameters["high"] - draw.parameters["low"]
    shift, scale = _SCALES[draw.name]
    return draw.parameters[shift], draw.parameters[scale]


# Families in which a mirrored sample is this less the standardised one.
_AFFINE = {"uniform": 1.0, "normal": 0.0, "laplace": 0.0, "cauchy": 0.0, "logistic": 0.0}


def _upper_tail(z: Array) -> Array:
    return 0.5 * np.asarray(_erfc(np.asarray(z, np.float64) / math.sqrt(2)), np.float64)


def _normal_quantile(probability: Probability) -> Array:
    p, q = (np.clip(one, 1e-300, 1 - 1e-16) for one in probability)
    lower = np.minimum(p, q)
    z = np.asarray(_quantile_of_normal(lower), np.float64)
    return np.where(p <= q, z, -z)


def _scaled(
    tails: Callable[[Array], Probability], quantile: Callable[[Probability], Array], name: str
) -> Family:
    def probability(x: Array, given: Parameters, random: np.random.Generator) -> Probability:
        return tails(standard(x, Draw(name, given)))

    return Family(probability, lambda p, given: stretched(quantile(p), Draw(name, given)))


def _discrete(p: Array, width: Array, random: np.random.Generator) -> Probability:
    """Probabilities within the step of a discrete sample that begins at `p`."""
    place = p + width * random.uniform(1e-9, 1 - 1e-9, p.shape)
    return place, 1 - place


def _bernoulli(x: Array, given: Parameters, random: np.random.Generator) -> Probability:
    p, hit = given["p"], x > 0.5
    return _discrete(np.where(hit, 1 - p, 0.0), np.where(hit, p, 1 - p), random)


def _integers(x: Array, given: Parameters, random: np.random.Generator) -> Probability:
    count = given["high"] - given["low"]
    return _discrete((x - given["low"]) / count, np.full(x.shape, 1 / count), random)


def _integer_quantile(probability: Probability, given: Parameters) -> Array:
    count = given["high"] - given["low"]
    floor: Array = np.floor(given["low"] + probability[0] * count)
    return np.minimum(floor, given["high"] - 1)


def _exponential(x: Array, given: Parameters, random: np.random.Generator) -> Probability:
    return -np.expm1(-given["rate"] * x), np.exp(-given["rate"] * x)


def _exponential_quantile(probability: Probability, given: Parameters) -> Array:
    p, q = probability
    standard: Array = np.where(p < 0.5, -np.log1p(-np.minimum(p, 0.5)), -np.log(q))
    return np.divide(standard, given["rate"])


def _gumbel_tails(z: Array) -> Probability:
    with np.errstate(over="ignore"):
        e = np.exp(-z)
    return np.exp(-e), -np.expm1(-e)


def _gumbel_quantile(probability: Probability) -> Array:
    p, q = probability
    e: Array = np.where(p < 0.5, -np.log(p), -np.log1p(-np.minimum(q, 0.5)))
    return -np.log(e)


def _truncated(x: Array, given: Parameters, random: np.random.Generator) -> Probability:
    z = (x - given["mean"]) / given["std"]
    a, b = _upper_tail(np.array(-given["low"])), _upper_tail(np.array(-given["high"]))
    p = (_upper_tail(-z) - a) / (b - a)
    q = (_upper_tail(z) - (1 - b)) / (b - a)
    return p, q


def _truncated_quantile(probability: Probability, given: Parameters) -> Array:
    a, b = _upper_tail(np.array(-given["low"])), _upper_tail(np.array(-given["high"]))
    p, q = probability
    z = _normal_quantile((a + p * (b - a), (1 - b) + q * (b - a)))
    return given["mean"] + given["std"] * z


def _laplace_quantile(probability: Probability) -> Array:
    p, q = probability
    return np.where(p < q, np.log(2 * p), -np.log(2 * q))


FAMILIES: dict[str, Family] = {
    "uniform": Family(
        lambda x, given, _: (
            (x - given["low"]) / (given["high"] - given["low"]),
            (given["high"] - x) / (given["high"] - given["low"]),
        ),
        lambda p, given: given["low"] + (given["high"] - given["low"]) * p[0],
    ),
    "normal": _scaled(lambda z: (_upper_tail(-z), _upper_tail(z)), _normal_quantile, "normal"),
    "gumbel": _scaled(_gumbel_tails, _gumbel_quantile, "gumbel"),
    "laplace": _scaled(
        lambda z: (
            np.where(z < 0, 0.5 * np.exp(-np.abs(z)), 1 - 0.5 * np.exp(-np.abs(z))),
            np.where(z > 0, 0.5 * np.exp(-np.abs(z)), 1 - 0.5 * np.exp(-np.abs(z))),
        ),
        _laplace_quantile,
        "laplace",
    ),
    "logistic": _scaled(
        lambda z: (1 / (1 + np.exp(-z)), 1 / (1 + np.exp(z))),
        lambda p: np.log(p[0]) - np.log(p[1]),
        "logistic",
    ),
    "cauchy": _scaled(
        lambda z: (np.arctan2(1, -z) / np.pi, np.arctan2(1, z) / np.pi),
        lambda p: np.where(p[0] < p[1], -1 / np.tan(np.pi * p[0]), 1 / np.tan(np.pi * p[1])),
        "cauchy",
    ),
    "exponential": Family(_exponential, _exponential_quantile),
    "truncated-normal": Family(_truncated, _truncated_quantile),
    "bernoulli": Family(
        _bernoulli, lambda p, given: (p[1] < given["p"]).astype(np.float64), discrete=True
    ),
    "integers": Family(_integers, _integer_quantile, discrete=True),
}
