"""A tape's operations and what can be asked of them, before and while they become steps."""

from __future__ import annotations

from collections.abc import Iterator

from parity.architecture.step import Step
from parity.tape import Op, Tape


class Graph:
    """The live part of a tape.

    Attributes:
        live: operations that lead from inputs to outputs, by index, in the order of the tape.
        owner: the step of an operation that has one, by its index.
    """

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        live = (op for op in tape.ops if not op.static and op.index in tape.used)
        self.live = {op.index: op for op in live}
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

    def readers(self, value: int) -> list[Op]:
        """The live operations that read a value."""
        return [self.live[i] for i in self.tape.consumers[value] if i in self.live]

    def only_reader(self, value: int) -> Op | None:
        """The one live operation that reads a value, with moves left out."""
        while True:
            readers = self.readers(value)
            if len(readers) != 1:
                return None
            if readers[0].role != "move" or len(readers[0].outputs) != 1:
                return readers[0]
            value = readers[0].outputs[0]

    def is_static(self, value: int) -> bool:
        """Whether no input of the model reaches a value."""
        return not self.tape.is_live(value)

    def weights(self, value: int) -> frozenset[int]:
        """The leaves with several numbers that a static value is made of."""
        if value not in self._weights:
            walk = self.tape.graph.backward([value], lambda value, op: True)
            leaves = (leaf for leaf, op in walk if op is None)
            self._weights[value] = frozenset(v for v in leaves if self.tape.values[v].size > 1)
        return self._weights[value]

    def scalar(self, op: Op) -> float | None:
        """The single number that an operation takes beside its tensors."""
        given = self.tape.setting(op, "scalar")
        if isinstance(given, (int, float)) and not isinstance(given, bool):
            return float(given)
        for value in op.inputs:
            if self.tape.values[value].size == 1 and self.tape.values[value].kind == "constant":
                return float(self.tape.adapter.to_numpy(self.tape.recorded[value]).reshape(()))
        return None
