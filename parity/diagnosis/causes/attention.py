"""Attention with another scale, other masks or none, and positions that are counted otherwise."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, Predict, cause
from parity.diagnosis.normalisation import plain
from parity.diagnosis.trial import Trial
from parity.diagnosis.view import RegionView
from parity.tape import Array, Tape

_HIDDEN = -1e7  # a score below this is masked
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
        found = case.run_reference(case.first.fed, values)
        if not _same(found, case.first.candidate):
            continue
        attends = any("softmax" in kind for kind in case.reference.kinds) or any(
            "softmax" in op.kind.lower() for op in case.reference.readers(2)
        )
        tiny = _tiny_mask(case) if attends else None
        if tiny is not None:
            yield Explanation(
                "attention-mask-value",
                f"what is masked gets {tiny:g} added, which does not hide it",
                lambda trial, values=values: case.run_reference(trial.fed, values),  # type: ignore[misc]
                parameters={"value": (-np.inf, tiny)},
            )
            return
        yield Explanation(
            "attention-mask-missing" if attends else "sequence-mask",
            "nothing is masked, the reference masks some",
            lambda trial, values=values: case.run_reference(trial.fed, values),  # type: ignore[misc]
            parameters={"masked": (True, False)},
            cost=1 if attends else 0,  # a number too small to hide anything is a mask, too
        )
        return


def _unmasked(case: Case) -> Iterator[Mapping[int, Array]]:
    """Values for the reference's masks that mask nothing."""
    masks = _masks(case, case.reference)
    for choice in (1, 0):
        values: dict[int, Array] = {}
        for value, array in masks:
            if array.dtype.kind == "f" and array.min() <= _HIDDEN:
                values[value] = np.zeros_like(array)
            else:
                values[value] = np.full_like(array, choice)
        if values:
            yield values


def _masks(case: Case, view: RegionView) -> list[tuple[int, Array]]:
    """Arrays of two values that enter a region and do not depend on the inputs."""
    side = case.repaired.reference if view is case.reference else case.repaired.side
    found = []
    read = [value for op in view.ops for value in op.inputs]
    for value in dict.fromkeys((*read, *(leaf.id for leaf in view.leaves))):
        if view.tape.is_live(value) or view.tape.values[value].size < 2:
            continue
        producer = view.tape.producer(value)
        if producer is not None and producer.index in {op.index for op in view.ops}:
            continue
        array = side.run.array(value)
        if array.dtype.kind == "b" or (array.dtype.kind in "iuf" and _is_mask(array)):
            found.append((value, array))
    return found


def _is_mask(array: Array) -> bool:
    different = np.unique(array)
    if different.size > 2:
        return False
    if different.size == 1:
        return False
    low, high = float(different[0]), float(different[1])
    return (low, high) == (0.0, 1.0) or (low <= _HIDDEN and high == 0.0)


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
    if not hidden.any() or hidden.all() or first.x.min() <= _HIDDEN:
        return
    ours = _put(first.x, first.reference, hidden, through)
    theirs = _put(first.x, first.candidate, hidden, through)
    if ours is None or theirs is None or ours == theirs:
        return
    if min(ours.value, theirs.value) > _HIDDEN and not through:
        attends = any("softmax" in op.kind.lower() for op in case.reference.readers(2))
        if not attends or max(ours.value, theirs.value) > 0:
            return
    if ours.hides and theirs.hides:
        return
    missing = [one.adds and not one.value for one in (ours, theirs)]
    words = (
        ("nothing is masked, the reference masks some", "some is masked, the reference masks none")[
            missing[0]
        ]
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
        return self.value <= _HIDDEN

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


# --- attention as a whole -------------------------------------------------------------------------


@dataclass(frozen=True)
class Attention:
    """softmax(scale * query key^T, masked) value, of the inputs in that order.

    Attributes:
        roles: which inputs are query, key and value.
        steps: the axis of steps in all of them; the last axis is the features'.
        turned: whether the result has its steps there too, not before the features.
        fill: what is added to the scores of steps to come: 0 for none, -inf for a causal mask.
    """

    roles: tuple[int, int, int]
    steps: int
    turned: bool
    scale: float
    fill: float

    def __call__(self, inputs: tuple[Array, ...]) -> Array:
        scores, value = self.scores(inputs)
        scores = np.where(np.tri(*scores.shape[-2:]) > 0, scores, scores + self.fill)
        found = softmax(scores) @ value
        return np.moveaxis(found, -2, self.steps) if self.turned else found

    def scores(self, inputs: tuple[Array, ...]) -> tuple[Array, Array]:
        """The scaled scores before any mask, and the values."""
        query, key, value = (np.moveaxis(inputs[role], self.steps, -2) for role in self.roles)
        return self.scale * (query @ np.swapaxes(key, -1, -2)), value

    def fitted(self, inputs: tuple[Array, ...], found: Array) -> Attention | None:
        """The same with the fill that brings it nearest to a value."""
        scores, value = self.scores(inputs)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        past = np.tri(*scores.shape[-2:])
        shape = (*scores.shape[:-1], value.shape[-1])
        if found.size != np.prod(shape):
            return None
        if self.turned:
            moved = found.reshape(np.moveaxis(np.empty(shape), -2, self.steps).shape)
            found = np.moveaxis(moved, self.steps, -2)
        found = found.reshape(shape)
        # found = (seen @ value + share * hidden @ value) / (sum of seen + share * sum of hidden)
        seen, hidden = (
            part @ value - part.sum(axis=-1, keepdims=True) * found
            for part in (weights * past, weights * (1 - past))
        )
        squares = float(np.vdot(hidden, hidden))
        share = -float(np.vdot(hidden, seen)) / squares if squares > 0 else 0.0
        return replace(self, fill=plain(float(np.log(share)), 1e-6)) if share > 1e-12 else None


@cause("attention-scale", "attention-mask-missing", "attention-mask-value")
def attention_in_one(case: Case) -> Iterator[Explanation]:
    """Attention in one operation that scales its scores or masks the future, and the other's not.

    Looks like: as if scaled twice, or not at all; steps that see what is yet to come.
    Proof: softmax(scale * query key^T) value, with or without the causal mask, is what each side
        computes of the query, key and value that enter.
    """
    first = case.first
    kinds_there = (*case.reference.kinds, *case.candidate.kinds)
    if not any(word in kind for kind in kinds_there for word in _PRODUCTS):
        return
    for entering in (_as_read, _before_moves):
        if len(entering(first)) != 3:
            continue
        ours = next(_attentions(entering(first), first.reference), None)
        theirs = next(_attentions(entering(first), first.candidate), None)
        if ours is None or theirs is None or ours == theirs:
            continue
        if replace(theirs, scale=ours.scale, fill=ours.fill) == ours:
            yield _attention_explained(ours, theirs, entering)
            return


_PRODUCTS = ("mm", "matmul", "attention", "einsum")


def _as_read(trial: Trial) -> tuple[Array, ...]:
    return trial.inputs


def _before_moves(trial: Trial) -> tuple[Array, ...]:
    return tuple(trial.fed.values())


def _attention_explained(
    ours: Attention, theirs: Attention, entering: Callable[[Trial], tuple[Array, ...]]
) -> Explanation:
    kinds: list[str] = []
    words: list[str] = []
    changed: dict[str, tuple[bool | float, bool | float]] = {}
    if ours.fill != theirs.fill and 0.0 in (ours.fill, theirs.fill):
        kinds.append("attention-mask-missing")
        changed["masked"] = (ours.fill < 0, theirs.fill < 0)
        words.append("a causal mask, the reference has none" if theirs.fill else "no causal mask")
    elif ours.fill != theirs.fill:
        kinds.append("attention-mask-value")
        changed["value"] = (ours.fill, theirs.fill)
        words.append(f"scores of steps to come are given {theirs.fill:g}, not {ours.fill:g}")
    if ours.scale != theirs.scale:
        kinds.append("attention-scale")
        changed["scale"] = (ours.scale, theirs.scale)
        words.append(f"scores times {theirs.scale:.6g}, the reference's times {ours.scale:.6g}")
    return Explanation(
        kinds[0],
        "; ".join(words),
        lambda trial: theirs(entering(trial)).reshape(trial.candidate.shape),
        lambda trial: ours(entering(trial)).reshape(trial.reference.shape),
        changed,
        cost=len(changed) - 1,
    )


def _attentions(inputs: tuple[Array, ...], found: Array) -> Iterator[Attention]:
    """What gives a value of three inputs."""
    for a, b, c in itertools.permutations(range(3)):
        query, key, value = inputs[a], inputs[b], inputs[c]
        if not query.ndim == key.ndim == value.ndim >= 2 or key.shape[:-1] != value.shape[:-1]:
            continue
        if query.shape[-1] != key.shape[-1]:
            continue
        # the scale that is usual, and none: what else there is, is a temperature
        scales = (query.shape[-1] ** -0.5, 1.0)
        axes = {query.ndim - 2, *range(max(1, query.ndim - 2))}
        for steps, turned in itertools.product(axes, (True, False)):
            if (
                query.shape[:steps] + query.shape[steps + 1 :]
                != key.shape[:steps] + key.shape[steps + 1 :]
            ):
                continue
            for scale in scales:
                plainly = Attention((a, b, c), steps, turned, scale, 0.0)
                causal = replace(plainly, fill=-np.inf)
                for one in (plainly, causal, plainly.fitted(inputs, found)):
                    if one is not None and _gives(one(inputs), found):
                        yield one


def _gives(predicted: Array, found: Array) -> bool:
    return predicted.size == found.size and _same(predicted.reshape(found.shape), found)


# --- positions ------------------------------------------------------------------------------------


@cause("position-ids")
def position_ids(case: Case) -> Iterator[Explanation]:
    """Positions are counted otherwise: from another number, or through the padding.

    Looks like: embeddings that are another position's.
    Proof: what is added to (or multiplies) the reference's embeddings are rows of one table, and
        the candidate's are other rows of it.
    """
    first = case.first
    if len(first.inputs) != 1 or first.x.shape != first.reference.shape or first.x.ndim < 2:
        return
    if first.candidate.shape != first.reference.shape:
        return
    for join, part in ((np.add, np.subtract), (np.multiply, np.divide)):
        with np.errstate(all="ignore"):
            ours, theirs = part(first.reference, first.x), part(first.candidate, first.x)
        if not (np.isfinite(ours).all() and np.isfinite(theirs).all()):
            continue
        for table in _tables(case, first.x.shape[-1]):
            rows = _rows(table, ours), _rows(table, theirs)
            if rows[0] is None or rows[1] is None or np.array_equal(rows[0], rows[1]):
                continue
            yield _positions(join, table[rows[0]], table[rows[1]], rows[0], rows[1])
            return
        shifted = _continued(ours, theirs)
        if shifted is not None:
            by, predicted = shifted
            shape = first.x.shape
            start = np.broadcast_to(np.arange(shape[-2]), shape[:-1])
            yield _positions(join, ours, predicted, start, start + by)
            return


def _positions(
    join: Callable[[Array, Array], Array], ours: Array, theirs: Array, was: Array, now: Array
) -> Explanation:
    by = np.unique(now - was)
    parameters = {"position": (int(was.flat[0]), int(now.flat[0]))} if by.size == 1 else {}
    words = (
        f"positions are counted {by[0]:+d} from the reference's"
        if by.size == 1
        else f"{(now != was).sum()} of {now.size} positions are not the reference's, such as "
        f"{list(now.reshape(-1, now.shape[-1])[-1][:6])} for "
        f"{list(was.reshape(-1, was.shape[-1])[-1][:6])}"
    )
    return Explanation(
        "position-ids",
        words,
        lambda trial: join(trial.x, theirs),
        lambda trial: join(trial.x, ours),
        parameters,
        cost=-1,
    )


def _tables(case: Case, width: int) -> Iterator[Array]:
    for leaf in (*case.reference.leaves, *case.candidate.leaves):
        array = leaf.array
        if array.ndim == 2 and array.shape[1] == width and 2 <= array.shape[0] <= 65536:
            if array.dtype.kind == "f":
                yield array


def _rows(table: Array, found: Array) -> Array | None:
    """Which rows of a table an array is made of; None if it is not."""
    flat = found.reshape(-1, found.shape[-1])
    # the sums of rows tell them apart; what is found is compared as a whole
    weights = np.random.default_rng(0).standard_normal(table.shape[1])
    keys, wanted = table @ weights, flat @ weights
    order = np.argsort(keys)
    at = np.clip(np.searchsorted(keys[order], wanted), 1, len(keys) - 1)
    low, high = order[at - 1], order[at]
    rows = np.where(np.abs(keys[low] - wanted) <= np.abs(keys[high] - wanted), low, high)
    scale = min(float(np.abs(table).max()), float(np.abs(flat).max()))
    if not np.allclose(table[rows], flat, rtol=1e-5, atol=1e-6 * scale):
        return None
    result: Array = rows.reshape(found.shape[:-1])
    return result


def _continued(ours: Array, theirs: Array) -> tuple[int, Array] | None:
    """By how many steps the second, of waves over the steps, is the first moved on."""
    if ours.shape[-2] < 3 or np.allclose(ours, theirs, rtol=1e-5):
        return None
    for by in (1, -1, 2, -2):
        moved = ours if by > 0 else np.flip(ours, -2)
        for _ in range(abs(by)):
            following = _next(moved)
            if following is None:
                return None
            moved = np.concatenate([moved[..., 1:, :], following[..., None, :]], axis=-2)
        moved = moved if by > 0 else np.flip(moved, -2)
        if np.allclose(moved, theirs, rtol=1e-5, atol=1e-6):
            return by, theirs
    return None


def _next(waves: Array) -> Array | None:
    """The next step of waves, each of a frequency: a[t + 1] = 2 cos(w) a[t] - a[t - 1]."""
    before, at, after = waves[..., :-2, :], waves[..., 1:-1, :], waves[..., 2:, :]
    twice = ((before + after) * at).sum(axis=-2) / np.square(at).sum(axis=-2)
    if not np.allclose(after, twice[..., None, :] * at - before, atol=1e-5):
        return None
    result: Array = twice * waves[..., -1, :] - waves[..., -2, :]
    return result


def _same(found: Array, wanted: Array) -> bool:
    return found.shape == wanted.shape and bool(np.allclose(found, wanted, 1e-5, 1e-7))
