"""Recurrent layers with other steps or states: the other direction, no state, another mask."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial
from itertools import chain

import numpy as np

from parity.arrays import varies
from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._context import maps_elementwise
from parity.diagnosis.causes._gates import is_of_gates, of_a_recurrent_layer, real, step_axes
from parity.diagnosis.causes._masks import is_zero_one
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._weights import gives, with_leaves
from parity.diagnosis.causes.combinators import first_fitting, first_that_fits
from parity.diagnosis.trial import Trial
from parity.diagnosis.view import RegionView
from parity.operations import FILLED, PRODUCTS
from parity.tape import Array, Op, Tape
from parity.walk_once import Once

_MULTIPLYING = PRODUCTS | {"recurrence"}
_HELD = ("parameter", "buffer", "constant")  # what a model holds, and is not computed

# --- direction ------------------------------------------------------------------------------------


@cause("direction")
def direction(case: Case) -> Iterator[Explanation]:
    """States are in the reverse order of steps: not reversed again after a backward pass, say.

    Looks like: sequences that agree when one of them is read from its end.
    Proof: the reference's value with its steps reversed is the candidate's, and these are a
        recurrent layer's states. Steps are where one place of the input reaches several.
    """
    shape = case.first.reference.shape
    if len(shape) != 3 or shape != case.first.candidate.shape or not of_a_recurrent_layer(case):
        return
    for axis in (0, 1):
        predict = partial(_with_steps_reversed, axis)
        if shape[axis] > 1 and gives(case, predict) and axis in step_axes(case):
            yield Explanation(
                "direction",
                f"the steps (axis {case.candidate_axis(axis)}) are in the other direction",
                predict,
                parameters={"direction": ("forwards", "backwards")},
                cost=-1,
            )
            return


def _with_steps_reversed(axis: int, trial: Trial) -> Array:
    return np.flip(trial.reference, axis)


# --- state ----------------------------------------------------------------------------------------


@cause("state-not-carried")
def state_of_zeros(case: Case) -> Iterator[Explanation]:
    """A recurrent layer starts from zero where the reference is given a state, or goes on from one.

    Looks like: outputs that depend on the episode's first steps in one model only; a sequence in
        parts whose first part agrees.
    Proof: the reference's own operations with that state at zero give the candidate's value. What
        was computed is a state if it comes of the same weights as what is made of it.
    """
    held = (
        _without(case, leaf.id, "from")
        for leaf in (case.reference.leaves if of_a_recurrent_layer(case) else ())
        if real(leaf) and leaf.array.size > 1 and leaf.array.any()
        if _is_state(case.reference.tape, leaf.id)
    )
    found = [] if _is_kept_as_often(case) else _passed_on(case)
    computed = (_without(case, value, "goes on from") for value in found)
    yield from first_that_fits(case, chain(held, computed))


@cause("wrong-source", tier=2)
@first_fitting
def state_of_another_step(case: Case) -> Iterator[Explanation]:
    """A step goes on from another step's state than the reference's, or starts where that goes on.

    Looks like: a first state where the reference has one, in a layer that passes its states on, as
        where of several states that take turns the wrong one is chosen.
    Proof: the reference's own operations with that state at zero give the candidate's value, and
        the candidate goes on from a state in as many steps as the reference.
    """
    for value in _passed_on(case) if _is_kept_as_often(case) else ():
        shape = case.reference.tape.values[value].shape
        right, wrong = f"a state of {shape} that an earlier step gave", "a first state of zeros"
        yield Explanation(
            "wrong-source",
            f"a step goes on from {wrong}; the reference's goes on from {right}",
            with_leaves(case, {value: np.zeros(shape)}),
            parameters={"source": (right, wrong)},
        )


def _is_kept_as_often(case: Case) -> bool:
    """Whether the candidate goes on from states in as many steps as the reference, if not there."""
    reference, candidate = (view.tape.graph for view in (case.reference, case.candidate))
    return 0 < reference.steps_that_go_on <= candidate.steps_that_go_on


def _passed_on(case: Case) -> Iterator[int]:
    """The inputs that may be a state from which the reference goes on, and the candidate not."""
    tape, inside = case.reference.tape, {op.index for op in case.reference.ops}
    # where matrices are read, in the region or first behind it
    here = inside & _reading(tape) | _first_readers(tape, case.reference.end)
    for value in case.entering:
        if (
            (_is_between_readers(tape, value, here) or _is_kept_by_a_gate(case, value))
            and not _goes_on(case, value)
            # a matrix meets it without what the region computes: a gate lives within one step
            and _first_readers(tape, value, inside)
            # the candidate's first step may be of what another step of the reference's reads
            and _steps_behind(case.candidate) <= _steps_behind(case.reference)
        ):
            yield value


def _without(case: Case, state: int, starts: str) -> Explanation:
    shape = case.reference.tape.values[state].shape
    return Explanation(
        "state-not-carried",
        f"the candidate starts from a state of zeros, the reference {starts} one of {shape}",
        with_leaves(case, {state: np.zeros(shape)}),
        parameters={"carried": (True, False)},
        cost=-1,
    )


def _steps_behind(view: RegionView) -> int:
    """How often what is made of a region's end is multiplied with one matrix.

    A first state's product is made once and for all: its readers are no steps.
    """
    tape = view.tape
    made = {tape.values[one].op for one in tape.graph.descendants(view.end)}
    made = {index for index in made if index >= 0 and tape.ops[index].word in _MULTIPLYING}
    return max((len(readers & made) for readers in tape.graph.readers_of_matrices), default=0)


def _goes_on(case: Case, value: int) -> bool:
    """Whether the candidate goes on from a state: a kernel reads it that it was computed with.

    Or it comes to the end with no kernel on the way. Then a term is missing, and not the state.
    """
    tape, run = case.candidate.tape, case.repaired.reference.run
    state, leading = run.array(value), tape.graph.ancestors([case.candidate.end])
    pairs = case.repaired.pairs.values()
    # what is added to it may be zero in the first step
    alike = [
        pair.candidate
        for pair in pairs
        if (array := run.array(pair.reference)).shape == state.shape
        and np.allclose(array, state, 1e-9, 1e-12)
    ]
    before, todo, moved = tape.graph.ancestors(alike), Once(alike), set(alike)
    for at in todo:
        for index in set(tape.consumers[at]) & leading:
            op = tape.ops[index]
            if op.word in FILLED:
                continue
            kernels = [some for some in tape.graph.readers_of_matrices if index in some]
            if kernels:
                if at in moved and any(some & before for some in kernels):
                    return True
                continue
            if op.role != "move" and case.candidate.end in op.outputs:
                return True
            if op.role == "move" and at in moved:
                moved.update(op.outputs)
            todo.add(op.outputs)
    return False


def _reading(tape: Tape) -> set[int]:
    """The operations that read matrices."""
    return set[int]().union(*tape.graph.readers_of_matrices)


def _first_readers(tape: Tape, start: int, avoiding: Collection[int] = ()) -> set[int]:
    """The first operations behind a value that read matrices, past all but those to be avoided."""
    reading = _reading(tape)
    ends = reading.union(avoiding)
    walk = tape.graph.readers(start, lambda op: op.index not in ends)
    return reading & {op.index for _, op in walk}


def _is_between_readers(tape: Tape, value: int, here: set[int]) -> bool:
    """Whether a value comes of a matrix that something made of the value reads again.

    And here, where matrices are read: what a last layer reads besides a state is none.
    """
    before = tape.graph.ancestors([value])
    after = {tape.values[made].op for made in tape.graph.descendants(value)} - before
    if here:
        after &= here
    shape = tape.values[value].shape
    return any(
        # the product for several gates at once is wider than a state
        readers & before and readers & after and shape[-1:] <= (_narrowest(tape, readers),)
        for readers in tape.graph.readers_of_matrices
    )


def _is_kept_by_a_gate(case: Case, value: int) -> bool:
    """Whether the region reads a value and what its own matrix makes of it: a state and its gate.

    So it is in the last step, behind which no matrix reads the state again.
    """
    tape = case.reference.tape
    before = tape.graph.ancestors([value])
    others = tape.graph.ancestors(one for one in case.entering if one != value)
    reading = _first_readers(tape, value)
    shape = tape.values[value].shape
    return any(
        readers & before
        and readers & reading & others - before
        and shape[-1:] <= (_narrowest(tape, readers),)
        for readers in tape.graph.readers_of_matrices
    )


def _is_held(tape: Tape, value: int) -> bool:
    """Whether a value is what the model holds, moved or joined: a first state is made of more."""
    return all(
        tape.values[at].kind in _HELD if op is None else op.role == "move"
        for at, op in tape.graph.backward([value], lambda _, op: op.role == "move")
    )


def _narrowest(tape: Tape, readers: frozenset[int]) -> int:
    """The shortest axis of the matrices that operations read."""
    lengths = [
        min(shape)
        for index in readers
        for value in tape.ops[index].inputs
        if not tape.is_live(value)
        and _is_held(tape, value)
        and len(shape := tape.values[value].shape) == 2
    ]
    return min(lengths, default=0)


def _is_state(tape: Tape, leaf: int) -> bool:
    """Whether a constant is multiplied with other parameters only; a kernel meets inputs."""
    shape = tape.values[leaf].shape
    if is_of_gates(shape):
        return False
    products = [
        (op, value)
        for value, op in tape.graph.readers(leaf, lambda op: op.role == "move")
        if op.word in PRODUCTS
    ]
    return bool(products) and all(op.static and _comes_back(tape, op, v) for op, v in products)


def _comes_back(tape: Tape, product: Op, state: int) -> bool:
    """Whether what a product gives meets its matrix again, and no other on the way.

    A first input's does not: the next input is none of its. Of a single step it cannot be known.
    """
    again = {
        op.index
        for kernel in (tape.before_moves(one) for one in product.inputs if one != state)
        for _, op in tape.graph.readers(kernel, lambda op: op.role == "move" and op.static)
        if op is not product and not op.static
    }
    made = (
        op.index
        for value in product.outputs
        for _, op in tape.graph.readers(
            value, lambda op: op.index not in again and op.word not in PRODUCTS
        )
    )
    return not again or not again.isdisjoint(made)


# --- masks ----------------------------------------------------------------------------------------


@cause("sequence-mask")
def other_steps_masked(case: Case) -> Iterator[Explanation]:
    """Other steps of the sequences are masked: by another count of lengths.

    Looks like: zeros where the reference has numbers, and the other way round, in whole steps.
    Proof: the input times a mask of 0 and 1 by sequence and step is the reference's value, times
        another such mask the candidate's.
    """
    first = case.first
    if not maps_elementwise(case) or first.x.ndim < 3 or not first.x.all():
        return
    factors = [one / first.x for one in (first.reference, first.candidate)]
    if not all(_masks_steps(one) for one in factors):
        return
    masks = [one[..., 0].astype(bool) for one in factors]
    kept = [int(mask.sum()) for mask in masks]
    row = int((masks[0] != masks[1]).reshape(len(masks[0]), -1).any(1).argmax())
    steps = tuple(tuple(mask[row].ravel().nonzero()[0].tolist()) for mask in masks)
    yield Explanation(
        "sequence-mask",
        f"{kept[1]} of {masks[0].size} steps are kept, the reference keeps {kept[0]}; of sequence "
        f"{row} the steps {steps[1]}, the reference {steps[0]}",
        lambda trial: trial.x * factors[1],
        lambda trial: trial.x * factors[0],
        {"steps": (steps[0], steps[1])},
        cost=-1,
    )


def _masks_steps(ratio: Array) -> bool:
    return bool(((ratio == 0) | (ratio == 1)).all() and (ratio == ratio[..., :1]).all())


@cause("sequence-mask", enclosures=True)
def state_kept_in_the_padding(case: Case) -> Iterator[Explanation]:
    """A mask keeps the state of a recurrent layer where a sequence is padded, on one side only.

    Looks like: the longest sequences agree, the shorter ones do not.
    Proof: the one side's own operations with its mask of 0 and 1 open give the other side's value.
    """
    # zeros come of many masks, and of a first state
    if of_a_recurrent_layer(case) and varies(case.first.reference):
        yield from first_that_fits(case, _without_masks(case))


def _without_masks(case: Case) -> Iterator[Explanation]:
    for side in sides(case):
        values = side.view.tape.values
        states = [one for one in side.entering if values[one].size == values[side.view.end].size]
        if len(states) < 2 and not case.whole:
            continue  # no choice between two states
        kept = ("is not", "is") if side.is_candidate else ("is", "is not")
        for opened in _opened(side):
            found = Explanation(
                "sequence-mask",
                f"the state in the padding {kept[1]} kept, the reference's {kept[0]}",
                partial(_with_values, side, opened),
                parameters={"masked": (not side.is_candidate, side.is_candidate)},
                cost=-1,
            )
            yield side.changed(found)


def _opened(side: CaseSide) -> Iterator[dict[int, Array]]:
    """Masks that let all pass: those held by the model, else those made of what it holds."""
    tape, run = side.view.tape, side.model.run
    read = dict.fromkeys(v for op in side.view.ops if not op.static for v in op.inputs)
    made = {v: run.array(v) for v in read if not tape.is_live(v) and tape.values[v].size > 1}
    held = {leaf.id: leaf.array for leaf in side.view.leaves}
    for arrays in (held, made):
        masks = {value: array for value, array in arrays.items() if is_zero_one(array)}
        if masks:
            for choice in (1, 0):
                yield {value: np.full_like(array, choice) for value, array in masks.items()}
            return


def _with_values(side: CaseSide, values: dict[int, Array], trial: Trial) -> Array:
    return side.run(trial.given, values)
