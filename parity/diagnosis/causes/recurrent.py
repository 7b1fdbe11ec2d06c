"""Recurrent layers with other gates: in another order, another reset, bias or activation."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, Predict, cause
from parity.diagnosis.causes._context import maps_elementwise
from parity.diagnosis.causes._curves import recognise, sigmoid
from parity.diagnosis.causes._gates import gate_blocks, gate_place, is_read_by_steps
from parity.diagnosis.causes._limits import (
    GATES_EXCHANGED,
    OPS_OF_A_STEP,
    RESETS_TRIED,
    VALUES_EXCHANGED,
)
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._substitution import with_value
from parity.diagnosis.causes._weights import gives
from parity.diagnosis.causes.activation import sample_of
from parity.diagnosis.causes.combinators import first_that_fits, other_parameter
from parity.diagnosis.normalisation import plain
from parity.diagnosis.trial import Trial
from parity.diagnosis.view import RegionView
from parity.numerics.limits import ALIKE
from parity.tape import Array, Op, Tape

RESET = (
    "the reset gate multiplies {candidate} the product with the recurrent weights, "
    "the reference's {reference} it"
)

# --- gates exchanged ------------------------------------------------------------------------------


@cause("gate-order")
def gates_exchanged(case: Case) -> Iterator[Explanation]:
    """A gate is used where the reference uses another one: the blocks are in another order.

    Looks like: a recurrent layer that is wrong from its first step on, though its weights are
        loaded; torch has a GRU's gates as reset, update, new and Keras as update, reset, new.
    Proof: the reference's own operations, with the gates that they read exchanged, give the
        candidate's value.
    """
    tape, read = case.reference.tape, case.entering
    partners = tuple(dict.fromkeys(case.partners.values()))
    arrays = _arrays(case, case.first, (*read, *partners))
    for chosen in itertools.islice(_assignments(tape, read, partners), GATES_EXCHANGED):
        changed = {a: b for a, b in chosen.items() if not np.array_equal(arrays[a], arrays[b])}
        if not changed or not all(_are_two_gates(tape, a, b) for a, b in changed.items()):
            continue
        # what stays and the candidate does not read is to the candidate what it was
        unread = {a: arrays[a] for a, b in chosen.items() if a == b and a not in partners}
        predict = partial(_with_exchanged, case, chosen, unread)
        if gives(case, predict):
            yield Explanation("gate-order", _exchange_in_words(case, changed), predict, cost=-1)
            return


def _exchange_in_words(case: Case, changed: Mapping[int, int]) -> str:
    """Which gate is read in place of which, counted as they lie in the reference's block."""
    run = case.repaired.reference.run
    exchanges = []
    for used, now in changed.items():
        places = [gate_place(case.reference.tape, run, one) for one in (used, now)]
        if None in places or places[0] == places[1]:
            plural = "gate is" if len(changed) == 1 else "gates are"
            return f"{len(changed)} {plural} read here in place of the reference's"
        (first, count), (second, _) = (one for one in places if one is not None)
        exchanges.append(f"gate {second + 1} of {count} is read as gate {first + 1}")
    return f"gates are exchanged, counted in the reference's order: {', '.join(exchanges)}"


def _arrays(case: Case, trial: Trial, values: Sequence[int]) -> dict[int, Array]:
    return dict(zip(values, case.reference_values(trial.given, values), strict=True))


def _assignments(
    tape: Tape, read: Sequence[int], partners: Sequence[int]
) -> Iterator[dict[int, int]]:
    """For what the reference's region reads what the candidate may read in its place.

    All that the candidate reads is to be read, by as few changes as possible.
    """
    if not 1 <= len(read) <= VALUES_EXCHANGED or not 1 <= len(partners) <= VALUES_EXCHANGED:
        return
    shapes = {value: tape.values[value].shape for value in (*read, *partners)}
    choices = [[b for b in dict.fromkeys((a, *partners)) if shapes[b] == shapes[a]] for a in read]
    found = [dict(zip(read, chosen, strict=True)) for chosen in itertools.product(*choices)]
    found = [one for one in found if set(partners) <= {*one.values()} or len(read) < len(partners)]
    yield from sorted(found, key=lambda one: sum(a != b for a, b in one.items()))


def _with_exchanged(
    case: Case, chosen: Mapping[int, int], fixed: Mapping[int, Array], trial: Trial
) -> Array:
    values = _arrays(case, trial, [b for b in chosen.values() if b not in fixed])
    now = {a: values[b] for a, b in chosen.items() if b in values}
    return case.run_reference(trial.given, {**now, **fixed})


def _are_two_gates(tape: Tape, a: int, b: int) -> bool:
    """Whether values come from blocks of one product, and none is the other's activation, say."""
    if gate_blocks(tape, a).isdisjoint(gate_blocks(tape, b)):
        return False
    return not (_is_made_of(tape, a, b) or _is_made_of(tape, b, a))


def _is_made_of(tape: Tape, value: int, source: int) -> bool:
    """Whether a value is made of another one and of no other that an input reaches."""

    def is_of_one(at: int, op: Op) -> bool:
        live = [one for one in op.inputs if tape.is_live(one)]
        return at != source and len(live) == 1 and op.word != "split"

    return any(at == source for at, _ in tape.graph.backward([value], is_of_one))


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
    if len(case.reference.ops) > OPS_OF_A_STEP:
        return  # of more than one step: see `layer_as_a_whole`
    yield from first_that_fits(case, _moved_resets(case))


def _moved_resets(case: Case) -> Iterator[Explanation]:
    """Each gate that may be a reset, on the other side of the product."""
    values = case.reference.tape.values
    for gate in _open_gates(case):
        multiplied = (value for op in _readers(case.reference, [gate]) for value in op.outputs)
        if _meets_weights(case.reference, multiplied):
            yield reset_explanation(after=False, predict=partial(_reset_after, case, gate))
        for state in case.entering:
            if state == gate or values[state].shape != values[gate].shape:
                continue
            if _meets_weights(case.reference, [state]):  # else there is no product to move before
                yield reset_explanation(True, partial(_reset_before, case, gate, state))


def reset_explanation(after: bool, predict: Predict, side: CaseSide | None = None) -> Explanation:
    """An explanation by a reset moved to the other side of the product.

    Args:
        after: whether the reference's comes after the product.
        side: which one is changed; the reference if None.
    """
    reference, candidate = ("after", "before") if after else ("before", "after")
    found = Explanation(
        "reset-after",
        RESET.format(reference=reference, candidate=candidate),
        predict,
        parameters={"reset": (reference, candidate)},
        cost=-1,
    )
    return found if side is None else side.changed(found)


@cause("reset-after")
def reset_on_the_bias(case: Case) -> Iterator[Explanation]:
    """A GRU's reset gate multiplies the product with the recurrent weights, and so its bias too.

    Looks like: the first step differs too, by the bias of the product less what the gate leaves
        of it: the state is zero there, and nothing else distinguishes the two.
    Proof: one side's own operations with the gate times that bias in its place give the other
        side's value.
    """
    yield from first_that_fits(case, _gated_biases(case))


def _gated_biases(case: Case) -> Iterator[Explanation]:
    gates = _open_gates(case)
    for side in sides(case):
        tape = side.view.tape
        biases = [
            leaf.id
            for leaf in side.view.leaves
            if leaf.array.ndim == 1 and leaf.array.any() and is_read_by_steps(tape, leaf.id)
        ]
        for gate, bias in itertools.islice(itertools.product(gates, biases), GATES_EXCHANGED):
            yield reset_explanation(side.is_candidate, partial(_gated, side, gate, bias), side)


def _gated(side: CaseSide, gate: int, bias: int, trial: Trial) -> Array:
    """What a region gives where a gate multiplies a vector that it adds."""
    (factor,) = side.case.reference_values(trial.given, [gate])
    without = side.run(trial.given, {bias: np.zeros(factor.shape[-1:])})
    result: Array = without + factor * (side.run(trial.given) - without)
    return result


def _open_gates(case: Case) -> list[int]:
    """Values in the reference's region, or read by either, that lie between 0 and 1."""
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
    ][:RESETS_TRIED]


def _meets_weights(view: RegionView, values: Iterable[int]) -> bool:
    """Whether an operation of a region reads one of some values, moved or not, and a matrix."""
    return any(_is_matrix(view.tape, one) for op in _readers(view, values) for one in op.inputs)


def _readers(view: RegionView, values: Iterable[int]) -> Iterator[Op]:
    """The computing operations of a region that read one of some values, moved or not."""
    graph, inside = view.tape.graph, {op.index for op in view.ops}
    for value in values:
        for _, op in graph.readers(value, lambda op: op.index in inside and op.role == "move"):
            if op.index in inside:
                yield op


def _is_matrix(tape: Tape, value: int) -> bool:
    shape = tape.values[value].shape
    return not tape.is_live(value) and sum(length > 1 for length in shape) >= 2


def _reset_after(case: Case, gate: int, trial: Trial) -> Array:
    (factor,) = case.reference_values(trial.given, [gate])
    result: Array = factor * case.run_reference(trial.given, {gate: np.ones_like(factor)})
    return result


def _reset_before(case: Case, gate: int, state: int, trial: Trial) -> Array:
    factor, kept = case.reference_values(trial.given, [gate, state])
    return case.run_reference(trial.given, {state: factor * kept, gate: np.ones_like(factor)})


# --- a gate the other way round -------------------------------------------------------------------


@cause("gate-inverted", enclosures=True)
def gate_inverted(case: Case) -> Iterator[Explanation]:
    """A gate takes what the reference's keeps: z stands where 1 - z should.

    Looks like: a GRU that forgets its state where it should keep it; torch and Keras weigh the old
        state with the update gate, Chainer and the GRU's paper the new one.
    Proof: the reference's own operations with 1 less the gate in its place give the candidate's
        value.
    """
    inverted = (with_value(case, gate, _complement) for gate in _open_gates(case))
    yield from first_that_fits(
        case,
        (
            Explanation(
                "gate-inverted",
                "what a gate keeps and what it takes are exchanged",
                predict,
                parameters={"weight": ("z", "1 - z")},
                cost=-1,
            )
            for predict in inverted
        ),
    )


def _complement(gate: Array) -> Array:
    return 1 - gate


# --- forget bias ----------------------------------------------------------------------------------


@cause("forget-bias", "gate-shift")
def forget_bias(case: Case) -> Iterator[Explanation]:
    """A number is added to the forget gate before its sigmoid, on one side only.

    Looks like: a state that fades too fast or too slowly; TensorFlow's BasicLSTMCell adds 1 when
        it runs, Keras keeps it in the bias, torch adds nothing.
    Proof: the sigmoid of the input plus the reference's number is the reference's value, plus
        the candidate's number the candidate's; both are solved for.
    """
    if not maps_elementwise(case):
        return
    tape, gate = case.reference.tape, case.entering[0]
    units = tape.values[gate].shape[-1:]
    widths = {tape.values[block].shape[-1] for block in gate_blocks(tape, gate)}
    if not widths:
        return
    # an LSTM's gates alone have one that forgets
    kind = "forget-bias" if 4 * units[0] in widths else "gate-shift"

    def claim(reference: float, candidate: float) -> Explanation:
        added = [f"{one:g}" if one else "nothing" for one in (reference, candidate)]
        return Explanation(
            kind,
            f"{added[1]} is added to the gate before its sigmoid; the reference adds {added[0]}",
            parameters={"bias": (reference, candidate)},
            cost=-2,  # the number itself, where the weights give a difference only
        )

    yield from other_parameter(case, lambda x, shift: sigmoid(x + shift), _shift, claim)


def _shift(x: Array, y: Array) -> float | None:
    """What is added to x before its sigmoid."""
    if not ((y > 1e-9) & (y < 1 - 1e-9)).all():
        return None
    shifts = np.log(y) - np.log1p(-y) - x
    shift = float(np.median(shifts))
    return plain(round(shift, 9)) if np.abs(shifts - shift).max() <= ALIKE else None


# --- activation of the gates ----------------------------------------------------------------------


@cause("recurrent-activation", enclosures=True)
def recurrent_activation(case: Case) -> Iterator[Explanation]:
    """A gate, or the state, goes through another activation.

    Looks like: states that are a little off (hard sigmoid for sigmoid), or grow (ReLU for tanh);
        Keras' old layers took a hard sigmoid for the gates.
    Proof: with the reference's curve the input gives the reference's values, with the
        candidate's the candidate's; and the input is one of the blocks of a recurrent layer.
    """
    points = sample_of(case)
    if points is None or not case.entering:
        return
    if not gate_blocks(case.reference.tape, case.entering[0]):
        return
    x, reference, candidate = points
    a, b = recognise(x, reference), recognise(x, candidate)
    if a is None or b is None or a.alike(b):
        return
    yield Explanation(
        "recurrent-activation",
        f"a gate goes through {b}, the reference's through {a}",
        lambda trial: b(trial.x.reshape(trial.reference.shape)),
        lambda trial: a(trial.x.reshape(trial.reference.shape)),
        {"kind": (a.name, b.name)} if a.name != b.name else {"slope": (a.slope, b.slope)},
        cost=-1,
    )
