"""NumPy's functions that draw, each as a draw of noise and what is made of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from parity.draws import fused
from parity.draws.draw import GUMBEL, NORMAL, UNIFORM, Array, Draw

Given = Mapping[str, Any]

_EXPONENTIAL = Draw("exponential", {"rate": 1.0})
_LAPLACE = Draw("laplace", {"loc": 0.0, "scale": 1.0})
_LOGISTIC = Draw("logistic", {"loc": 0.0, "scale": 1.0})
_CAUCHY = Draw("cauchy", {"loc": 0.0, "scale": 1.0})


@dataclass(frozen=True)
class Kernel:
    """One of NumPy's functions, as a draw of noise and what is made of it.

    Attributes:
        names: of its arguments.
        draw: what the noise is drawn from.
        noise: what noise gave a result.
        make: the result of noise.
    """

    names: tuple[str, ...]
    draw: Callable[[Given], Draw | None]
    noise: Callable[[Array, Given, np.random.Generator], Array]
    make: Callable[[Array, Given], Any]


def _plain(draw: Draw, *names: str) -> Kernel:
    return Kernel(names, lambda _: draw, lambda one, _, __: one, lambda noise, _: noise)


def _scaled(draw: Draw, shift: float | None, scale: float) -> Kernel:
    """`loc`, where there is one, plus `scale` times the noise."""

    def place(given: Given) -> tuple[Any, Any]:
        return (0.0 if shift is None else given.get("loc", shift)), given.get("scale", scale)

    names = ("scale", "size") if shift is None else ("loc", "scale", "size")
    return _placed(draw, names, place)


def _placed(
    draw: Draw, names: tuple[str, ...], place: Callable[[Given], tuple[Any, Any]]
) -> Kernel:
    """What `place` gives first, plus noise times what it gives second."""

    def make(noise: Array, given: Given) -> Any:
        shift, scale = place(given)
        return shift + np.asarray(scale) * noise

    return Kernel(
        names, lambda _: draw, lambda one, given, _: fused.normal_noise(one, *place(given)), make
    )


def _uniform() -> Kernel:
    def place(given: Given) -> tuple[Any, Any]:
        low = given.get("low", 0.0)
        return low, np.asarray(given.get("high", 1.0)) - low

    return _placed(UNIFORM, ("low", "high", "size"), place)


def _integers(high_included: bool = False) -> Kernel:
    def draw(given: Given) -> Draw | None:
        low, high = given["low"], given.get("high")
        low, high = (0, low) if high is None else (low, high)
        if np.ndim(low) or np.ndim(high):
            return None
        more = high_included or bool(given.get("endpoint"))
        return Draw("integers", {"low": float(low), "high": float(high) + more})

    names = ("low", "high", "size", "dtype", "endpoint")
    return Kernel(names, draw, lambda one, _, __: one, lambda noise, _: noise)


def _choice() -> Kernel:
    """`choice` of numbers below n, with probabilities or without."""

    def logits(given: Given) -> Array:
        count = _count(given["a"])
        p = given.get("p")
        weights = np.full(count, 1 / count) if p is None else np.asarray(p, np.float64)
        return fused.log_probabilities(weights)[0]

    def draw(given: Given) -> Draw | None:
        replaced = given.get("replace", True) or given.get("size") is None
        return GUMBEL if replaced and not given.get("axis") else None

    def noise(one: Array, given: Given, random: np.random.Generator) -> Array:
        places = np.asarray(one)
        if np.ndim(given["a"]):
            places = np.asarray((places[..., None] == np.asarray(given["a"])).argmax(axis=-1))
        found = fused.categorical_noise(places.reshape(-1), logits(given), random)
        return found.reshape(*places.shape, -1)

    def make(noise: Array, given: Given) -> Any:
        flat = noise.reshape(-1, noise.shape[-1])
        places = fused.categorical(flat, logits(given))[0].reshape(noise.shape[:-1])
        return places if np.ndim(given["a"]) == 0 else np.asarray(given["a"])[places]

    return Kernel(("a", "size", "replace", "p", "axis", "shuffle"), draw, noise, make)


def _count(items: Any) -> int:
    return int(items) if np.ndim(items) == 0 else len(items)


def _binomial() -> Kernel:
    """Of one trial each; others are kernels of their own."""

    def draw(given: Given) -> Draw | None:
        return UNIFORM if np.all(np.asarray(given["n"]) == 1) else None

    return Kernel(
        ("n", "p", "size"),
        draw,
        lambda one, given, random: fused.bernoulli_noise(np.asarray(one), given["p"], random),
        lambda noise, given: (noise < given["p"]).astype(np.int64),
    )


def _permutation() -> Kernel:
    def draw(given: Given) -> Draw | None:
        count = float(_count(given["x"]))
        return Draw("permutation", {"n": count}) if "axis" not in given else None

    def noise(one: Array, given: Given, _: np.random.Generator) -> Array:
        if np.ndim(given["x"]) == 0:
            return one
        rows = np.asarray(given["x"]).reshape(len(given["x"]), -1)
        made = np.asarray(one).reshape(rows.shape)
        return np.asarray((made[:, None] == rows[None]).all(-1).argmax(-1))

    def make(noise: Array, given: Given) -> Any:
        return noise if np.ndim(given["x"]) == 0 else np.asarray(given["x"])[noise]

    return Kernel(("x", "axis"), draw, noise, make)


_SHARED = {
    "uniform": _uniform(),
    "normal": _scaled(NORMAL, 0.0, 1.0),
    "standard_normal": _plain(NORMAL, "size"),
    "gumbel": _scaled(GUMBEL, 0.0, 1.0),
    "laplace": _scaled(_LAPLACE, 0.0, 1.0),
    "logistic": _scaled(_LOGISTIC, 0.0, 1.0),
    "standard_cauchy": _plain(_CAUCHY, "size"),
    "exponential": _scaled(_EXPONENTIAL, None, 1.0),
    "standard_exponential": _plain(_EXPONENTIAL, "size"),
    "choice": _choice(),
    "binomial": _binomial(),
    "permutation": _permutation(),
    "random": _plain(UNIFORM, "size"),
}
LEGACY = {
    **_SHARED,
    "rand": _plain(UNIFORM),  # whose arguments are lengths
    "randn": _plain(NORMAL),
    **dict.fromkeys(("random_sample", "ranf", "sample"), _plain(UNIFORM, "size")),
    "randint": _integers(),
}
MODERN = {**_SHARED, "integers": _integers()}
# Draws of these are seen, and not followed: they are drawn in a way of their own.
OTHERS = (
    "beta chisquare dirichlet f gamma geometric hypergeometric lognormal logseries multinomial "
    "multivariate_normal negative_binomial noncentral_chisquare noncentral_f pareto poisson power "
    "rayleigh shuffle standard_gamma standard_t triangular vonmises wald weibull zipf"
).split()
