"""Cases for action distributions: parameters, actions and noise, the saturated and bounds included.

A case is what `parity.rl.methods` takes. Its arrays are signed and distinct as an observation's
are; in about half of them some elements are *special*: on a bound of the actions, or one float32
beside it, a scale of 20, a logit of 18.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

from parity import rl
from parity.errors import InputError
from parity.observations.edges import choices
from parity.observations.parts import ArrayPart
from parity.observations.ranges import bounded
from parity.observations.spaces import Batch, checked, different_sizes
from parity.tape import Array

_F = np.float32
_ONE = _F(1)
_LESS_THAN_ONE = float(np.nextafter(_ONE, _F(0)))


@dataclass(frozen=True)
class _Part:
    """One array of a case: its shape without the batch, its range, and its special values."""

    shape: tuple[int, ...]
    low: float
    high: float
    special: tuple[float, ...] = ()
    dtype: str = "float32"

    def draw(self, draw: st.DrawFn, batch: int, special: bool) -> Array:
        found: Array = _plain(self).draw(draw, batch)
        marked: bool = draw(st.booleans()) if special and self.special else False
        if marked:
            picked = choices(draw, found.size, 2 * len(self.special) + 1).reshape(found.shape)
            for number, value in enumerate(self.special, 1):
                found = np.where(picked == number, np.asarray(value, found.dtype), found)
        return found


@cache  # for making it takes longer than drawing from it
def _plain(part: _Part) -> ArrayPart:
    return ArrayPart(bounded(part.low, part.high, part.shape, np.dtype(part.dtype)))


@dataclass(frozen=True)
class _Kind:
    """What the cases of a distribution are made of; the noise is a part, or a tuple of parts."""

    parameters: Mapping[str, _Part]
    action: _Part
    noise: _Part | tuple[_Part, ...]


def _logits(*shape: int, special: float = 9) -> _Part:
    # two of 9 and -9 differ by 18: a softmax is 1 in float32, and in float64 not yet
    return _Part(shape, -4, 4, (special, -special, 0))


def _mean(*shape: int) -> _Part:
    return _Part(shape, -2, 2, (20, -20, 0))


def _std(*shape: int) -> _Part:
    return _Part(shape, 0.1, 2, (1e-3, 1, 20))


def _uniform(*shape: int) -> _Part:
    return _Part(shape, 0, _LESS_THAN_ONE, (0, _LESS_THAN_ONE))


def _normal(*shape: int) -> _Part:
    return _Part(shape, -3, 3, (0,))


def _between(low: float, high: float, *shape: int) -> _Part:
    """Actions between bounds, special ones on them, one float32 inside, and a little more."""
    a, b = _F(low), _F(high)
    off = (b - a) / 32
    ends = (a, np.nextafter(a, b), a + off / 1024, b - off / 1024, np.nextafter(b, a), b)
    return _Part(shape, float(a + off), float(b - off), tuple(map(float, ends)))


def _categorical(size: tuple[int, ...], bounds: Any) -> _Kind:
    (n,) = size
    return _Kind({"logits": _logits(n)}, _Part((), 0, n - 1, dtype="int64"), _uniform())


def _bernoulli(size: tuple[int, ...], bounds: Any) -> _Kind:
    (n,) = size
    return _Kind({"logits": _logits(n, special=18)}, _Part((n,), 0, 1, dtype="int64"), _uniform(n))


def _gaussian(size: tuple[int, ...], bounds: Any) -> _Kind:
    (n,) = size
    parameters = {"mean": _mean(n), "std": _std(n)}
    return _Kind(parameters, _Part((n,), -3, 3, (0, 30, -30)), _normal(n))


def _squashed(size: tuple[int, ...], bounds: tuple[float, float]) -> _Kind:
    return _Kind(_gaussian(size, bounds).parameters, _between(*bounds, *size), _normal(*size))


def _beta(size: tuple[int, ...], bounds: tuple[float, float]) -> _Kind:
    shape = _Part(size, 0.5, 6, (1, 0.2, 50))
    return _Kind({"alpha": shape, "beta": shape}, _between(*bounds, *size), _uniform(*size))


def _mixture(size: tuple[int, ...], bounds: Any) -> _Kind:
    components, n = size
    parameters = {
        "logits": _logits(components),
        "means": _mean(components, n),
        "stds": _std(components, n),
    }
    return _Kind(parameters, _Part((n,), -3, 3, (0, 30, -30)), (_uniform(), _normal(n)))


# By the reference distribution: (its cases, how many sizes it has, the bounds of its actions).
_KINDS: dict[type, tuple[Callable[[tuple[int, ...], Any], _Kind], int, tuple[float, float]]] = {
    rl.Categorical: (_categorical, 1, (0, 0)),
    rl.Bernoulli: (_bernoulli, 1, (0, 0)),
    rl.DiagonalGaussian: (_gaussian, 1, (0, 0)),
    rl.SquashedGaussian: (_squashed, 1, (-1, 1)),
    rl.Beta: (_beta, 1, (0, 1)),
    rl.GaussianMixture: (_mixture, 2, (0, 0)),
}


def distributions(
    kind: type,
    *size: int,
    low: float | None = None,
    high: float | None = None,
    batch: Batch = "any",
    other: bool = True,
    noise: bool = True,
    special: bool = True,
) -> st.SearchStrategy[dict[str, Any]]:
    """Cases of a distribution for `parity.rl.methods`.

    Args:
        kind: a class of `parity.rl`: Categorical, Bernoulli, DiagonalGaussian, SquashedGaussian,
            Beta or GaussianMixture. The parameters have the names that it takes.
        size: how many actions or choices; of a mixture the components, then the actions.
        low, high: bounds of the actions of a SquashedGaussian or a Beta; default their own.
        batch: how many states: a whole number, a strategy, or `"any"`, which differs from the
            other sizes.
        other: whether to draw the parameters of a second distribution, for KL.
        noise: whether to draw noise, for samples: uniform in [0, 1) or unit Gaussian.
        special: whether some elements may be saturated, or on a bound or beside it.

    Returns:
        A strategy of dicts: `parameters`, a dict of float32 (batch, ..); `action`, float32 or
        int64 (batch, ..); `other` as `parameters`; `noise`, float32 (batch, ..) or, of a mixture,
        two of them. It shrinks to counted values (`observations`), none of them special.

    Raises:
        InputError: of this kind no cases can be drawn, or the sizes do not fit it.
    """
    if kind not in _KINDS:
        names = ", ".join(one.__name__ for one in _KINDS)
        raise InputError(
            f"no cases of {getattr(kind, '__name__', kind)!r} can be drawn; of {names} they can. A "
            "case of another distribution is any dict of parameters, action, other and noise."
        )
    build, count, bounds = _KINDS[kind]
    if len(size) != count or not all(isinstance(one, int) and one >= 1 for one in size):
        sizes = "components, actions" if count == 2 else "actions"
        raise InputError(
            f"size is {size}; {kind.__name__} needs {count} whole number{'s' * (count > 1)} from "
            f"1: {sizes}."
        )
    asked = (bounds[0] if low is None else low, bounds[1] if high is None else high)
    if asked != bounds and not bounds[0] < bounds[1]:
        raise InputError(f"the actions of a {kind.__name__} have no bounds; leave low and high.")
    if bounds[0] < bounds[1] and not _F(asked[0]) < _F(asked[1]):
        raise InputError(f"low is {asked[0]} and high is {asked[1]}; low must be below high.")
    if batch is None:
        raise InputError("cases have a batch: give a whole number, or 'any'.")
    if batch == "any":
        batch = different_sizes(set(size))
    drawn = batch if isinstance(batch, st.SearchStrategy) else st.just(batch)
    return _cases(build(size, asked), drawn, other, noise, special)


@st.composite
def _cases(
    draw: st.DrawFn,
    kind: _Kind,
    batch: st.SearchStrategy[Any],
    other: bool,
    noise: bool,
    special: bool,
) -> dict[str, Any]:
    rows = checked(draw(batch))
    if rows is None:
        raise InputError("batch gave None; cases need whole numbers from 1.")

    def parameters() -> dict[str, Array]:
        return {name: part.draw(draw, rows, special) for name, part in kind.parameters.items()}

    case: dict[str, Any] = {
        "parameters": parameters(),
        "action": kind.action.draw(draw, rows, special),
    }
    if other:
        case["other"] = parameters()
    if noise:
        one = kind.noise
        case["noise"] = (
            tuple(part.draw(draw, rows, special) for part in one)
            if isinstance(one, tuple)
            else one.draw(draw, rows, special)
        )
    return case
