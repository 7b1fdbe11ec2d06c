"""What a region computes with is reshaped or transposed otherwise before."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._arrange import AxisOrder, arrangement
from parity.diagnosis.causes._substitution import with_value
from parity.diagnosis.causes._weights import gives
from parity.diagnosis.view import RegionView
from parity.matching.axis_order import Order


@cause("flatten-order", "head-split-order")
def moved_otherwise(case: Case) -> Iterator[Explanation]:
    """What a region computes with is reshaped or transposed otherwise before.

    Looks like: tokens that hold numbers of several channels, where they should hold one place's.
    Proof: the reference's operations on their inputs, moved as the candidate moves it, give the
        candidate's value.
    """
    reference, candidate = _moved(case.reference), _moved(case.candidate)
    for value, root in reference.items():
        partner = case.reference.tape.before_moves(root)
        array = case.first.given.get(partner)
        if array is None or array.size < 2:
            continue
        places = {partner: np.arange(array.size, dtype=np.float64).reshape(array.shape)}
        (own,) = case.reference_values({**case.first.given, **places}, [value])
        for other in candidate:
            if case.candidate.tape.values[other].shape != own.shape:
                continue
            (index,) = case.candidate_values({**case.first.given, **places}, [other])
            order = None if np.array_equal(own, index) else arrangement(own, index)
            flat = own.ndim < array.ndim
            if order is None or (isinstance(order, AxisOrder) and not flat):
                continue  # no axis is split
            predict = with_value(case, value, order)
            if gives(case, predict):
                yield Explanation(
                    "flatten-order" if flat else "head-split-order",
                    f"{array.shape} is made {own.shape} in another order: {order}",
                    predict,
                )
                return


def _moved(view: RegionView) -> dict[int, int]:
    """What mere moves in a region make for its computing operations, and of what."""
    made = {value for op in view.ops if op.role == "move" for value in op.outputs}
    read = dict.fromkeys(value for op in view.computing for value in op.inputs if value in made)
    return {value: view.tape.before_moves(value) for value in read}


# --- values that are read -------------------------------------------------------------------------


@cause("flatten-order", "head-split-order")
def read_as_it_lies(case: Case) -> Iterator[Explanation]:
    """An input lies in another order on the candidate's side, and is read as if it did not.

    Looks like: a dense layer after a flatten whose result has nothing in common with the
        reference's, from equal weights and equal images.
    Proof: the reference's operations on its own input, laid out as the candidate's, give the
        candidate's value.
    """
    pairs = {
        value: case.repaired.pairs[value]
        for value in case.candidate_entering
        if value in case.repaired.pairs and not case.repaired.pairs[value].order.identity
    }
    for value, pair in pairs.items():
        candidate = case.candidate.tape.values[value].shape
        for entering in case.entering:
            tape = case.reference.tape
            reference = tape.values[entering].shape
            if tape.before_moves(entering) != tape.before_moves(pair.reference):
                continue  # another value altogether
            if len(pair.order.fine) == len(reference):
                continue  # transposed, and not flattened
            predict = with_value(case, entering, pair.order.apply, pair.reference)
            if reference != candidate or not gives(case, predict):
                continue
            kind = "flatten-order" if len(reference) == 2 else "head-split-order"
            rows = case.reference.tape.values[pair.reference].shape
            letters = _letters(pair.order, True), _letters(pair.order, False)
            yield Explanation(
                kind,
                f"{rows} is flattened in another order than the weights expect: {letters[1]}",
                predict,
                parameters={"order": letters},
            )
            return


def _letters(order: Order, straight: bool) -> str:
    """The axes as they lie in the reference, or in the candidate in the same letters."""
    rank = len(order.fine)
    places, inner = "DHW"[5 - rank :], tuple(range(1, rank - 1))
    names = "abcdefghij"[:rank]
    if not 3 <= rank <= 5:
        pass  # no images
    elif order.axes == (0, rank - 1, *inner):
        names = f"N{places}C"
    elif order.axes == (0, *(axis + 1 for axis in inner), 1):
        names = f"NC{places}"
    return names if straight else "".join(names[axis] for axis in order.axes)
