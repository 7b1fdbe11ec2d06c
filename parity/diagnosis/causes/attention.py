"""Attention with another scale, other masks or none, and positions that are counted otherwise."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from parity.arrays import varies
from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._attested import computes
from parity.diagnosis.causes._context import maps_elementwise
from parity.diagnosis.causes._limits import HIDDEN, OPS_TO_A_PRODUCT
from parity.diagnosis.causes._masks import given_masks, is_mask_of, masks_of
from parity.diagnosis.causes._sides import sides
from parity.diagnosis.causes._sources import named
from parity.diagnosis.causes._substitution import fits
from parity.diagnosis.causes._weights import gives, with_leaves
from parity.diagnosis.causes.combinators import fix
from parity.diagnosis.causes.softmax import softmax
from parity.diagnosis.normalisation import plain
from parity.diagnosis.trial import Trial
from parity.numerics.limits import ALIKE
from parity.operations import CONVOLUTIONS, FILLED, MULTIPLICATIONS, PRODUCTS, SOFTMAXES
from parity.tape import Array, Op, Tape

# --- scale ----------------------------------------------------------------------------------------


@cause("attention-scale", enclosures=True)
def attention_scale(case: Case) -> Iterator[Explanation]:
    """Attention's scores are scaled by another factor, twice, or not at all.

    Looks like: attention that is too sharp or too flat; with query and key of d numbers the factor
        is 1 / sqrt(d).
    Proof: the scores, which are products of two computed values, times the reference's factor (and
        through softmax with what both mask, if that is in view) are the reference's value, times
        the candidate's the candidate's; both are solved for.
    """
    first = case.first
    if len(first.inputs) != 1 or first.x.size != first.reference.size or first.x.ndim < 2:
        return
    width = _contracted(case.reference.tape, case.entering[0])
    if width is None or first.candidate.shape != first.reference.shape:
        return
    x, usual = first.x.reshape(first.reference.shape), width**-0.5
    hidden = first.reference == 0.0
    if not np.array_equal(hidden, first.candidate == 0.0):
        hidden = np.zeros_like(hidden)  # what only one side masks is another cause
    for through in (None, hidden):
        a, b = (_factor(x, y, through) for y in (first.reference, first.candidate))
        if a is None or b is None or abs(b - a) <= ALIKE * abs(a):
            continue
        if not np.isclose([a, b, b / a, a / b], usual, 1e-3).any():
            continue  # any other factor is a temperature
        yield Explanation(
            "attention-scale",
            f"scores times {b:.6g}, the reference's times {a:.6g}"
            f"; 1 / sqrt({width}) is {usual:.6g}",
            partial(_of_scores, b, through),
            partial(_of_scores, a, through),
            {"scale": (a, b)},
            cost=-1,
        )
        return


def _of_scores(scale: float, through: Array | None, trial: Trial) -> Array:
    x = scale * trial.x.reshape(trial.reference.shape)
    return x if through is None else softmax(np.where(through, -np.inf, x), (-1,))


def _factor(x: Array, y: Array, through: Array | None) -> float | None:
    """By what x is multiplied in y; or before a softmax, by the logarithms of probabilities.

    Args:
        through: what is masked before the softmax; None without one.
    """
    if through is not None:
        seen = ~through
        if not (y[seen] > 0).all() or not np.allclose(y.sum(axis=-1), 1.0, atol=ALIKE):
            return None
        y = np.log(np.where(seen, y, 1.0))
        x, y = (np.where(seen, one - _mean(one, seen), 0.0) for one in (x, y))
    squares = float(np.vdot(x, x))
    factor = float(np.vdot(x, y)) / squares if squares > 0 else 0.0
    holds = bool(np.abs(y - factor * x).max() <= 1e-7 * abs(factor) * float(np.abs(x).max()))
    return plain(factor) if holds and factor > 0 else None


def _mean(array: Array, seen: Array) -> Array:
    """The mean over the last axis of what is seen."""
    total: Array = np.where(seen, array, 0.0).sum(axis=-1, keepdims=True)
    mean: Array = total / np.maximum(seen.sum(axis=-1, keepdims=True), 1)
    return mean


def _contracted(tape: Tape, value: int) -> int | None:
    """The length of the axis over which two computed values were multiplied to give a value."""
    for _ in range(OPS_TO_A_PRODUCT):
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
        if op.word in PRODUCTS | CONVOLUTIONS:
            return None  # with weights: what a layer makes of values are no scores
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
        predict = with_leaves(case, values)
        if not gives(case, predict):
            continue
        attends = _softmaxes((*case.reference.ops, *case.reference.readers(2)))
        tiny = _tiny_mask(case) if attends else None
        if tiny is not None:
            yield Explanation(
                "attention-mask-value",
                f"what is masked gets {tiny:g} added, which does not hide it",
                predict,
                parameters={"value": (-np.inf, tiny)},
            )
            return
        later = attends and _masks_behind(case)
        yield Explanation(
            "attention-mask-missing" if attends else "sequence-mask",
            "what the reference masks before the softmax is not masked there, but behind it"
            if later
            else "what the reference masks here is not masked",
            predict,
            parameters={"masked": (True, False)},
            unproved=_masked_before(case) or _masked_by_another(case, values),
            cost=1 if attends else 0,  # a number too small to hide anything is a mask, too
        )
        return
    yield from _masked_in_addition(case)


def _masked_in_addition(case: Case) -> Iterator[Explanation]:
    """The candidate's masks, without which its operations give the reference's value."""
    if not varies(case.first.reference):
        return  # zeros come of many masks, and of a first state
    for values in _unmasked(case, of_candidate=True):

        def predict(trial: Trial, values: dict[int, Array] = values) -> Array:
            return case.run_candidate(trial.given, values)

        if fits(predict, case.first, case.first.reference):
            attends = _softmaxes((*case.candidate.ops, *case.candidate.readers(2)))
            yield fix(
                predict,
                "attention-mask-missing" if attends else "sequence-mask",
                "some is masked here that the reference does not mask",
                parameters={"masked": (False, True)},
                unproved=_masked_before(case, of_candidate=False)
                or _masked_by_another(case, values, of_candidate=True),
                cost=1 if attends else 0,
            )
            return


def _softmaxes(ops: Iterable[Op]) -> bool:
    return any(op.word in SOFTMAXES or op.word == "attention" for op in ops)


def _masked_before(case: Case, of_candidate: bool = True) -> str:
    """Why a mask may not be what is missing: the other side has masked what it reads here."""
    side = sides(case)[of_candidate]
    tape, run = side.view.tape, side.model.run
    for value in side.entering:
        op = computes(tape, value)
        if op is not None and any(
            not tape.is_live(one) and is_mask_of(run.array(one)) for one in op.inputs
        ):
            name = "candidate" if of_candidate else "reference"
            return f"the {name}'s {op.kind} masks what is read here"
    return ""


def _masked_by_another(case: Case, values: Iterable[int], of_candidate: bool = False) -> str:
    """Why an input may mask all the same: the other side reads it, or what masks nothing here."""
    own, other = sides(case)[of_candidate], sides(case)[not of_candidate]
    tape, run = other.view.tape, other.model.run
    given = [value for value in values if own.view.tape.is_live(value)]
    if not given:
        return ""
    for value in map(own.view.tape.before_moves, given):
        for partner in _partners(case, value, of_candidate):
            readers = (tape.ops[index] for index in tape.consumers[partner])
            if any(op.word not in FILLED and op.index in tape.used for op in readers):
                return f"the other model reads {named(own.view.tape, value)} elsewhere"
    makers = (computes(tape, value) for value in other.entering)
    for op in (*other.view.ops, *filter(None, makers)):
        for value in op.inputs if op.word not in FILLED else ():
            array = run.array(value)
            if array.size > 1 and (array == array.flat[0]).all() and _is_of_inputs(tape, value):
                return f"{named(tape, value)} is one number throughout on these inputs"
    return ""


def _is_of_inputs(tape: Tape, value: int) -> bool:
    """Whether a value is made of what inputs hold, and not of their shape alone."""
    walk = tape.graph.backward([value], lambda _, op: op.word not in FILLED)
    return any(tape.values[one].kind == "input" for one, _ in walk)


def _partners(case: Case, value: int, of_candidate: bool) -> list[int]:
    """The values of the other side that a value of one side is."""
    pairs = case.repaired.pairs
    if of_candidate:
        return [pairs[value].reference] if value in pairs else []
    return [one for one, pair in pairs.items() if pair.reference == value]


def _masks_behind(case: Case) -> bool:
    """Whether what the candidate's softmax gives is multiplied by a mask, or filled by one."""
    tape, run = case.candidate.tape, case.repaired.side.run
    softmaxes = (op for op in tape.ops if op.word in SOFTMAXES and not op.static)
    ends = {case.candidate.end, *(v for op in case.candidate.ops for v in op.outputs)}
    for op in softmaxes:
        if ends.isdisjoint((*op.inputs, *op.outputs)):
            continue
        readers = (
            reader
            for value in op.outputs
            for _, reader in tape.graph.readers(
                value, lambda one: one.role == "move" and len(one.inputs) == 1
            )
        )
        others = (v for reader in readers for v in reader.inputs if not tape.is_live(v))
        if any(tape.values[v].size > 1 and is_mask_of(run.array(v)) for v in others):
            return True
    return False


def _unmasked(case: Case, of_candidate: bool = False) -> Iterator[dict[int, Array]]:
    """Values for the masks of one side that mask nothing."""
    side = sides(case)[of_candidate]
    fixed, given = masks_of(side), given_masks(side)
    multiplying = [op for op in side.view.ops if op.word in MULTIPLICATIONS]
    numbers = fixed + [one for one in given if one[1].dtype.kind == "f"]
    flags = [one for one in given if one[1].dtype.kind != "f"]
    several = (numbers, flags, numbers + flags) if flags else (numbers,)
    for masks, choice in itertools.product(several, (1, 0)):
        values: dict[int, Array] = {}
        for value, array in masks:
            if array.dtype.kind == "f" and array.min() <= HIDDEN:
                values[value] = np.zeros_like(array)
            elif not choice and any(value in op.inputs for op in multiplying):
                continue  # a product with zeros hides all of it
            else:
                values[value] = np.full_like(array, choice)
        if values:
            yield values


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
    if not maps_elementwise(case) or first.x.ndim < 2:
        return
    through = _softmaxes((*case.reference.ops, *case.candidate.ops))
    hidden = _hidden(first, through)
    if not hidden.any() or hidden.all() or first.x.min() <= HIDDEN:
        return
    reference = _masking(first.x, first.reference, hidden, through)
    candidate = _masking(first.x, first.candidate, hidden, through)
    if reference is None or candidate is None or reference == candidate:
        return
    if reference.hides and candidate.hides:
        return
    if not through and min(reference.value, candidate.value) > HIDDEN:
        if max(reference.value, candidate.value) > 0 or not _softmaxes(case.reference.readers(2)):
            return
    masked = reference.masks, candidate.masks
    missing = not all(masked)
    summary = f"scores that are masked are {candidate}, the reference's {reference}"
    if missing:
        summary = (
            "what the reference masks here is not masked"
            if reference.masks
            else "some is masked here that the reference does not mask"
        )
    yield Explanation(
        "attention-mask-missing" if missing else "attention-mask-value",
        summary,
        partial(_masked, candidate, hidden, through),
        partial(_masked, reference, hidden, through),
        {"masked": masked} if missing else {"value": (reference.value, candidate.value)},
        cost=1 if missing else 0,
    )


@dataclass(frozen=True)
class Masking:
    """What is done to the scores that are masked: a number is added to them, or replaces them."""

    adds: bool
    value: float

    def __call__(self, x: Array) -> Array:
        return x + self.value if self.adds else np.full_like(x, self.value)

    def __str__(self) -> str:
        return f"{'given' if self.adds else 'set to'} {self.value:g}"

    @property
    def masks(self) -> bool:
        return not self.adds or bool(self.value)

    @property
    def hides(self) -> bool:
        return self.value <= HIDDEN


def _hidden(trial: Trial, through: bool) -> Array:
    """Where one side masks: probabilities of 0, or scores that are not the other's."""
    sides = trial.reference, trial.candidate
    zero = [one == 0.0 for one in sides]
    found: Array = zero[0] ^ zero[1] if through else sides[0] != sides[1]
    return found


def _masking(x: Array, found: Array, hidden: Array, through: bool) -> Masking | None:
    """What makes a side's value of the scores, through a softmax or not."""
    if through and not found[hidden].any():
        return Masking(False, -np.inf)
    if through:
        found = np.log(found)
        shift = np.where(hidden, 0.0, found - x).sum(axis=-1, keepdims=True)
        found = found - shift / np.maximum((~hidden).sum(axis=-1, keepdims=True), 1)
    for adds, numbers in ((False, found[hidden]), (True, (found - x)[hidden])):
        value = float(np.median(numbers))
        if (numbers == value).all() or np.ptp(numbers - value) <= ALIKE * max(1.0, abs(value)):
            return Masking(adds, plain(value) if abs(value) > 1e-12 else 0.0)
    return None


def _masked(masking: Masking, hidden: Array, through: bool, trial: Trial) -> Array:
    scores = np.where(hidden, masking(trial.x), trial.x)
    return softmax(scores, (-1,)) if through else scores
