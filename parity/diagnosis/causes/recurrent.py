"""Recurrent layers with other gates: in another order, another reset, bias or activation."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, Predict, cause
from parity.diagnosis.causes._curves import Curve, recognise, sigmoid
from parity.diagnosis.causes._gates import gate_blocks, gate_place, is_read_by_steps, same
from parity.diagnosis.causes._substitution import on_side
from parity.diagnosis.causes.activation import sample_of
from parity.diagnosis.normalisation import plain
from parity.diagnosis.trial import Trial
from parity.diagnosis.view import RegionView
from parity.tape import Array, Op, Tape

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
        if any(_is_made_of(tape, a, b) or _is_made_of(tape, b, a) for a, b in changed.items()):
            continue  # one gate before and after its activation, say
        predict = _with_exchanged(case, chosen)
        if same(predict(case.first), case.first.candidate):
            yield Explanation(
                "gate-order",
                _stand_in(case, changed),
                predict,
                cost=-1,
            )
            return


def _stand_in(case: Case, changed: Mapping[int, int]) -> str:
    """Which gate stands in for which, counted as they lie in the reference's block."""
    run = case.repaired.reference.run
    told = []
    for used, now in changed.items():
        places = [gate_place(case.reference.tape, run, one) for one in (used, now)]
        if None in places or places[0] == places[1]:
            plural = "gate that enters" if len(changed) == 1 else "gates that enter"
            return f"{len(changed)} {plural} here: another stands in"
        (first, count), (second, _) = (one for one in places if one is not None)
        told.append(
            f"where the reference reads its gate {first + 1} of {count}, what it has as gate "
            f"{second + 1} is read"
        )
    return f"gates are exchanged: {', '.join(told)}"


def _held(case: Case, trial: Trial, values: Sequence[int]) -> dict[int, Array]:
    return dict(zip(values, case.reference_values(trial.given, values), strict=True))


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
        return case.run_reference(trial.given, {**now, **fixed})

    return predict


def _is_made_of(tape: Tape, value: int, source: int) -> bool:
    """Whether a value is made of another one and of no other that an input reaches."""
    op = tape.producer(value)
    while op is not None and value != source:
        live = [one for one in op.inputs if tape.is_live(one)]
        if len(live) != 1 or "split" in op.kind.lower():
            return False
        value = live[0]
        op = tape.producer(value)
    return value == source


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
        if _is_multiplied_before_weights(case.reference, gate):
            if same(after(case.first), case.first.candidate):
                yield reset_told("before", "after", after)
                return
        for state in (value for value in case.entering if value != gate):
            if not _meets_weights(case.reference, {state}):
                continue  # the gate does not change sides of a product
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
                ours, theirs = ("after", "before") if number else ("before", "after")
                yield reset_told(ours, theirs, *on_side(gated, bool(number)))
                return


def _gated(case: Case, run: Run, gate: int, leaf: int, trial: Trial) -> Array:
    """What a region gives where a gate multiplies a vector that it adds."""
    fixed = np.zeros(case.repaired.reference.tape.values[gate].shape[-1:])
    added = run(trial.given, {}), run(trial.given, {leaf: fixed})
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
    arrays = case.reference_values(case.first.given, ids)
    return [
        value
        for value, array in zip(ids, arrays, strict=True)
        if array.size > 1 and 0 < array.min() < array.max() < 1
    ][:8]


def _is_multiplied_before_weights(view: RegionView, gate: int) -> bool:
    """Whether a value is multiplied with another, and the weights with what that gives."""
    products = {value for op in _readers(view, {gate}) for value in op.outputs}
    return _meets_weights(view, products)


def _meets_weights(view: RegionView, values: set[int]) -> bool:
    """Whether an operation of a region reads one of some values, moved or not, and a matrix."""
    return any(_is_matrix(view.tape, value) for op in _readers(view, values) for value in op.inputs)


def _readers(view: RegionView, values: set[int]) -> Iterator[Op]:
    """The computing operations of a region that read one of some values, moved or not."""
    read = set(values)
    for op in view.ops:
        if not read.isdisjoint(op.inputs):
            if op.role == "move":
                read.update(op.outputs)
            else:
                yield op


def _is_matrix(tape: Tape, value: int) -> bool:
    shape = tape.values[value].shape
    return not tape.is_live(value) and sum(length > 1 for length in shape) >= 2


def _gate_of(case: Case, trial: Trial, gate: int) -> Array:
    (found,) = case.reference_values(trial.given, [gate])
    return found


def _after(case: Case, gate: int) -> Predict:
    def predict(trial: Trial) -> Array:
        factor = _gate_of(case, trial, gate)
        return factor * case.run_reference(trial.given, {gate: np.ones_like(factor)})

    return predict


def _before(case: Case, gate: int, state: int) -> Predict | None:
    shapes = [case.reference.tape.values[value].shape for value in (gate, state)]
    if shapes[0] != shapes[1]:
        return None

    def predict(trial: Trial) -> Array:
        factor, kept = case.reference_values(trial.given, [gate, state])
        return case.run_reference(trial.given, {state: factor * kept, gate: np.ones_like(factor)})

    return predict


# --- forget bias ----------------------------------------------------------------------------------


@cause("forget-bias", "gate-shift")
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
    # an LSTM's gates alone have one that forgets
    kind = "forget-bias" if _is_of_four(case) else "gate-shift"
    added = [f"{one:g}" if one else "nothing" for one in (ours, theirs)]
    yield Explanation(
        kind,
        f"{added[1]} is added to the gate before its sigmoid; the reference adds {added[0]}",
        lambda trial: sigmoid(trial.x + theirs),
        lambda trial: sigmoid(trial.x + ours),
        {"bias": (ours, theirs)},
        cost=-2,  # the number itself, where the weights give a difference only
    )


def _is_of_four(case: Case) -> bool:
    """Whether what enters is one of four gates."""
    tape, gate = case.reference.tape, case.entering[0]
    units = tape.values[gate].shape[-1]
    return any(tape.values[one].shape[-1] == 4 * units for one in gate_blocks(tape, gate))


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
    if a is None or b is None or a.alike(b):
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
