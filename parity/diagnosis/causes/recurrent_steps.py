"""Recurrent layers with other steps or states: the other direction, no state, another mask."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._gates import of_a_recurrent_layer, same, step_axes
from parity.diagnosis.causes._substitution import on_side
from parity.diagnosis.trial import Trial
from parity.diagnosis.view import RegionView
from parity.tape import Array, Op, Tape
from parity.walk_once import Once

_PRODUCTS = ("mm", "matmul", "linear")
_HELD = ("parameter", "buffer", "constant")  # what a model holds, and is not computed

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
        if same(case.run_reference(case.first.given, zeros), case.first.candidate):
            yield Explanation(
                "state-not-carried",
                "the candidate starts from a state of zeros, "
                f"the reference from one of {leaf.array.shape}",
                lambda trial, zeros=zeros: case.run_reference(trial.given, zeros),  # type: ignore[misc]
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
    here = _up_to_matrices(case.reference)
    for value in case.entering:
        if not _is_between_readers(case.reference.tape, value, here) or _goes_on(case, value):
            continue
        if not _is_read_besides(case.reference, value):
            continue  # a gate, which lives within one step
        if _steps_behind(case.candidate) > _steps_behind(case.reference):
            continue  # the candidate's first step, of what another step of the reference's reads
        zero = partial(_with_zero, case, value)
        if same(zero(case.first), case.first.candidate):
            shape = case.reference.tape.values[value].shape
            yield Explanation(
                "state-not-carried",
                "the candidate starts from a state of zeros, "
                f"the reference goes on from one of {shape}",
                zero,
                parameters={"carried": (True, False)},
                cost=-1,
            )
            return


def _steps_behind(view: RegionView) -> int:
    """How often one matrix is read by what is made of a region's end."""
    tape = view.tape
    made = {tape.values[one].op for one in tape.graph.descendants(view.end)}
    return max((len(readers & made) for readers in tape.graph.readers_of_matrices), default=0)


def _with_zero(case: Case, value: int, trial: Trial) -> Array:
    shape = case.reference.tape.values[value].shape
    return case.run_reference(trial.given, {value: np.zeros(shape)})


def _goes_on(case: Case, value: int) -> bool:
    """Whether the candidate goes on from a state: a kernel reads it that what it is made of met.

    Or it comes to the end with no kernel on the way. Then a term is missing, and not the state.
    """
    tape, run = case.candidate.tape, case.repaired.reference.run
    state, leading = run.array(value), tape.graph.ancestors([case.candidate.end])
    pairs = case.repaired.pairs.values()
    alike = [p.candidate for p in pairs if _is_one(run.array(p.reference), state)]
    before, todo, moved = tape.graph.ancestors(alike), Once(alike), set(alike)
    for at in todo:
        for index in set(tape.consumers[at]) & leading:
            op = tape.ops[index]
            if "like" in op.kind.lower():  # of zeros_like only the shape is read
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


def _is_one(a: Array, b: Array) -> bool:
    """Whether two values are one: what is added to it may be zero in the first step."""
    return a.shape == b.shape and bool(np.allclose(a, b, 1e-9, 1e-12))


def _is_read_besides(view: RegionView, value: int) -> bool:
    """Whether a matrix meets a value, or what is made of it, without what the region computes."""
    tape, inside = view.tape, {op.index for op in view.ops}
    reading = set[int]().union(*tape.graph.readers_of_matrices)
    todo = Once([value])
    for one in todo:
        for index in tape.consumers[one]:
            if index in reading:
                return True
            if index not in inside:
                todo.add(tape.ops[index].outputs)
    return False


def _up_to_matrices(view: RegionView) -> set[int]:
    """The operations that read matrices in a region, and the first behind it that do."""
    tape = view.tape
    reading = set[int]().union(*tape.graph.readers_of_matrices)
    found = {op.index for op in view.ops} & reading
    todo = Once([view.end])
    for value in todo:
        for index in tape.consumers[value]:
            if index in reading:
                found.add(index)
            else:
                todo.add(tape.ops[index].outputs)
    return found


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


def _is_held(tape: Tape, value: int) -> bool:
    """Whether a value is what the model holds, moved or joined: a first state is made of more."""
    todo = Once([value])
    for at in todo:
        op = tape.producer(at)
        if op is None and tape.values[at].kind not in _HELD or op and op.role != "move":
            return False
        todo.add(op.inputs if op is not None else ())
    return True


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
            elif any(word in op.kind.lower() for word in _PRODUCTS):
                products.append(op.static and _comes_back(tape, op, value))
    return bool(products) and all(products)


def _comes_back(tape: Tape, product: Op, state: int) -> bool:
    """Whether what a product gives meets its matrix again, and no other on the way.

    A first input's does not: the next input is none of its. Of a single step it cannot be told.
    """
    kernels = Once(tape.before_moves(one) for one in product.inputs if one != state)
    again: set[int] = set()
    for kernel in kernels:
        for index in tape.consumers[kernel]:
            if tape.ops[index].role == "move" and tape.ops[index].static:
                kernels.add(tape.ops[index].outputs)
            elif index != product.index and not tape.ops[index].static:
                again.add(index)
    made = Once(product.outputs)
    for value in made:
        for index in tape.consumers[value]:
            if index in again:
                return True
            if not any(word in tape.ops[index].kind.lower() for word in _PRODUCTS):
                made.add(tape.ops[index].outputs)
    return not again


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
    masks = [one[..., 0].astype(bool) for one in (ours, theirs)]
    kept = [int(mask.sum()) for mask in masks]
    row = int((masks[0] != masks[1]).reshape(len(masks[0]), -1).any(1).argmax())
    steps = tuple(tuple(mask[row].ravel().nonzero()[0].tolist()) for mask in masks)
    yield Explanation(
        "sequence-mask",
        f"{kept[1]} of {masks[0].size} steps are kept, the reference keeps {kept[0]}; of sequence "
        f"{row} the steps {steps[1]}, the reference {steps[0]}",
        lambda trial: trial.x * theirs,
        lambda trial: trial.x * ours,
        {"steps": (steps[0], steps[1])},
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
            if same(run(first.given, opened), wanted):
                unmasked = partial(_with_leaves, run, opened)
                yield Explanation(
                    "sequence-mask",
                    "the state in the padding is kept, the reference's is not"
                    if number
                    else "the state in the padding is not kept, the reference's is",
                    *on_side(unmasked, bool(number)),
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
    run: Callable[[Mapping[int, Array], Mapping[int, Array]], Array],
    leaves: Mapping[int, Array],
    trial: Trial,
) -> Array:
    return run(trial.given, leaves)


def _is_mask_of_steps(ratio: Array) -> bool:
    return bool(((ratio == 0) | (ratio == 1)).all() and (ratio == ratio[..., :1]).all())
