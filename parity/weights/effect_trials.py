"""A model whose weights hold what is asked for, and what its outputs are then.

A tape is replayed in float64. Where the model computes in code that no tape sees, as with NumPy on
Chainer's persistents, the model itself runs.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import islice

import numpy as np

from parity.errors import ParityError
from parity.keeping import one_comparison
from parity.matching.axis_order import Order, orders
from parity.tape import Array, Replay, Tape
from parity.weights.pairing import Side
from parity.weights.units import Unit, whole

_SAME = 1e-5  # of an output: in float64 two models may have other constants, rounded to float32
_LOST, _LOST_IN_FLOAT32 = 1e-12, 1e-6  # of an output
_FOLLOWED = 1e-2  # of an output: far more than a float32 run and a float64 replay are apart
_ORDERS = 24
_DRAWN = 0.3  # what any random number is: in whatever order they lie they are the same
_PER_OPERATION = 5000  # elements that take as long as to run an operation
_UNSEEN = 64  # tensors that are looked at one by one
_MOVED = 1.25, 0.01  # times what a tensor holds, and beside it


class OutOfRuns(Exception):
    """As much was run as may be."""


@dataclass
class Runs:
    """How much may still be run.

    Attributes:
        left: operations, with so many more for large values.
    """

    left: float

    def take(self, tape: Tape, ops: Iterable[int]) -> None:
        """Counts a run of some operations of a tape.

        Raises:
            OutOfRuns: nothing is left.
        """
        for op in (tape.ops[index] for index in ops):
            self.left -= 1 + sum(tape.values[value].size for value in op.outputs) / _PER_OPERATION
        if self.left < 0:
            raise OutOfRuns


def can_be_filled(side: Side) -> bool:
    """Whether every tensor that a model reads is known, and all that it draws."""
    held = (value for value in side.tape.values if value.kind in ("parameter", "buffer"))
    return not side.tape.lost_draws and all(value.id in side.leaves for value in held)


def unseen(side: Side) -> list[int]:
    """The weights that no operation of the tape reads, and that change the outputs all the same."""
    read = side.read()
    dead = [n for n, one in enumerate(side.tensors) if one.is_floating and one.name not in read]
    if not dead or not _can_run(side):
        return []
    before = _as_run(side, {})

    def shown(numbers: Sequence[int]) -> bool:
        moved = {n: _moved(np.asarray(side.tensors[n].read(), np.float64)) for n in numbers}
        after = _as_run(side, moved)
        both = before.keys() & after.keys()
        return any(not np.array_equal(before[v], after[v], equal_nan=True) for v in both)

    return [n for n in dead[:_UNSEEN] if shown([n])] if shown(dead) else []


def follows(side: Side, contents: Mapping[int, Array]) -> bool:
    """Whether a replay gives what the model gives, with other contents in all of its tensors."""
    if not _can_run(side):
        return True
    floating = {n: side.tensors[n].is_floating for n in contents}
    moved = {n: _moved(own) if floating[n] else own for n, own in contents.items()}
    found = _as_run(side, moved)
    replaced = {value: moved[n] for value, n in side.leaves.items()}
    run = side.tape.replay("float64", replaced)
    return all(_same(array, run.array(value), _FOLLOWED) for value, array in found.items())


def _moved(array: Array) -> Array:
    scale, shift = _MOVED
    return scale * array + shift


def _can_run(side: Side) -> bool:
    return side.run is not None and all(op.role != "random" for op in side.tape.ops)


def _as_run(side: Side, contents: Mapping[int, Array]) -> dict[int, Array]:
    """The outputs of a model that runs with some contents, by their values; {} where it fails."""
    assert side.run is not None
    try:
        with _written(side, contents):
            found = side.run()
    except ParityError:
        return {}
    return {value: found[name] for name, value in side.tape.outputs.items() if name in found}


@contextmanager
def looked_through_once(points: Sequence[Point]) -> Iterator[None]:
    """Within it a model that runs itself is looked through but once for what a run changes."""
    own = [point.side for point in points if point.itself]
    with one_comparison() if own else nullcontext():
        for side in own:
            _as_run(side, {})  # what it holds now is what it is put back to
        yield


@contextmanager
def _written(side: Side, contents: Mapping[int, Array]) -> Iterator[None]:
    before = {number: np.array(side.tensors[number].read()) for number in contents}
    try:
        for number, array in contents.items():
            side.tensors[number].write(array.astype(before[number].dtype))
        yield
    finally:
        for number, array in before.items():
            side.tensors[number].write(array)


@dataclass(frozen=True)
class _Ran:
    """What a model gave.

    Attributes:
        new: contents that were other than before.
        run: the replay; None where the model itself ran.
    """

    new: dict[int, Array]
    arrays: list[Array]
    run: Replay | None = None


class Point:
    """A model with contents for each of its tensors that operations read.

    Args:
        contents: of each tensor, by its number.
        outputs: ids of the values that are looked at.
        runs: what may be run.
        itself: whether the model runs, and no replay of its tape.
    """

    def __init__(
        self,
        side: Side,
        contents: Mapping[int, Array],
        outputs: Sequence[int],
        runs: Runs,
        itself: bool = False,
    ) -> None:
        self.side = side
        self._runs = runs
        self.itself = itself
        self._leaves: dict[int, list[int]] = defaultdict(list)
        for value, number in side.leaves.items():
            self._leaves[number].append(value)
        self._outputs = outputs
        self.contents = dict(contents)
        self.lost = _LOST_IN_FLOAT32 if itself else _LOST
        self._laid_out: Sequence[Order | None] = [None] * len(outputs)
        tape = side.tape
        drawn = {
            value: np.full(tape.values[value].shape, _DRAWN)
            for op in tape.ops
            for value in (op.outputs if op.role == "random" else ())
            if tape.values[value].dtype.startswith(("float", "bfloat"))
        }
        self._last: tuple[Mapping[Unit, Array], _Ran] | None = None
        self._now = _Ran({}, [])
        self._now = self._ran({}, self._values(contents) | drawn)

    @property
    def can_be_used(self) -> bool:
        """Whether all of it ran, a replay in float64."""
        run = self._now.run
        return (run is None or not run.fallbacks) and len(self._now.arrays) == len(self._outputs)

    def copy(self, runs: Runs) -> Point:
        """One that goes on from here, with other runs, and leaves this one as it is."""
        found = copy.copy(self)
        found._runs = runs
        found.contents = dict(self.contents)
        return found

    def outputs(self, changed: Mapping[Unit, Array] | None = None) -> list[Array]:
        """The outputs, flat and laid out alike in both models, with other contents somewhere."""
        arrays = self._with(changed).arrays if changed else self._now.arrays
        if len(arrays) < len(self._outputs):  # with these contents the model fails
            return [np.full(one.size, np.nan) for one in self._now.arrays]
        both = zip(self._laid_out, arrays, strict=True)
        found = [array if order is None else order.apply(array) for order, array in both]
        return [np.asarray(one, np.float64).ravel() for one in found]

    def effect(self, changed: Mapping[Unit, Array]) -> list[Array]:
        """How far other contents in some tensors move the outputs."""
        both = zip(self.outputs(changed), self.outputs(), strict=True)
        return [after - before for after, before in both]

    def settle(self, changed: Mapping[Unit, Array]) -> None:
        """Leaves other contents in some tensors."""
        self._now = self._with(changed)
        self.contents.update(self._now.new)

    def lay_out_as(self, other: Point) -> bool:
        """Lays its outputs out as the other's, and says whether they are the same."""
        found = [_order(*both) for both in zip(self._now.arrays, other._now.arrays, strict=True)]
        self._laid_out = found
        return bool(found) and None not in found

    def _with(self, changed: Mapping[Unit, Array]) -> _Ran:
        if self._last is None or self._last[0] is not changed:
            new = whole(self.contents, changed)
            self._last = changed, self._ran(new, self._values(new))
        return self._last[1]

    def _ran(self, new: dict[int, Array], replaced: Mapping[int, Array]) -> _Ran:
        tape = self.side.tape
        whole_run = self.itself or self._now.run is None
        after = range(len(tape.ops)) if whole_run else _after(tape, replaced)
        self._runs.take(tape, after)
        if self.itself:
            found = _as_run(self.side, {**self.contents, **new})
            return _Ran(new, [found[value] for value in self._outputs if value in found])
        run = self.side.tape.replay("float64", replaced, self._now.run)
        return _Ran(new, [run.array(value) for value in self._outputs], run)

    def _values(self, contents: Mapping[int, Array]) -> dict[int, Array]:
        return {
            value: array for number, array in contents.items() for value in self._leaves[number]
        }


def _after(tape: Tape, values: Iterable[int]) -> set[int]:
    """The operations that depend on some values: a replay runs no others again."""
    found: set[int] = set()
    todo = list(values)
    while todo:
        new = [index for index in tape.consumers[todo.pop()] if index not in found]
        found.update(new)
        todo += [value for index in new for value in tape.ops[index].outputs]
    return found


def _order(one: Array, other: Array) -> Order | None:
    for order in islice(orders(one.shape, other.shape), _ORDERS):
        if _same(order.apply(one), other):
            return order
    return None


def _same(one: Array, other: Array, allowed: float = _SAME) -> bool:
    if one.shape != other.shape or not (np.isfinite(one).all() and np.isfinite(other).all()):
        return False
    scale = np.linalg.norm(np.asarray(one, np.float64))
    return bool(np.linalg.norm(np.subtract(one, other, dtype=np.float64)) <= allowed * scale)
