"""Attention with another scale, other masks or none, and positions that are counted otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, Predict, cause
from parity.diagnosis.causes._attested import computes
from parity.diagnosis.causes._masks import HIDDEN, is_mask_of, masks_of
from parity.diagnosis.normalisation import plain
from parity.diagnosis.trial import Trial
from parity.diagnosis.view import RegionView, plain_kind
from parity.tape import Array, Tape
from parity.walk_once import Once

_STEPS_BACK = 12


# --- scale ----------------------------------------------------------------------------------------


@cause("attention-scale")
def attention_scale(case: Case) -> Iterator[Explanation]:
    """Attention's scores are scaled by another factor, twice, or not at all.

    Looks like: attention that is too sharp or too flat; with query and key of d numbers the factor
        is 1 / sqrt(d).
    Proof: the scores, which are products of two computed values, times the reference's factor (and
        through softmax, if that is in view) are the reference's value, times the candidate's the
        candidate's; both are solved for.
    """
    first = case.first
    if len(first.inputs) != 1 or first.x.size != first.reference.size or first.x.ndim < 2:
        return
    width = _contracted(case.reference.tape, case.entering[0])
    if width is None or first.candidate.shape != first.reference.shape:
        return
    x = first.x.reshape(first.reference.shape)
    for form, solve in ((_scaled, _factor), (_softmax_scaled, _factor_in_softmax)):
        ours, theirs = solve(x, first.reference), solve(x, first.candidate)
        if ours is None or theirs is None or abs(theirs - ours) <= 1e-6 * abs(ours):
            continue
        usual = width**-0.5
        if not np.isclose([ours, theirs, theirs / ours, ours / theirs], usual, 1e-3).any():
            continue  # any other factor is a temperature
        yield Explanation(
            "attention-scale",
            f"scores times {theirs:.6g}, the reference's times {ours:.6g}"
            f"; 1 / sqrt({width}) is {width**-0.5:.6g}",
            _of_scores(form, theirs),
            _of_scores(form, ours),
            {"scale": (ours, theirs)},
            cost=-1,
        )
        return


def _of_scores(form: Callable[[Array, float], Array], factor: float) -> Predict:
    return lambda trial: form(trial.x.reshape(trial.reference.shape), factor)


def _scaled(x: Array, factor: float) -> Array:
    return x * factor


def _softmax_scaled(x: Array, factor: float) -> Array:
    return softmax(x * factor)


def softmax(x: Array) -> Array:
    """exp(x) / sum(exp(x)) over the last axis, in float64; 0 for what is masked."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    result: Array = e / e.sum(axis=-1, keepdims=True)
    return result


def _factor(x: Array, y: Array) -> float | None:
    squares = float(np.vdot(x, x))
    factor = float(np.vdot(x, y)) / squares if squares > 0 else 0.0
    fits = bool(np.abs(y - factor * x).max() <= 1e-7 * abs(factor) * float(np.abs(x).max()))
    return plain(factor) if fits and factor > 0 else None


def _factor_in_softmax(x: Array, p: Array) -> float | None:
    """The factor from the logarithms of probabilities, each less its row's mean."""
    if not (p > 0).all() or not np.allclose(p.sum(axis=-1), 1.0, atol=1e-6):
        return None
    logarithm = np.log(p)
    return _factor(
        x - x.mean(axis=-1, keepdims=True), logarithm - logarithm.mean(axis=-1, keepdims=True)
    )


def _contracted(tape: Tape, value: int) -> int | None:
    """The length of the axis over which two computed values were multiplied to give a value."""
    for _ in range(_STEPS_BACK):
        op = tape.producer(value)
        if op is None or op.static:
            return None
        floating = [one for one in op.inputs if tape.values[one].dtype.startswith(("float", "bf"))]
        live = [one for one in floating if tape.is_live(one)]
        if len(live) == 2 and op.role == "compute":
            return _shared_axis(
                tape.values[live[0]].shape, tape.values[live[1]].shape, tape.values[value].shape
            )
        if not live or (op.role == "compute" and len(live) != 1):
            return None
        value = live[0]
    return None


def _shared_axis(a: tuple[int, ...], b: tuple[int, ...], product: tuple[int, ...]) -> int | None:
    """By sizes: of the axes that the product has not, the contracted one was in both."""
    gone = Counter(a) + Counter(b) - Counter(product)
    twice = [length for length, count in gone.items() if count >= 2 and length in a and length in b]
    at_ends = [length for length in twice if length in a[-2:] and length in b[-2:]]
    return min(at_ends or twice, default=None)


# --- masks ----------------------------------------------------------------------------------------


@cause("attention-mask-missing", "sequence-mask")
def mask_missing(case: Case) -> Iterator[Explanation]:
    """A mask is not applied: attention sees the future or the padding, a mean takes the padding in.

    Looks like: values that change with what is in the padding, or at steps that are yet to come.
    Proof: the reference's own operations with nothing masked give the candidate's value.
    """
    for values in _unmasked(case):
        found = case.run_reference(case.first.given, values)
        if not same_numbers(found, case.first.candidate):
            continue
        attends = any("softmax" in kind for kind in case.reference.kinds) or any(
            "softmax" in op.kind.lower() for op in case.reference.readers(2)
        )
        tiny = _tiny_mask(case) if attends else None
        if tiny is not None:
            yield Explanation(
                "attention-mask-value",
                f"what is masked gets {tiny:g} added, which does not hide it",
                lambda trial, values=values: case.run_reference(trial.given, values),  # type: ignore[misc]
                parameters={"value": (-np.inf, tiny)},
            )
            return
        later = attends and _masks_behind(case)
        yield Explanation(
            "attention-mask-missing" if attends else "sequence-mask",
            "what the reference masks before the softmax is not masked there, but behind it"
            if later
            else "what the reference masks here is not masked",
            lambda trial, values=values: case.run_reference(trial.given, values),  # type: ignore[misc]
            parameters={"masked": (True, False)},
            unproved=_masked_before(case),
            cost=1 if attends else 0,  # a number too small to hide anything is a mask, too
        )
        return


def _masked_before(case: Case) -> str:
    """Why a mask may not be what is missing: the candidate has masked what it reads here."""
    tape, run = case.candidate.tape, case.repaired.side.run
    for value in case.candidate_entering:
        op = computes(tape, value)
        if op is not None and any(
            not tape.is_live(one) and is_mask_of(run.array(one)) for one in op.inputs
        ):
            return f"the candidate's {op.kind} masks what is read here"
    return ""


def _masks_behind(case: Case) -> bool:
    """Whether what the candidate's softmax gives is multiplied by a mask, or filled by one."""
    tape, run = case.candidate.tape, case.repaired.side.run
    softmaxes = (op for op in tape.ops if "softmax" in op.kind.lower() and not op.static)
    ends = {case.candidate.end, *(v for op in case.candidate.ops for v in op.outputs)}
    for op in softmaxes:
        if ends.isdisjoint((*op.inputs, *op.outputs)):
            continue
        todo = Once(op.outputs)
        for value in todo:
            for index in tape.consumers[value]:
                reader = tape.ops[index]
                if reader.role == "move" and len(reader.inputs) == 1:
                    todo.add(reader.outputs)
                others = (v for v in reader.inputs if not tape.is_live(v))
                if any(tape.values[v].size > 1 and is_mask_of(run.array(v)) for v in others):
                    return True
    return False


def _unmasked(case: Case) -> Iterator[Mapping[int, Array]]:
    """Values for the reference's masks that mask nothing."""
    masks = masks_of(case, case.reference)
    for choice in (1, 0):
        values: dict[int, Array] = {}
        for value, array in masks:
            if array.dtype.kind == "f" and array.min() <= HIDDEN:
                values[value] = np.zeros_like(array)
            elif not choice and _multiplies(case.reference, value):
                continue  # a product with zeros hides all of it
            else:
                values[value] = np.full_like(array, choice)
        if values:
            yield values


def _multiplies(view: RegionView, value: int) -> bool:
    return any("mul" in plain_kind(op) for op in view.ops if value in op.inputs)


def _tiny_mask(case: Case) -> float | None:
    """A number that the candidate adds where it masks, too small to hide anything."""
    tape = case.candidate.tape
    value = case.candidate_entering[0] if case.candidate_entering else case.candidate.end
    for _ in range(4):
        op = tape.producer(value)
        if op is None:
            return None
        for one in op.inputs:
            if tape.is_live(one) or tape.values[one].size < 2:
                continue
            array = case.repaired.side.run.array(one)
            different = np.unique(array) if array.dtype.kind == "f" else np.empty(0)
            if different.size == 2 and 0.0 in different:
                return plain(float(different[different != 0][0]))
        live = [one for one in op.inputs if tape.is_live(one)]
        if not live:
            return None
        value = live[0]
    return None


@cause("attention-mask-value", "attention-mask-missing")
def mask_value(case: Case) -> Iterator[Explanation]:
    """What is masked gets a number that does not hide it: -1e4, 1e-9, or 0 by a product.

    Looks like: probabilities above 0 where there should be none; in half precision NaN.
    Proof: the scores with one number added or put where they are masked are the reference's scores,
        with another the candidate's, or their softmax the probabilities.
    """
    first = case.first
    if len(first.inputs) != 1 or first.x.shape != first.reference.shape or first.x.ndim < 2:
        return
    if first.candidate.shape != first.reference.shape:
        return
    through = any("softmax" in kind for kind in (*case.reference.kinds, *case.candidate.kinds))
    hidden = _hidden(first, through)
    if not hidden.any() or hidden.all() or first.x.min() <= HIDDEN:
        return
    ours = _put(first.x, first.reference, hidden, through)
    theirs = _put(first.x, first.candidate, hidden, through)
    if ours is None or theirs is None or ours == theirs:
        return
    if min(ours.value, theirs.value) > HIDDEN and not through:
        attends = any("softmax" in op.kind.lower() for op in case.reference.readers(2))
        if not attends or max(ours.value, theirs.value) > 0:
            return
    if ours.hides and theirs.hides:
        return
    missing = [one.adds and not one.value for one in (ours, theirs)]
    words = (
        (
            "what the reference masks here is not masked",
            "some is masked here that the reference does not mask",
        )[missing[0]]
        if any(missing)
        else f"scores that are masked are {theirs.told}, the reference's {ours.told}"
    )
    yield Explanation(
        "attention-mask-missing" if any(missing) else "attention-mask-value",
        words,
        _masked(theirs, hidden, through),
        _masked(ours, hidden, through),
        parameters={"masked": (not missing[0], not missing[1])}
        if any(missing)
        else {"value": (ours.value, theirs.value)},
        cost=1 if any(missing) else 0,
    )


@dataclass(frozen=True)
class Put:
    """What is done to the scores that are masked: a number added to them, or put for them."""

    adds: bool
    value: float

    def __call__(self, x: Array) -> Array:
        return x + self.value if self.adds else np.full_like(x, self.value)

    @property
    def hides(self) -> bool:
        return self.value <= HIDDEN

    @property
    def told(self) -> str:
        return f"{'given' if self.adds else 'set to'} {self.value:g}"


def _hidden(trial: Trial, through: bool) -> Array:
    """Where one side masks: probabilities of 0, or scores that are not the other's."""
    sides = trial.reference, trial.candidate
    zero = [one == 0.0 for one in sides]
    found: Array = zero[0] ^ zero[1] if through else sides[0] != sides[1]
    return found


def _put(x: Array, found: Array, hidden: Array, through: bool) -> Put | None:
    """What makes a side's value of the scores."""
    if through and not found[hidden].any():
        return Put(False, -np.inf)
    if through:
        found = np.log(found)
        shift = np.where(hidden, 0.0, found - x).sum(axis=-1, keepdims=True)
        found = found - shift / np.maximum((~hidden).sum(axis=-1, keepdims=True), 1)
    for adds, numbers in ((False, found[hidden]), (True, (found - x)[hidden])):
        value = float(np.median(numbers))
        if (numbers == value).all() or np.ptp(numbers - value) <= 1e-6 * max(1.0, abs(value)):
            return Put(adds, plain(value) if abs(value) > 1e-12 else 0.0)
    return None


def _masked(put: Put, hidden: Array, through: bool) -> Predict:
    def predict(trial: Trial) -> Array:
        scores = np.where(hidden, put(trial.x), trial.x)
        return softmax(scores) if through else scores

    return predict


def same_numbers(found: Array, wanted: Array) -> bool:
    return found.shape == wanted.shape and bool(np.allclose(found, wanted, 1e-5, 1e-7))
