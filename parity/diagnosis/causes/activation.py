"""Another activation, another variant or slope of it, one too few or one too many."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Edit, Explanation, cause
from parity.diagnosis.causes._parts import (
    Inside,
    as_it_is,
    inside_candidate,
    inside_reference,
)
from parity.diagnosis.causes._sources import is_bound, near, unchanging
from parity.diagnosis.normalisation import plain
from parity.diagnosis.trial import Trial
from parity.diagnosis.view import RegionView
from parity.tape import Array, Op

_SAMPLE = 512
_FEW = 16
_MOST_OPS = 40  # more are not one layer's activation, but a loop
_PAIRS = 60  # of values between which an activation is looked for
_FLAT = 1e-3  # a smaller slope of a hard sigmoid

_CUT_OFF = ("hardtanh", "relu6")  # clips, of which the other model may have one at other bounds

_erf = np.vectorize(math.erf, otypes=[np.float64])


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)), in float64."""
    result: Array = 0.5 * (1 + np.tanh(x / 2))
    return result


def softplus(x: Array) -> Array:
    """Logarithm of 1 + exp(x), in float64."""
    result: Array = np.logaddexp(0.0, x)
    return result


def _gelu_tanh(x: Array) -> Array:
    result: Array = 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return result


def _elu(x: Array) -> Array:
    result: Array = np.where(x > 0, x, np.expm1(np.minimum(x, 0)))
    return result


_SELU = (1.0507009873554805, 1.6732632423543772)  # Klambauer et al. 2017


def _selu(x: Array) -> Array:
    scale, alpha = _SELU
    result: Array = scale * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))
    return result


# x -> y, all in float64; the simplest first.
_FIXED: Mapping[str, Callable[[Array], Array]] = {
    "relu": lambda x: np.maximum(x, 0.0),
    "tanh": np.tanh,
    "sigmoid": sigmoid,
    "relu6": lambda x: np.clip(x, 0.0, 6.0),
    "elu": _elu,
    "selu": _selu,
    "softplus": softplus,
    "silu": lambda x: x * sigmoid(x),
    "gelu erf": lambda x: 0.5 * x * (1 + _erf(x / math.sqrt(2))),
    "gelu tanh": _gelu_tanh,
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

    def alike(self, other: Curve) -> bool:
        """Whether two curves are one but for a slope rounded to float32, and where they are cut."""
        if self.slope is None or other.slope is None:
            return self == other
        return self.name == other.name and math.isclose(self.slope, other.slope, rel_tol=1e-7)

    def __call__(self, x: Array) -> Array:
        if self.slope is None:
            return _FIXED[self.name](x)
        if self.name == "leaky_relu":
            result: Array = np.where(x >= 0, x, self.slope * x)
        elif self.name == "elu":
            result = np.where(x > 0, x, self.slope * np.expm1(np.minimum(x, 0)))
        else:
            result = np.clip(self.slope * x + 0.5, *self.within)
            result = x * result if self.name == "hard_swish" else result
        return result


def recognise(x: Array, y: Array) -> Curve | None:
    """The curve on which all points lie, if it is one that is known."""
    if not (np.isfinite(x).all() and np.isfinite(y).all()) or _near(x, y):
        return None
    if x.max(initial=0.0) - x.min(initial=0.0) < 1e-3:
        return None
    few = slice(None, None, max(1, x.size // _FEW))  # most curves are ruled out by few points
    for curve in chain(map(Curve, _FIXED), _with_slope(x, y)):
        if _near(curve(x[few]), y[few]) and _near(curve(x), y):
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
            if abs(slope) < _FLAT:
                continue  # half of x, or a half: no activation
            yield Curve(name, slope)
            if name == "hard_sigmoid":
                yield Curve(name, slope, (-math.inf, 1.0))
                yield Curve(name, slope, (0.0, math.inf))


def _near(a: Array, b: Array) -> bool:
    return bool((np.abs(a - b) <= 1e-7 + 1e-6 * np.abs(b)).all())


@cause("activation-kind", "gelu-variant", "leaky-slope", "hard-sigmoid-slope", enclosures=True)
def activation_kind(case: Case) -> Iterator[Explanation]:
    """Another activation, another approximation of GELU, or another slope.

    Looks like: values that differ on one side of zero only (slope, ReLU against ELU), by at most
        5e-4 (GELU by tanh or erf), or where they should saturate.
    Proof: with the reference's curve the inputs give the reference's values, with the candidate's
        the candidate's; slopes are solved for.
    """
    points = sample_of(case)
    if points is None:
        return
    x, ours, theirs = points
    a, b = recognise(x, ours), recognise(x, theirs)
    if a is None or b is None or a.alike(b):
        return
    kind, parameters = _stated(a, b)
    ((name, (was, now)),) = parameters.items()
    keywords = {
        "leaky-slope": ("alpha", "slope", "negative_slope"),
        "gelu-variant": ("approximate",),
    }
    edit = None
    if kind == "leaky-slope":
        edit = Edit((), keywords[kind], repr(was))
    yield Explanation(
        kind,
        f"{b.name.split()[0]} with {name} {now}; the reference has {was}"
        if name == "slope" or kind == "gelu-variant"
        else f"{now} in place of {was}",
        lambda trial: b(_input(case, trial)),
        lambda trial: a(_input(case, trial)),
        parameters,
        edit,
    )


def _stated(a: Curve, b: Curve) -> tuple[str, dict[str, tuple[object, object]]]:
    gelu = [curve.name.split() for curve in (a, b)]
    if gelu[0][0] == gelu[1][0] == "gelu":
        return "gelu-variant", {"kind": (gelu[0][1], gelu[1][1])}
    if a.name == b.name == "leaky_relu":
        return "leaky-slope", {"slope": (a.slope, b.slope)}
    if a.name == b.name and a.name.startswith("hard_"):
        return "hard-sigmoid-slope", {"slope": (a.slope, b.slope)}
    if a.name == b.name:
        return "activation-kind", {"alpha": (a.slope or 1.0, b.slope or 1.0)}
    return "activation-kind", {"kind": (a.name, b.name)}


def sample_of(case: Case) -> tuple[Array, Array, Array] | None:
    """Some x with both sides' y, from the user's inputs and from others spread wide."""
    first = case.first
    inputs = first.inputs
    if not inputs or any(not np.array_equal(inputs[0], other) for other in inputs[1:]):
        return None
    if inputs[0].size != first.reference.size or first.candidate.shape != first.reference.shape:
        return None
    trials = [first, case.wide]
    some = _some(first.x.size)
    return (
        np.concatenate([_input(case, trial).ravel()[some] for trial in trials]),
        np.concatenate([trial.reference.ravel()[some] for trial in trials]),
        np.concatenate([trial.candidate.ravel()[some] for trial in trials]),
    )


def _input(case: Case, trial: Trial) -> Array:
    """What enters, in the shape of the end: a flatten may lie between."""
    return trial.x.reshape(trial.reference.shape)


def _some(size: int) -> slice:
    return slice(None, None, max(1, size // _SAMPLE))


@cause("activation-missing", tier=0, enclosures=True)
def activation_missing(case: Case) -> Iterator[Explanation]:
    """An activation is left out.

    Looks like: values below zero where there should be none, or unbounded ones.
    Proof: the reference's own operations without the activation give the candidate's value.
    """
    if len(case.reference.ops) > _MOST_OPS:
        return
    for curve, before, after in _curves(case, case.reference, case.reference_values):
        without = _without(case.reference_values, before, after)
        if _gives(case.run_reference(case.first.fed, without(case.first)), case.first.candidate):
            yield Explanation(
                "activation-missing",
                f"no {curve.name}, which the reference applies"
                + _of_other_bounds(curve, inside_candidate(case)),
                lambda trial, without=without: case.run_reference(trial.fed, without(trial)),  # type: ignore[misc]
                parameters={"activation": (curve.name, None)},
            )
            return


@cause("activation-extra", tier=0, enclosures=True)
def activation_extra(case: Case) -> Iterator[Explanation]:
    """An activation is applied that the reference has not.

    Looks like: no values below zero, or none beyond 1, where the reference has some.
    Proof: the candidate's own operations without the activation give the reference's value.
    """
    if len(case.candidate.ops) > _MOST_OPS:
        return
    for curve, before, after in _curves(case, case.candidate, case.candidate_values):
        without = _without(case.candidate_values, before, after)
        if _gives(case.run_candidate(case.first.fed, without(case.first)), case.first.reference):
            yield Explanation(
                "activation-extra",
                f"{curve.name} is applied, the reference has no activation here"
                + _of_other_bounds(curve, inside_reference(case)),
                as_it_is,
                lambda trial, without=without: case.run_candidate(trial.fed, without(trial)),  # type: ignore[misc]
                {"activation": (None, curve.name)},
            )
            return


def _of_other_bounds(curve: Curve, other: Inside) -> str:
    """What the other model has there instead of a clip: one with bounds that nothing reaches."""
    if curve.name not in _CUT_OFF:
        return ""
    idle = (op for op in near(other) if is_bound(op) and any(unchanging(other, [op])))
    clip = next(idle, None)
    return f"; the other model's {clip.kind} there cuts nothing off" if clip else ""


def curves_of(case: Case, view: RegionView, values: Values) -> list[Curve]:
    """The known curves in a region."""
    return [curve for curve, _, _ in _curves(case, view, values)]


Values = Callable[[Mapping[int, Array], Sequence[int]], list[Array]]


def _without(values: Values, before: int, after: int) -> Callable[[Trial], dict[int, Array]]:
    return lambda trial: {after: values(trial.fed, [before])[0]}


def _gives(found: Array, wanted: Array) -> bool:
    return found.shape == wanted.shape and bool(np.allclose(found, wanted, 1e-5, 1e-7))


def _curves(case: Case, view: RegionView, values: Values) -> Iterator[tuple[Curve, int, int]]:
    """Pairs of values of a region of which the second is a known curve of the first."""
    pairs = list(_candidates(view))[:_PAIRS]
    if not pairs:
        return
    ids = sorted({value for pair in pairs for value in pair})
    trials = case.first, case.wide
    runs = [dict(zip(ids, values(trial.fed, ids), strict=True)) for trial in trials]
    for before, after in pairs:
        some = _some(runs[0][before].size)
        x, y = (
            np.concatenate([run[value].ravel()[some] for run in runs]) for value in (before, after)
        )
        if x.shape != y.shape:  # a selection, of fewer numbers on other inputs
            continue
        curve = recognise(x, y)
        if curve is not None:
            yield curve, before, after


def _candidates(view: RegionView) -> Iterator[tuple[int, int]]:
    """Values with another of the same shape on which they depend, the nearest first."""
    tape = view.tape
    inside = {op.index: op for op in view.ops}
    for op in view.ops:
        if op.role == "move" or op.static:
            continue
        for after in op.outputs[:1]:
            for before in _behind(op, inside):
                value = tape.values[before]
                if not value.dtype.startswith(("float", "bfloat")):
                    continue
                producer = tape.producer(before)
                fixed = producer.static if producer is not None else value.kind != "input"
                if not fixed and value.shape == tape.values[after].shape and value.size > 1:
                    yield before, after


def _behind(op: Op, inside: Mapping[int, Op]) -> Iterator[int]:
    """Values that an operation is computed from, within a few operations."""
    made = {value: other for other in inside.values() for value in other.outputs}
    seen: list[int] = []
    stack = [(value, 0) for value in op.inputs]
    while stack:
        value, depth = stack.pop(0)
        if value in seen:
            continue
        seen.append(value)
        maker = made.get(value)
        if maker is not None and depth < 8:
            stack.extend((one, depth + 1) for one in maker.inputs)
    yield from seen
