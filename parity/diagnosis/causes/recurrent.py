"""Recurrent layers with other gates, another state, another activation, or the other direction."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, Predict, cause
from parity.diagnosis.causes._gates import (
    gate_blocks,
    is_read_by_steps,
    of_a_recurrent_layer,
    same,
    step_axes,
)
from parity.diagnosis.causes.activation import Curve, recognise, sample_of, sigmoid
from parity.diagnosis.normalisation import plain
from parity.diagnosis.region import ancestors, descendants
from parity.diagnosis.trial import Trial
from parity.diagnosis.view import RegionView
from parity.tape import Array, Tape

_MOST_ASSIGNMENTS = 40
_MOST_OPS = 40  # of one step of a recurrent layer

Run = Callable[[Mapping[int, Array], Mapping[int, Array]], Array]


# --- gates that have changed places ---------------------------------------------------------------


@cause("gate-order")
def gates_exchanged(case: Case) -> Iterator[Explanation]:
    """A gate is used where the reference uses another one: the blocks are in another order.

    Looks like: a recurrent layer that is wrong from its first step on, though its weights are
        loaded; torch has a GRU's gates as reset, update, new and Keras as update, reset, new.
    Proof: the reference's own operations, with the gates that enter them exchanged, give the
        candidate's value.
    """
    tape, ours = case.reference.tape, case.entering
    theirs = tuple(dict.fromkeys(case.partners.values()))
    shapes = {value: tape.values[value].shape for value in (*ours, *theirs)}
    held = _held(case, case.first, (*ours, *theirs))
    for chosen in itertools.islice(_assignments(shapes, ours, theirs), _MOST_ASSIGNMENTS):
        changed = {a: b for a, b in chosen.items() if not np.array_equal(held[a], held[b])}
        if not changed or not all(_are_gates(tape, a, b) for a, b in changed.items()):
            continue
        predict = _with_exchanged(case, chosen)
        if same(predict(case.first), case.first.candidate):
            yield Explanation(
                "gate-order",
                f"{len(changed)} of the gates that enter here stand in for another",
                predict,
                cost=-1,
            )
            return


def _held(case: Case, trial: Trial, values: Sequence[int]) -> dict[int, Array]:
    return dict(zip(values, case.reference_values(trial.fed, values), strict=True))


def _assignments(
    shapes: Mapping[int, tuple[int, ...]], ours: Sequence[int], theirs: Sequence[int]
) -> Iterator[dict[int, int]]:
    """For what enters the reference's region what the candidate may have in its place."""
    if not 1 <= len(ours) <= 5 or not 1 <= len(theirs) <= 5:
        return
    choices = [[b for b in dict.fromkeys((a, *theirs)) if shapes[b] == shapes[a]] for a in ours]
    found = [dict(zip(ours, chosen, strict=True)) for chosen in itertools.product(*choices)]
    # all that the candidate reads is to be read, by as few changes as may be
    found = [one for one in found if set(theirs) <= {*one.values()} or len(ours) < len(theirs)]
    yield from sorted(found, key=lambda one: sum(a != b for a, b in one.items()))


def _with_exchanged(case: Case, chosen: Mapping[int, int]) -> Predict:
    read = set(case.partners.values())
    # what the candidate does not read is for it what it was
    fixed = _held(case, case.first, [a for a, b in chosen.items() if a == b and a not in read])

    def predict(trial: Trial) -> Array:
        values = _held(case, trial, [b for b in chosen.values() if b not in fixed])
        now = {a: values[b] for a, b in chosen.items() if b in values}
        return case.run_reference(trial.fed, {**now, **fixed})

    return predict


def _are_gates(tape: Tape, a: int, b: int) -> bool:
    """Whether two values come from blocks of one product with all gates in it."""
    return bool(gate_blocks(tape, a) & gate_blocks(tape, b))


# --- a GRU's reset --------------------------------------------------------------------------------


@cause("reset-after", enclosures=True)
def reset_after(case: Case) -> Iterator[Explanation]:
    """A GRU resets its state before the product with the recurrent weights, or the product after.

    Looks like: the first step agrees (the state is zero), later ones do not; Keras has
        `reset_after`, torch always resets after, Chainer's NStepGRU too, Chainer's GRU before.
    Proof: the reference's own operations with the reset gate moved to the other side of the product
        give the candidate's value.
    """
    if min(len(case.reference.computing), len(case.candidate.computing)) < 2:
        return
    if not any(leaf.array.ndim == 2 for leaf in case.reference.leaves):
        return  # there is no product to be before or after
    if len(case.reference.ops) > _MOST_OPS:
        return  # of more than one step: see `gru_as_a_whole`
    for gate in _open_gates(case):
        after = _after(case, gate)
        if same(after(case.first), case.first.candidate):
            yield reset_told("before", "after", after)
            return
        for state in (value for value in case.entering if value != gate):
            before = _before(case, gate, state)
            if before is not None and same(before(case.first), case.first.candidate):
                yield reset_told("after", "before", before)
                return


@cause("reset-after")
def reset_on_the_bias(case: Case) -> Iterator[Explanation]:
    """A GRU's reset gate multiplies the product with the recurrent weights, and so its bias too.

    Looks like: the first step differs too, by the bias of the product less what the gate leaves
        of it: there the state is zero, and nothing else tells the two ways apart.
    Proof: one side's own operations with the gate times that bias in its place give the other
        side's value.
    """
    sides = (
        (case.reference, case.run_reference, case.first.candidate),
        (case.candidate, case.run_candidate, case.first.reference),
    )
    gates = _open_gates(case)
    for number, (view, run, wanted) in enumerate(sides):
        biases = [
            leaf
            for leaf in view.leaves
            if leaf.array.ndim == 1 and leaf.array.any() and is_read_by_steps(view.tape, leaf.id)
        ]
        for gate, leaf in itertools.islice(itertools.product(gates, biases), _MOST_ASSIGNMENTS):
            gated = partial(_gated, case, run, gate, leaf.id)
            if same(gated(case.first), wanted):
                mended = (lambda trial: trial.candidate), gated
                ours, theirs = ("after", "before") if number else ("before", "after")
                yield reset_told(ours, theirs, *(mended if number else (gated, None)))
                return


def _gated(case: Case, run: Run, gate: int, leaf: int, trial: Trial) -> Array:
    """What a region gives where a gate multiplies a vector that it adds."""
    fixed = np.zeros(case.repaired.reference.tape.values[gate].shape[-1:])
    added = run(trial.fed, {}), run(trial.fed, {leaf: fixed})
    result: Array = added[1] + _gate_of(case, trial, gate) * (added[0] - added[1])
    return result


def reset_told(
    ours: str, theirs: str, predict: Predict, reference: Predict | None = None
) -> Explanation:
    return Explanation(
        "reset-after",
        f"the reset gate multiplies {theirs} the product with the recurrent weights, "
        f"the reference's {ours} it",
        predict,
        reference,
        parameters={"reset": (ours, theirs)},
        cost=-1,
    )


def _open_gates(case: Case) -> list[int]:
    """Values in the reference's region, or entering either, that lie between 0 and 1."""
    tape = case.reference.tape
    inside = [value for op in case.reference.ops for value in op.outputs]
    ids = [
        value
        for value in dict.fromkeys((*case.entering, *case.partners.values(), *inside))
        if tape.values[value].shape == case.reference.value.shape
        and tape.values[value].dtype.startswith(("float", "bfloat"))
    ]
    arrays = case.reference_values(case.first.fed, ids)
    return [
        value
        for value, array in zip(ids, arrays, strict=True)
        if array.size > 1 and 0 < array.min() < array.max() < 1
    ][:8]


def _gate_of(case: Case, trial: Trial, gate: int) -> Array:
    (found,) = case.reference_values(trial.fed, [gate])
    return found


def _after(case: Case, gate: int) -> Predict:
    def predict(trial: Trial) -> Array:
        factor = _gate_of(case, trial, gate)
        return factor * case.run_reference(trial.fed, {gate: np.ones_like(factor)})

    return predict


def _before(case: Case, gate: int, state: int) -> Predict | None:
    shapes = [case.reference.tape.values[value].shape for value in (gate, state)]
    if shapes[0] != shapes[1]:
        return None

    def predict(trial: Trial) -> Array:
        factor, kept = case.reference_values(trial.fed, [gate, state])
        return case.run_reference(trial.fed, {state: factor * kept, gate: np.ones_like(factor)})

    return predict


# --- forget bias ----------------------------------------------------------------------------------


@cause("forget-bias")
def forget_bias(case: Case) -> Iterator[Explanation]:
    """A number is added to the forget gate before its sigmoid, on one side only.

    Looks like: a state that fades too fast or too slowly; TensorFlow's BasicLSTMCell adds 1 when
        it runs, Keras keeps it in the bias, torch adds nothing.
    Proof: the sigmoid of what enters plus the reference's number is the reference's value, plus the
        candidate's number the candidate's; both are solved for.
    """
    first = case.first
    if len(first.inputs) != 1 or first.x.shape != first.reference.shape:
        return
    if first.candidate.shape != first.x.shape or not gate_blocks(
        case.reference.tape, case.entering[0]
    ):
        return
    ours, theirs = _shift(first.x, first.reference), _shift(first.x, first.candidate)
    if ours is None or theirs is None or ours == theirs:
        return
    yield Explanation(
        "forget-bias",
        f"{theirs:g} is added to the gate, the reference adds {ours:g}",
        lambda trial: sigmoid(trial.x + theirs),
        lambda trial: sigmoid(trial.x + ours),
        {"bias": (ours, theirs)},
        cost=-2,  # the number itself, where the weights give a difference only
    )


def _shift(x: Array, y: Array) -> float | None:
    """What is added to x before its sigmoid."""
    if not ((y > 1e-9) & (y < 1 - 1e-9)).all():
        return None
    shifts = np.log(y) - np.log1p(-y) - x
    shift = float(np.median(shifts))
    return plain(round(shift, 9)) if np.abs(shifts - shift).max() <= 1e-6 else None


# --- activation of the gates ----------------------------------------------------------------------


@cause("recurrent-activation", enclosures=True)
def recurrent_activation(case: Case) -> Iterator[Explanation]:
    """A gate, or the state, goes through another activation.

    Looks like: states that are a little off (hard sigmoid for sigmoid), or grow (ReLU for tanh);
        Keras' old layers took a hard sigmoid for the gates.
    Proof: with the reference's curve what enters gives the reference's values, with the
        candidate's the candidate's; and what enters is one of the blocks of a recurrent layer.
    """
    points = sample_of(case)
    if points is None or not case.entering:
        return
    if not gate_blocks(case.reference.tape, case.entering[0]):
        return
    x, ours, theirs = points
    a, b = recognise(x, ours), recognise(x, theirs)
    if a is None or b is None or a == b:
        return
    yield Explanation(
        "recurrent-activation",
        f"a gate goes through {told(b)}, the reference's through {told(a)}",
        lambda trial: b(trial.x.reshape(trial.reference.shape)),
        lambda trial: a(trial.x.reshape(trial.reference.shape)),
        {"kind": (a.name, b.name)} if a.name != b.name else {"slope": (a.slope, b.slope)},
        cost=-1,
    )


def told(curve: Curve) -> str:
    return curve.name if curve.slope is None else f"{curve.name} of slope {curve.slope:.4g}"


# --- direction ------------------------------------------------------------------------------------


@cause("direction")
def direction(case: Case) -> Iterator[Explanation]:
    """States are in the other order of steps: not turned back after a backward pass, or turned.

    Looks like: sequences that agree when one of them is read from its end.
    Proof: the reference's value with its steps turned round is the candidate's, and what enters are
        a recurrent layer's states. Steps are where one place of the input reaches several.
    """
    first = case.first
    if first.reference.ndim != 3 or first.reference.shape != first.candidate.shape:
        return
    if not of_a_recurrent_layer(case):
        return
    for axis in (0, 1):
        turned = np.flip(first.reference, axis)
        if first.reference.shape[axis] > 1 and same(turned, first.candidate):
            if axis not in step_axes(case):
                continue  # samples the other way round
            yield Explanation(
                "direction",
                f"the steps (axis {case.candidate_axis(axis)}) are in the other direction",
                lambda trial, axis=axis: np.flip(trial.reference, axis),  # type: ignore[misc]
                parameters={"direction": ("forwards", "backwards")},
                cost=-1,
            )
            return


# --- state ----------------------------------------------------------------------------------------


@cause("state-not-carried")
def state_dropped(case: Case) -> Iterator[Explanation]:
    """A recurrent layer starts from zero where the reference hands it a state.

    Looks like: outputs that depend on the episode's first steps in one model only.
    Proof: the reference's own operations with that state at zero give the candidate's value.
    """
    if not of_a_recurrent_layer(case):
        return
    tape = case.reference.tape
    for leaf in case.reference.leaves:
        if leaf.array.dtype.kind != "f" or leaf.array.size < 2 or not leaf.array.any():
            continue
        if not _is_state(tape, leaf.id):
            continue
        zeros = {leaf.id: np.zeros_like(leaf.array)}
        if same(case.run_reference(case.first.fed, zeros), case.first.candidate):
            yield Explanation(
                "state-not-carried",
                f"the state of {leaf.array.shape} that the reference starts from is zero",
                lambda trial, zeros=zeros: case.run_reference(trial.fed, zeros),  # type: ignore[misc]
                parameters={"carried": (True, False)},
                cost=-1,
            )
            return


@cause("state-not-carried")
def state_not_handed_on(case: Case) -> Iterator[Explanation]:
    """A recurrent layer starts from zero where the reference goes on from its last state.

    Looks like: a sequence in parts whose first part agrees.
    Proof: the reference's own operations with that state at zero give the candidate's value. It is
        a state if it comes of the same weights as what is made of it.
    """
    for value in case.entering:
        if not _is_between_readers(case.reference.tape, value):
            continue
        zero = partial(_with_zero, case, value)
        if same(zero(case.first), case.first.candidate):
            shape = case.reference.tape.values[value].shape
            yield Explanation(
                "state-not-carried",
                f"the state of {shape} that the reference goes on from is zero",
                zero,
                parameters={"carried": (True, False)},
                cost=-1,
            )
            return


def _with_zero(case: Case, value: int, trial: Trial) -> Array:
    shape = case.reference.tape.values[value].shape
    return case.run_reference(trial.fed, {value: np.zeros(shape)})


def _is_between_readers(tape: Tape, value: int) -> bool:
    """Whether a value comes of a matrix that something made of the value reads again."""
    before = ancestors(tape, [value])
    after = {tape.values[made].op for made in descendants(tape, value)} - before
    return any(readers & before and readers & after for readers in tape.readers_of_matrices)


def _is_state(tape: Tape, leaf: int) -> bool:
    """Whether a constant is multiplied with other parameters only; a kernel meets inputs."""
    shape = tape.values[leaf].shape
    if len(shape) == 2 and max(shape) in (3 * min(shape), 4 * min(shape)):
        return False
    products: list[bool] = []
    values: list[int] = [leaf]
    seen: set[int] = set()
    while values:
        value = values.pop()
        for index in tape.consumers[value]:
            op = tape.ops[index]
            if op.role == "move":
                values.extend(one for one in op.outputs if one not in seen)
                seen.update(op.outputs)
            elif any(word in op.kind.lower() for word in ("mm", "matmul", "linear")):
                products.append(op.static)
    return bool(products) and all(products)


# --- masks ----------------------------------------------------------------------------------------


@cause("sequence-mask")
def other_steps_masked(case: Case) -> Iterator[Explanation]:
    """Other steps of the sequences are masked: by another count of lengths.

    Looks like: zeros where the reference has numbers, and the other way round, in whole steps.
    Proof: what enters times a mask of 0 and 1 by sequence and step is the reference's value, times
        another such mask the candidate's.
    """
    first = case.first
    if len(first.inputs) != 1 or first.x.ndim < 3 or first.x.shape != first.reference.shape:
        return
    if first.candidate.shape != first.x.shape or not first.x.all():
        return
    ours, theirs = (one / first.x for one in (first.reference, first.candidate))
    if not all(_is_mask_of_steps(one) for one in (ours, theirs)):
        return
    kept = [int(one[..., 0].astype(bool).sum()) for one in (ours, theirs)]
    yield Explanation(
        "sequence-mask",
        f"{kept[1]} of {ours[..., 0].size} steps are kept, the reference keeps {kept[0]}",
        lambda trial: trial.x * theirs,
        lambda trial: trial.x * ours,
        {"steps": (kept[0], kept[1])},
        cost=-1,
    )


@cause("sequence-mask", enclosures=True)
def state_kept_in_the_padding(case: Case) -> Iterator[Explanation]:
    """A mask keeps the state of a recurrent layer where a sequence is padded, on one side only.

    Looks like: the longest sequences agree, the shorter ones do not.
    Proof: the one side's own operations with its mask of 0 and 1 open give the other side's value.
    """
    if not of_a_recurrent_layer(case):
        return
    first = case.first
    sides = (
        (case.reference, case.entering, case.run_reference, first.candidate),
        (case.candidate, case.candidate_entering, case.run_candidate, first.reference),
    )
    for number, (view, entering, run, wanted) in enumerate(sides):
        if len(entering) < 2 and not case.whole:
            continue  # no choice between two states
        for opened in _opened(case, view):
            if same(run(first.fed, opened), wanted):
                unmasked = partial(_with_leaves, run, opened)
                yield Explanation(
                    "sequence-mask",
                    "the state in the padding is kept, the reference's is not"
                    if number
                    else "the state in the padding is not kept, the reference's is",
                    (lambda trial: trial.candidate) if number else unmasked,
                    unmasked if number else None,
                    {"masked": (number == 0, number == 1)},
                    cost=-1,
                )
                return


def _opened(case: Case, view: RegionView) -> Iterator[dict[int, Array]]:
    """Masks that let all pass: those held by the model, else those made of what it holds."""
    tape, repaired = view.tape, case.repaired
    side = repaired.reference if view is case.reference else repaired.side
    read = dict.fromkeys(v for op in view.ops if not op.static for v in op.inputs)
    made = {v: side.run.array(v) for v in read if not tape.is_live(v) and tape.values[v].size > 1}
    held = {leaf.id: leaf.array for leaf in view.leaves}
    for arrays in (held, made):
        masks = {value: array for value, array in arrays.items() if _is_mask(array)}
        if masks:
            for choice in (1, 0):
                yield {value: np.full_like(array, choice) for value, array in masks.items()}
            return


def _is_mask(array: Array) -> bool:
    """Whether an array holds zeros and ones, and both."""
    return array.size > 1 and set(np.unique(array).tolist()) == {0, 1}


def _with_leaves(
    run: Run,
    leaves: Mapping[int, Array],
    trial: Trial,
) -> Array:
    return run(trial.fed, leaves)


def _is_mask_of_steps(ratio: Array) -> bool:
    return bool(((ratio == 0) | (ratio == 1)).all() and (ratio == ratio[..., :1]).all())
