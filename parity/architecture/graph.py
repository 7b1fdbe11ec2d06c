"""A tape's operations and what can be asked of them, before and while they become steps."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from parity.architecture.step import Step
from parity.tape import Op, Tape
from parity.walk_once import Once


class Graph:
    """The live part of a tape.

    Attributes:
        live: operations that lead from inputs to outputs, by index, in the order of the tape.
        owner: the step of an operation that has one, by its index.
    """

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.live = _live(tape)
        self.owner: dict[int, Step] = {}
        self._weights: dict[int, frozenset[int]] = {}

    @property
    def followed(self) -> bool:
        """Whether an input reaches an output."""
        values = self.tape.values
        return any(values[v].kind == "input" for op in self.live.values() for v in op.inputs)

    def take(self, step: Step) -> None:
        """Makes a step of its operations, but for those that are another's already."""
        step.ops = tuple(index for index in step.ops if index not in self.owner)
        self.owner.update(dict.fromkeys(step.ops, step))

    def layers(self) -> dict[str, list[Op]]:
        """Operations by their layer, static ones too; what is in no layer is left out."""
        found: dict[str, list[Op]] = {}
        for op in self.tape.ops:
            if op.site.layer:
                found.setdefault(op.site.layer, []).append(op)
        return found

    def source(self, value: int) -> Op | None:
        """The operation that made a value, with moves left out."""
        for op in self.moves_before(value):
            value = op.inputs[0]
        return self.tape.producer(value)

    def moves_before(self, value: int) -> Iterator[Op]:
        """The moves that a value comes from by their first inputs, the last one first."""
        op = self.tape.producer(value)
        while op is not None and op.role == "move" and op.inputs:
            yield op
            op = self.tape.producer(op.inputs[0])

    def live_inputs(self, op: Op) -> list[int]:
        return [value for value in op.inputs if not self.is_static(value)]

    def root(self, value: int) -> int:
        """A value before all moves that have but one live input: a join of several is kept."""
        op = self.tape.producer(value)
        while op is not None and op.role == "move" and len(self.live_inputs(op)) == 1:
            value = self.live_inputs(op)[0]
            op = self.tape.producer(value)
        return value

    def only_reader(self, value: int) -> Op | None:
        """The one live operation that reads a value, with moves left out."""
        while True:
            readers = [self.live[i] for i in self.tape.consumers[value] if i in self.live]
            if len(readers) != 1:
                return None
            if readers[0].role != "move" or len(readers[0].outputs) != 1:
                return readers[0]
            value = readers[0].outputs[0]

    def is_static(self, value: int) -> bool:
        """Whether no input of the model reaches a value."""
        producer = self.tape.producer(value)
        return self.tape.values[value].kind != "input" if producer is None else producer.static

    def weights(self, value: int) -> frozenset[int]:
        """The leaves with several numbers that a static value is made of."""
        if value not in self._weights:
            walk = self.tape.graph.backward([value], lambda value, op: True)
            leaves = (leaf for leaf, op in walk if op is None)
            self._weights[value] = frozenset(v for v in leaves if self.tape.values[v].size > 1)
        return self._weights[value]

    def moved(self, values: Iterable[int]) -> set[int]:
        """Values, and what they are through moves alone."""
        found, todo = set(), Once(values)
        for value in todo:
            found.add(value)
            for op in map(self.tape.ops.__getitem__, self.tape.consumers[value]):
                todo.add(op.outputs if op.role == "move" else ())
        return found

    def computing_readers(self, values: Iterable[int]) -> list[Op]:
        """The operations that compute with values, moves left out, in the order of the tape."""
        found = {index for value in values for index in self.tape.consumers[value]}
        readers = map(self.tape.ops.__getitem__, sorted(found))
        return [op for op in readers if op.role != "move"]

    def comes_from(self, value: int, ops: Collection[int]) -> bool:
        """Whether one of some operations, by index, helps to make a value."""
        first = min(ops, default=len(self.tape.ops))
        walk = self.tape.graph.backward([value], lambda value, op: op.index > first)
        return any(op is not None and op.index in ops for _, op in walk)

    def between(self, first: Collection[int], last: int) -> tuple[int, ...]:
        """Operations on the ways from some to the last one, these included; () if there is none."""
        ops = self.tape.ops[min(first) : last + 1]
        reached: set[int] = set()
        for op in ops:
            if op.index in first or not reached.isdisjoint(op.inputs):
                reached.update(op.outputs)
        needed, found = set(self.tape.ops[last].outputs), list[int]()
        for op in reversed(ops):
            if not needed.isdisjoint(op.outputs) and not reached.isdisjoint(op.outputs):
                found.append(op.index)
                needed.update(() if op.index in first else op.inputs)
        return tuple(found[::-1])

    def scalar(self, op: Op) -> float | None:
        """The single number that an operation takes beside its tensors."""
        given = self.tape.setting(op, "scalar")
        if isinstance(given, (int, float)) and not isinstance(given, bool):
            return float(given)
        for value in op.inputs:
            if self.tape.values[value].size == 1 and self.tape.values[value].kind == "constant":
                return float(self.tape.adapter.to_numpy(self.tape.recorded[value]).reshape(()))
        return None


def _live(tape: Tape) -> dict[int, Op]:
    needed = set(tape.outputs.values())
    found = []
    for op in reversed(tape.ops):
        if not op.static and not needed.isdisjoint(op.outputs):
            found.append(op)
            needed.update(op.inputs)
    return {op.index: op for op in reversed(found)}
