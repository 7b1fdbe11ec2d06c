"""Small faults, each planted in the candidate of a pair, of any size, in several frameworks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.corpus.scenarios.pair import Pair, Side, image_pair, place_of, tagged_lines
from benchmarks.verdict import network
from benchmarks.verdict.network import Numbers

from .clean import deep

DIRECTIONS = (("torch", "keras"), ("keras", "chainer"), ("chainer", "torch"))
IMAGES = ("pixels 0..255", "normal", "mean 100", "sparse", "six decades", "a constant example")
VECTORS = ("normal", "uniform", "sparse", "near-constant", "a constant example", "mean 100")


@dataclass(frozen=True)
class Planted:
    """A kind of fault.

    Attributes:
        build: from reference's and candidate's framework and the fault's size makes the pair;
            size 0 is no fault.
        size: of the fault as it is planted, without a unit.
        unit: what the size says, for people.
        is_at: whether a divergence's two sites are the fault's.
        continuous: whether a smaller size is a smaller fault, so that the smallest one found can
            be looked for.
    """

    name: str
    build: Callable[[str, str, float], Pair]
    size: float
    unit: str
    is_at: Callable[[Any, Any], bool]
    continuous: bool = True
    styles: tuple[str, ...] = IMAGES


def _in_network(
    name: str,
    stage: str,
    size: float,
    unit: str,
    change: Callable[..., Numbers],
    missed_at: str = "",
    **options: Any,
) -> Planted:
    """A fault in one stage; `missed_at` is where a stage is missed that now does nothing."""

    def build(reference: str, candidate: str, size: float) -> Pair:
        right = Numbers()
        wrong = change(right, size) if size else right
        images = np.zeros(network.SHAPE, np.float32)
        return image_pair(network.side(reference, right), network.side(candidate, wrong), images)

    def is_at(reference: Any, candidate: Any) -> bool:
        lines = tagged_lines(network.__file__, f"stage: {stage}")
        missed = tagged_lines(network.__file__, f"stage: {missed_at or stage}")
        return place_of(reference) in lines and place_of(candidate) in lines | missed

    return Planted(name, build, size, unit, is_at, **options)


def _in_layer(
    name: str, size: float, unit: str, layer: str, build: Callable[[str, str, float], Pair]
) -> Planted:
    def is_at(reference: Any, candidate: Any) -> bool:
        return all(site.layer.strip("/").split("/")[-1] == layer for site in (reference, candidate))

    return Planted(name, build, size, unit, is_at, styles=VECTORS)


def _scaled_entry(array: np.ndarray, factor: float) -> np.ndarray:
    """The same array with one entry times `factor`."""
    changed = array.copy()
    flat = changed.reshape(-1)
    flat[flat.size // 2] *= np.float32(factor)
    return changed


def _rounded(array: np.ndarray, unit: float) -> np.ndarray:
    """Rounded to a significand of unit roundoff `unit`: 2**-11 is float16's."""
    significand, exponent = np.frexp(array.astype(np.float64))
    return np.ldexp(np.round(significand / unit) * unit, exponent).astype(np.float32)


def _bias_doubled(n: Numbers, size: float) -> Numbers:
    return n.weighing(dense_bias=_scaled_entry(n.weights["dense_bias"], 1 + size))


def _rounded_weights(n: Numbers, size: float) -> Numbers:
    return n.weighing(second=_rounded(n.weights["second"], size))


WIDE = 1000


def wide_pair(reference: str, candidate: str, size: float) -> Pair:
    """A dense layer of a million weights, one of which is off; tanh, and five outputs."""
    rng = np.random.default_rng(63)
    first = rng.normal(scale=WIDE**-0.5, size=(WIDE, WIDE)).astype(np.float32)
    second = rng.normal(scale=WIDE**-0.5, size=(5, WIDE)).astype(np.float32)
    wrong = _scaled_entry(first, 1 + size)
    inputs = (np.zeros((3, WIDE), np.float32),)
    return Pair(_wide(reference, first, second), _wide(candidate, wrong, second), inputs)


def _wide(framework: str, first: np.ndarray, second: np.ndarray) -> Side:
    biases = np.zeros(len(first), np.float32), np.zeros(len(second), np.float32)
    return deep.stacked(framework, [first, second], biases)


FAULTY_LAYER = 20


def chaotic_pair(reference: str, candidate: str, size: float) -> Pair:
    """40 tanh layers of gain 2.5, in the twentieth of which one weight is off."""
    kernels, biases = deep.chaotic_weights(np.random.default_rng(64), 2.5)
    wrong = list(kernels)
    wrong[FAULTY_LAYER] = _scaled_entry(kernels[FAULTY_LAYER], 1 + size)
    return Pair(
        deep.stacked(reference, kernels, biases),
        deep.stacked(candidate, wrong, biases),
        (np.zeros((3, deep.WIDTH), np.float32),),
    )


KINDS = (
    _in_network(
        "BatchNorm epsilon 1e-6 for 1e-5", "batch_norm", 0.9, "share of 1e-5 that is missing",
        lambda n, size: replace(n, batch_epsilon=1e-5 * (1 - size)),
    ),
    _in_network(
        "LayerNorm epsilon 1e-6 for 1e-5", "layer_norm", 0.9, "share of 1e-5 that is missing",
        lambda n, size: replace(n, layer_epsilon=1e-5 * (1 - size)),
    ),
    _in_layer(
        "one weight of a million off by 1%", 0.01, "relative error of the weight",
        "layer_0", wide_pair,
    ),
    _in_network(
        "GELU by tanh for erf", "gelu", 1.0, "", lambda n, _: replace(n, tanh_gelu=True),
        continuous=False,
    ),
    _in_network(
        "unbiased variance", "variance", 1.0, "degrees of freedom lost, of 9",
        lambda n, size: replace(n, freedom=size),
    ),
    _in_network(
        "one bias doubled", "dense", 1.0, "relative error of the bias", _bias_doubled
    ),
    _in_network(
        "weights rounded to float16", "second", 2.0**-11, "unit roundoff of the weights",
        _rounded_weights,
    ),
    _in_network(
        "leaky slope 0.0101 for 0.01", "leaky", 0.01, "relative error of the slope",
        lambda n, size: replace(n, slope=0.01 * (1 + size)),
    ),
    _in_network(
        "softmax temperature 1.001", "temperature", 0.001, "relative error of the temperature",
        lambda n, size: replace(n, temperature=1 + size),
    ),
    _in_network(
        "pixels over 256 for 255", "pixels", 1 / 255, "relative error of the divisor",
        lambda n, size: replace(n, pixel=255 * (1 + size)),
    ),
    _in_network(
        "a masked action let through", "mask", 1.0, "",
        lambda n, _: replace(n, allowed=(True,) * network.ACTIONS),
        missed_at="temperature", continuous=False,
    ),
    _in_layer(
        "one weight of layer 20 of 40 off by 1%, chaotic", 0.01, "relative error of the weight",
        f"layer_{FAULTY_LAYER}", chaotic_pair,
    ),
)  # fmt: skip
