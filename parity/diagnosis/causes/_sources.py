"""Why it is uncertain what a model reads, and values in words."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Collection, Iterable, Iterator
from functools import partial

import numpy as np

from parity.arrays import varies
from parity.diagnosis.case import Case
from parity.diagnosis.causes._limits import EQUAL_VALUES
from parity.diagnosis.causes._substitution import Form, Inside, inside_candidate
from parity.errors import ReplayError
from parity.matching.axis_order import Order
from parity.matching.limits import SAME
from parity.numerics.difference import residual
from parity.operations import BOUNDS, FILLED
from parity.tape import Array, Op, Replay, Tape


def twins(case: Case, sources: Collection[int] = ()) -> str:
    """Why other values may be read: equal ones, as (mu + s) - mu and s, or half of one doubled.

    Args:
        sources: the reference's values that are read instead; () for all inputs of the region.
    """
    idle = _idle(case)
    if idle:
        return idle
    found, tape = case.repaired, case.repaired.side.tape
    for value in case.candidate_entering:
        if sources and case.partners.get(value) not in sources:
            continue
        pair = found.pairs.get(value)
        if pair is None:
            continue
        more = _reads_more(case, value, pair.reference)
        if more:
            return f"what is read depends on input {more} too, though not on these inputs"
        reference = found.reference
        equal = reference.index.look_up(reference.print(pair.reference), SAME)
        alike = set(itertools.islice(equal, EQUAL_VALUES))
        before = {v for index in tape.graph.ancestors([value]) for v in tape.ops[index].outputs}
        own = {v for v in before if v in found.pairs and found.pairs[v].reference in alike}
        for side, one, others in ((reference.tape, pair.reference, alike), (tape, value, own)):
            for other in others - {one}:
                if side.is_live(other) and not _is_the_same(side, one, other):
                    name = named(side, other)
                    return f"what is read is equal to {name}: either may be meant"
    return ""


def _depends_on(tape: Tape, value: int) -> set[int]:
    """The model's inputs that a value is made of; of zeros like an input only the shape counts."""
    walk = tape.graph.backward([value], lambda _, op: op.word not in FILLED)
    return {one for one, _ in walk if tape.values[one].kind == "input"}


def _reads_more(case: Case, value: int, partner: int) -> str:
    """Which inputs it depends on and its partner does not, as through a mask that masks nothing."""
    tapes, pairs = (case.reference.tape, case.candidate.tape), case.repaired.pairs
    known = _depends_on(tapes[0], partner) | _read_by_the_host(tapes[0], partner)
    more = [
        tapes[1].values[one].name
        for one in sorted(_depends_on(tapes[1], value))
        if one in pairs and pairs[one].reference not in known
    ]
    return ", ".join(repr(name) for name in more)


def _read_by_the_host(tape: Tape, value: int) -> set[int]:
    """The inputs that NumPy alone may have read: of as many samples as an array that goes into it.

    As a mask that is made of lengths: on the tape it is a constant.
    """
    unread = {one for one in tape.inputs.values() if not tape.consumers[one]}
    walk = tape.graph.backward([value], lambda _, op: True) if unread else ()
    made = (tape.values[one] for one, op in walk if op is None)
    arrays = [one.shape for one in made if one.kind == "constant" and not one.name]
    samples = {shape[0] for shape in arrays if len(shape) > 1 and shape[0] > 1}
    return {one for one in unread if {*tape.values[one].shape[:1]} & samples}


def _idle(case: Case) -> str:
    """Why another value may be read: an operation on the way, as a product with ones, is idle."""
    said = next(unchanging(inside_candidate(case), case.candidate.ops, least=2), "")
    if said:
        return said
    for value in case.candidate_entering:
        if not _only_fills(case.candidate.ops, value) and _is_lost(case, value):
            name = named(case.candidate.tape, value)
            return f"{name} is read and changes nothing there: how it is used may be what is wrong"
    return ""


def _only_fills(ops: Iterable[Op], value: int) -> bool:
    """Whether operations read a value for its shape, or device, alone, as zeros like it."""
    return all(op.word in FILLED for op in ops if value in op.inputs)


def unchanging(inside: Inside, ops: Iterable[Op], least: int = 1) -> Iterator[str]:
    """Operations on `least` values or more that give what they take, as a clip out of reach."""
    for op in ops:
        live = [value for value in op.inputs if inside.view.tape.is_live(value)]
        if op.role != "compute" or len(set(live)) < least:
            continue
        made = inside.array(op.outputs[0])
        if made.dtype.kind == "b":
            continue  # flags, of numbers that were flags before
        for value in live:
            array = inside.array(value)
            if array.shape == made.shape and varies(made) and residual(array, made) <= SAME:
                yield f"{op.kind} changes nothing there: what it takes may be what is wrong"


def near(inside: Inside) -> list[Op]:
    """The operations of a region, and those that make its inputs."""
    makers = [inside.view.tape.producer(value) for value in inside.entering]
    return [*inside.view.ops, *filter(None, makers)]


def is_bound(op: Op) -> bool:
    """Whether an operation cuts off at a bound, or may be half of one that does."""
    return op.word in BOUNDS


def _is_lost(case: Case, value: int) -> bool:
    """Whether the candidate's end is the same for another input, as if masked."""
    tape, run, end = case.candidate.tape, case.repaired.side.run, case.candidate.end
    array = run.array(value)
    if array.dtype.kind != "f" or not np.isfinite(array).all() or value == end:
        return False
    step = np.random.default_rng(0).uniform(0.05, 0.1, array.shape) * (array.std() or 1.0)
    inside = {op.index for op in case.candidate.ops}
    try:
        before, after = (
            tape.replay("float64", {value: supplied}, run, only=inside).array(end)
            for supplied in (array, array + step)
        )
    except ReplayError:  # outside what an operation takes
        return False
    return np.array_equal(before, after)


def _is_the_same(tape: Tape, value: int, other: int) -> bool:
    """Whether equal values are one, and so on other inputs too: what shapes alone decide is."""
    if _is_next_to(tape, value, other):
        return True
    return not _depends_on(tape, value) and not _depends_on(tape, other)


def _before_moves(tape: Tape, value: int) -> int:
    """The value that a chain of moves started from, some of which may go by a computed shape."""
    op = tape.producer(value)
    while op is not None and op.role == "move":
        moved = [one for one in op.inputs if _depends_on(tape, one)] or op.inputs
        if len(moved) != 1:
            break
        value = moved[0]
        op = tape.producer(value)
    return value


def _is_next_to(tape: Tape, value: int, other: int) -> bool:
    """Whether one is the other moved, or what an operation gives of it alone, as a clip of none."""
    roots = _before_moves(tape, value), _before_moves(tape, other)
    if roots[0] == roots[1] or _is_moved_from(tape, value, other):
        return True
    for op in filter(None, map(tape.producer, roots)):
        read = {_before_moves(tape, v) for v in op.inputs if _depends_on(tape, v)}
        if len(read) == 1 and read & set(roots):
            return True
    return False


def _is_moved_from(tape: Tape, value: int, other: int) -> bool:
    """Whether one is the other but for moves, as a view of memory that was written beside it."""

    def moved(of: int) -> set[int]:
        return {one for one, _ in tape.graph.backward([of], lambda _, op: op.role == "move")}

    return other in moved(value) or value in moved(other)


def named_apart(tape: Tape, run: Replay, first: int, second: int) -> tuple[str, str]:
    """Two values in words; where they are parts of one, or one line made both, what they are apart.

    As in each turn of a loop the same is said, it is one finding.
    """
    names = named(tape, first), named(tape, second)
    if names[0] != names[1]:
        return names
    places = _place(tape, run, first), _place(tape, run, second)
    if places[0] and places[1] and places[0] != places[1] and places[0][0] == places[1][0]:
        axis, steps = places[0][0], places[1][1] - places[0][1]
        far = f"{abs(steps)} {'later' if steps > 0 else 'earlier'} along axis {axis}"
        return names[0], f"{names[0]}, {far}"
    words = ("earlier", "later")[:: 1 if first < second else -1]
    return f"{names[0]}, the {words[0]} one", f"{names[1]}, the {words[1]} one"


def _place(tape: Tape, run: Replay, value: int) -> tuple[int, int] | None:
    """The axis along which a value is a slice of another, and the place there."""
    made, size = value, tape.values[value].size
    while tape.values[value].size == size:
        op = tape.producer(value)
        if op is None or op.role != "move" or len(op.inputs) != 1:
            return None
        made, value = value, op.inputs[0]
    part, whole = run.array(made), run.array(value)
    if part.ndim == whole.ndim:
        return _start(part, whole)
    for axis, length in enumerate(whole.shape):
        if length > 1 and part.size * length == whole.size:
            rows = np.moveaxis(whole, axis, 0).reshape(length, -1)
            at = np.flatnonzero((rows == part.reshape(-1)).all(axis=1))
            if at.size == 1:
                return axis, int(at[0])
    return None


def _start(part: Array, whole: Array) -> tuple[int, int] | None:
    """The axis along which an array is several places of another in a row, and the first."""
    apart = [n for n, lengths in enumerate(zip(part.shape, whole.shape, strict=True))
             if lengths[0] != lengths[1]]  # fmt: skip
    if len(apart) != 1:
        return None
    (axis,) = apart
    count, length = part.shape[axis], whole.shape[axis]
    starts = (
        at
        for at in range(length - count + 1)
        if np.array_equal(whole.take(range(at, at + count), axis), part)
    )
    at = next(starts, None)
    return None if at is None else (axis, at)


def named(tape: Tape, value: int) -> str:
    value = tape.before_moves(value)
    op = tape.producer(value)
    if op is None:
        of = tape.values[value]
        what = "the input" if of.kind == "input" else f"the {of.kind}"
        return f"{what} {of.name!r}" if of.name else "a constant"
    where = op.site.layer or op.site.source.rsplit("/", 1)[-1]
    return f"the result of {op.kind}" + (f" ({where})" if where else "")


def ways_to_lie(case: Case, value: int, other: int) -> list[Form]:
    """How another value of the reference's may stand in a value's place.

    As it lies in the reference, and as the candidate reads it, where that is laid otherwise: the
    features of tokens that one side has as rows and the other as columns.
    """
    values = case.reference.tape.values
    shape = values[value].shape
    found: dict[bytes, Form] = {}
    index = np.arange(values[other].size).reshape(values[other].shape)
    forms: list[Form] = [partial(_shaped, shape=shape)]
    pairs = case.inputs.pairs
    for read, partner in (*case.partners.items(), *case.inputs.exact.items()):
        if partner == other and read in pairs:
            forms += (
                partial(_as_read, order=pairs[read].order, back=back, shape=shape)
                for back in _orders_of(case, value, pairs[read].order.shape)
            )
    for form in forms:
        with contextlib.suppress(ReplayError, ValueError):
            found.setdefault(form(index).tobytes(), form)
    return list(found.values())


def _shaped(array: Array, shape: tuple[int, ...]) -> Array:
    return array.reshape(shape)


def _as_read(array: Array, order: Order, back: Order, shape: tuple[int, ...]) -> Array:
    return back.revert(order.apply(array), shape)


def _orders_of(case: Case, value: int, shape: tuple[int, ...]) -> Iterator[Order]:
    """The orders in which the reference's value lies in the candidate, as one of a shape."""
    values, wanted = case.reference.tape.values, case.reference.tape.values[value].shape
    if case.order is not None and case.candidate.value.shape == shape:
        if case.reference.value.shape == wanted:
            yield case.order
    for pair in case.inputs.partner_pairs:
        if pair.order.shape == shape and values[pair.reference].shape == wanted:
            yield pair.order


def put_there(case: Case, other: int) -> str:
    """Why a value may be read as it should be: a repair for another reader put it there."""
    for value, partner in case.partners.items():
        if partner == other and value in case.repaired.injected:
            return f"the repair of what comes before put {named(case.reference.tape, other)} there"
    return ""


def substituted_apart(case: Case, first: int, second: int) -> bool:
    """Whether two earlier repairs substituted the values: a swap may be one of those.

    What is made of a repaired value and of others besides is no longer what was substituted.
    """
    tape, injected = case.repaired.side.tape, case.repaired.injected

    def goes_on(at: int, op: Op) -> bool:
        return at not in injected and sum(map(tape.is_live, set(op.inputs))) == 1

    made = [
        {at for at, _ in tape.graph.backward([value], goes_on)} & {*injected}
        for value, partner in case.partners.items()
        if partner in (first, second)
    ]
    return len(made) == 2 and all(made) and made[0].isdisjoint(made[1])
