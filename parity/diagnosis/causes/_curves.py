"""Activations as curves, and which of them the points of two values lie on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

import numpy as np

from parity.diagnosis.causes._limits import CURVE_POINTS_AT_FIRST, FLAT
from parity.diagnosis.normalisation import plain
from parity.tape import Array

# below zero other functions than above: of one half alone any of them may be meant, and others
_OF_TWO_PARTS = ("relu", "relu6", "elu", "selu", "softsign", "abs")

_erf = np.vectorize(math.erf, otypes=[np.float64])


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)), in float64."""
    result: Array = 0.5 * (1 + np.tanh(x / 2))
    return result


def softplus(x: Array) -> Array:
    """Logarithm of 1 + exp(x), in float64."""
    result: Array = np.logaddexp(0.0, x)
    return result


def _elu(x: Array, alpha: float = 1.0) -> Array:
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


# x -> y, all in float64; the simplest first.
_FIXED: Mapping[str, Callable[[Array], Array]] = {
    "relu": lambda x: np.maximum(x, 0.0),
    "tanh": np.tanh,
    "sigmoid": sigmoid,
    "relu6": lambda x: np.clip(x, 0.0, 6.0),
    "elu": _elu,
    # Klambauer et al. 2017
    "selu": lambda x: 1.0507009873554805 * _elu(x, 1.6732632423543772),
    "softplus": softplus,
    "silu": lambda x: x * sigmoid(x),
    "gelu erf": lambda x: 0.5 * x * (1 + _erf(x / math.sqrt(2))),
    "gelu tanh": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "gelu sigmoid": lambda x: x * sigmoid(1.702 * x),
    "exp": np.exp,
    "softsign": lambda x: x / (1 + np.abs(x)),
    "hardtanh": lambda x: np.clip(x, -1.0, 1.0),
    "mish": lambda x: x * np.tanh(softplus(x)),
    "log_sigmoid": lambda x: -softplus(-x),
    "abs": np.abs,
    "square": np.square,
    "sin": np.sin,
    "cos": np.cos,
}


@dataclass(frozen=True)
class Curve:
    """A function of one number.

    Attributes:
        name: "gelu erf", "leaky_relu".
        slope: of those that have one: below zero of a leaky ReLU, in the middle of a hard sigmoid.
        within: where a hard sigmoid is cut off; where only one of its two clips is in view, the
            other end is open.
    """

    name: str
    slope: float | None = None
    within: tuple[float, float] = (0.0, 1.0)

    def __str__(self) -> str:
        return self.name if self.slope is None else f"{self.name} of slope {self.slope:.4g}"

    def alike(self, other: Curve) -> bool:
        """Whether two curves are one but for a slope rounded to float32, and where they are cut."""
        if self.slope is None or other.slope is None:
            return self == other
        return self.name == other.name and math.isclose(self.slope, other.slope, rel_tol=1e-7)

    def __call__(self, x: Array) -> Array:
        if self.slope is None:
            return _FIXED[self.name](x)
        if self.name == "leaky_relu":
            return np.where(x >= 0, x, self.slope * x)
        if self.name == "elu":
            return _elu(x, self.slope)
        gate: Array = np.clip(self.slope * x + 0.5, *self.within)
        return x * gate if self.name == "hard_swish" else gate


def recognise(x: Array, y: Array) -> Curve | None:
    """The curve on which all points lie, if it is one that is known."""
    if not (np.isfinite(x).all() and np.isfinite(y).all()) or _near(x, y):
        return None
    if x.max(initial=0.0) - x.min(initial=0.0) < 1e-3:
        return None
    whole = bool((x < 0).any() and (x > 0).any())
    few = slice(None, None, max(1, x.size // CURVE_POINTS_AT_FIRST))
    for curve in chain(map(Curve, _FIXED), _with_slope(x, y)):
        if (whole or curve.name not in _OF_TWO_PARTS) and _near(curve(x[few]), y[few]):
            if _near(curve(x), y):
                return curve
    return None


def _with_slope(x: Array, y: Array) -> Iterator[Curve]:
    """Curves with a slope, which is solved for."""
    low = x < -1e-6
    if not low.any() or not (x > 0).any():
        return
    least = int(np.argmin(x))
    yield Curve("leaky_relu", plain(float(y[least] / x[least])))
    yield Curve("elu", plain(float(y[least] / np.expm1(x[least]))))
    for name, gate in (("hard_sigmoid", y), ("hard_swish", y / x)):
        inside = (gate > 1e-3) & (gate < 1 - 1e-3) & (np.abs(x) > 1e-3)
        if inside.any():
            slopes = (gate[inside] - 0.5) / x[inside]
            slope = plain(float(np.median(slopes)))
            if abs(slope) < FLAT:
                continue  # half of x, or a half: no activation
            yield Curve(name, slope)
            if name == "hard_sigmoid":
                yield Curve(name, slope, (-math.inf, 1.0))
                yield Curve(name, slope, (0.0, math.inf))


def _near(a: Array, b: Array) -> bool:
    return bool((np.abs(a - b) <= 1e-7 + 1e-6 * np.abs(b)).all())
