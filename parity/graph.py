"""Who makes and who reads each value of a tape, and the walks along that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import attrgetter

from parity.operation import Op, Value
from parity.operations import FILLED, PRODUCTS


class TapeGraph:
    """The data flow of a tape: nodes are values, an operation leads from its inputs to its outputs.

    Attributes:
        ops, values, outputs: those of the tape.
    """

    def __init__(
        self, ops: Sequence[Op], values: Sequence[Value], outputs: Mapping[str, int]
    ) -> None:
        self.ops, self.values, self.outputs = ops, values, outputs

    def producer(self, value: int) -> Op | None:
        """The operation that gives a value; None for a leaf."""
        index = self.values[value].op
        return self.ops[index] if index >= 0 else None

    def is_live(self, value: int) -> bool:
        """Whether an input of the model reaches a value."""
        op = self.producer(value)
        return self.values[value].kind == "input" if op is None else not op.static

    @cached_property
    def consumers(self) -> dict[int, list[int]]:
        """For each value the indices of the operations that read it."""
        found: dict[int, list[int]] = {value.id: [] for value in self.values}
        for op in self.ops:
            for value in dict.fromkeys(op.inputs):
                found[value].append(op.index)
        return found

    @cached_property
    def live_readers(self) -> Counter[int]:
        """How many live operations compute with a value, as it is or moved."""
        return Counter(
            value
            for op in self.ops
            if not op.static and op.role != "move"
            for value in {self.before_moves(read) for read in op.inputs}
        )

    # --- walks ------------------------------------------------------------------------------------

    def backward(
        self, values: Iterable[int], through: Callable[[int, Op], bool]
    ) -> Iterator[tuple[int, Op | None]]:
        """Values, and those that they are made of, each once, with the operation that gives it.

        Args:
            through: whether to go on from a value to the inputs of its operation.
        """
        seen: set[int] = set()
        stack = list(values)
        while stack:
            value = stack.pop()
            if value in seen:
                continue
            seen.add(value)
            op = self.producer(value)
            yield value, op
            if op is not None and through(value, op):
                stack.extend(op.inputs)

    def readers_onward(self, values: Iterable[int], through: Callable[[Op], bool]) -> Iterator[Op]:
        """The operations that read values, or what others make of them, in the order of the tape.

        Args:
            through: whether to go on to the readers of what an operation makes.
        """
        reached = set(values)
        for op in self.ops[self._first_reader(reached) :]:
            if not reached.isdisjoint(op.inputs):
                yield op
                if through(op):
                    reached.update(op.outputs)

    def readers(self, value: int, through: Callable[[Op], bool]) -> Iterator[tuple[int, Op]]:
        """The operations that read a value, each with what it reads of it.

        Args:
            through: whether an operation only passes the value on; its readers are given instead.
        """
        seen, stack = {value}, [value]
        while stack:
            at = stack.pop()
            for op in (self.ops[index] for index in self.consumers[at]):
                if through(op):
                    stack.extend(one for one in op.outputs if one not in seen)
                    seen.update(op.outputs)
                else:
                    yield at, op

    def ancestors(self, values: Iterable[int]) -> frozenset[int]:
        """Indices of the operations that values depend on."""
        walk = self.backward(values, lambda value, op: True)
        return frozenset(op.index for _, op in walk if op is not None)

    @cached_property
    def used(self) -> frozenset[int]:
        """Indices of the operations that lead to an output."""
        return self.ancestors(self.outputs.values())

    def is_used(self, value: int) -> bool:
        """Whether a value is an output, or an operation on the way to one reads it."""
        return not self.used.isdisjoint(self.consumers[value]) or value in self.outputs.values()

    def forward(
        self, values: Iterable[int], reads: Callable[[Op], Iterable[int]] = attrgetter("inputs")
    ) -> set[int]:
        """Values and what is made of them.

        Args:
            reads: the values by which something counts as made of them; default all its inputs.
        """
        found = set(values)
        for op in self.ops[self._first_reader(found) :]:
            if not found.isdisjoint(reads(op)):
                found.update(op.outputs)
        return found

    def _first_reader(self, values: Iterable[int]) -> int:
        """The index of the first operation that can read one of some values."""
        return min((self.values[value].op for value in values), default=-1) + 1

    def descendants(self, value: int) -> set[int]:
        """Values that depend on a value, without itself."""
        return self.forward([value]) - {value}

    def computing_readers(self, values: Iterable[int]) -> list[Op]:
        """The operations that compute with values, moves left out, in the order of the tape."""
        found = {index for value in values for index in self.consumers[value]}
        readers = map(self.ops.__getitem__, sorted(found))
        return [op for op in readers if op.role != "move"]

    def comes_from(self, value: int, ops: Collection[int]) -> bool:
        """Whether one of some operations, by index, helps to make a value."""
        first = min(ops, default=len(self.ops))
        walk = self.backward([value], lambda value, op: op.index > first)
        return any(op is not None and op.index in ops for _, op in walk)

    def between(self, first: Collection[int], last: int) -> tuple[int, ...]:
        """Operations on the ways from some to the last one, these included; () if there is none."""
        ops = self.ops[min(first) : last + 1]
        reached: set[int] = set()
        for op in ops:
            if op.index in first or not reached.isdisjoint(op.inputs):
                reached.update(op.outputs)
        needed, found = set(self.ops[last].outputs), list[int]()
        for op in reversed(ops):
            if not needed.isdisjoint(op.outputs) and not reached.isdisjoint(op.outputs):
                found.append(op.index)
                needed.update(() if op.index in first else op.inputs)
        return tuple(found[::-1])

    # --- static parts -----------------------------------------------------------------------------

    def static_before(self, ops: Iterable[Op]) -> set[int]:
        """Indices of the static operations that make what operations read."""
        read = [value for op in ops for value in op.inputs]
        walk = self.backward(read, lambda value, op: op.static)
        return {op.index for _, op in walk if op is not None and op.static}

    def leaves(self, values: Iterable[int]) -> Iterator[int]:
        """Leaves among values, and those that static operations make them of."""
        walk = self.backward(values, lambda value, op: op.static)
        return (value for value, op in walk if op is None)

    @cached_property
    def readers_of_matrices(self) -> tuple[frozenset[int], ...]:
        """For each parameter or constant of two axes the live, used operations that read it."""
        found = []
        for leaf in self.values:
            if leaf.op >= 0 or leaf.kind == "input" or len(leaf.shape) != 2 or min(leaf.shape) < 2:
                continue
            reading = self.readers(leaf.id, lambda op: op.static)
            live = frozenset(op.index for _, op in reading if op.index in self.used)
            if live:
                found.append(live)
        return tuple(found)

    @cached_property
    def steps_that_go_on(self) -> int:
        """How often a matrix is multiplied with what was made with it before, as with a state."""
        found = 0
        for readers in self.readers_of_matrices:
            made = {value for index in readers for value in self.ops[index].outputs}
            if len(readers) > 1:
                onward = self.readers_onward(made, lambda op: op.word not in FILLED)
                found += sum(op.index in readers and op.word in PRODUCTS for op in onward)
        return found

    # --- moves ------------------------------------------------------------------------------------

    def before_moves(self, value: int) -> int:
        """The value that a chain of moves started from."""
        op = self.producer(value)
        while op is not None and op.role == "move" and len(op.inputs) == 1:
            value = op.inputs[0]
            op = self.producer(value)
        return value

    def moved(self, *values: int) -> set[int]:
        """Values and what is made of them by moves alone."""
        return self.forward(values, lambda op: op.inputs if op.role == "move" else ())
