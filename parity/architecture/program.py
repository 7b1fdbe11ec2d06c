"""A tape as a program of steps, what is loose between them, and the data flow among both."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from parity.architecture.attentions import attentions, written_attentions
from parity.architecture.graph import Graph
from parity.architecture.norms import absorb_affine, norms
from parity.architecture.patterns import (
    gelus,
    layer_norms_by_batch_norm,
    recurrences,
    silus,
)
from parity.architecture.single_operations import singles
from parity.architecture.step import ADDITIONS, Step
from parity.architecture.written_cells import written_cells
from parity.tape import Op, Tape

# One word for what is the same arithmetic in several spellings.
_ARITHMETIC = {
    **dict.fromkeys("add bias_add add_all subtract subtract_from".split(), "+"),
    **dict.fromkeys("multiply divide divide_from".split(), "*"),
    "square": "power",
}
_SIGNLESS = ("negate", "copy")

# Steps, or "input" and the names of outputs.
Around = frozenset[Any]
Flow = tuple[dict[int, Around], dict[int, Around]]  # before and after, by index of an operation


class Program:
    """A model as steps.

    Attributes:
        steps: in the order of the tape.
        before, after: for each step those that come directly before and after it.
    """

    def __init__(self, tape: Tape, outputs: Mapping[int, str]) -> None:
        """Reads the steps off a tape.

        Args:
            outputs: names of the outputs by value id, where they have any in common with another
                program's.
        """
        self.graph = Graph(tape)
        self._outputs = {v: outputs.get(v, "output") for v in tape.outputs.values()}
        patterns = (
            recurrences,
            written_cells,
            written_attentions,
            attentions,
            norms,
            layer_norms_by_batch_norm,
            silus,
            gelus,
        )
        for pattern in patterns:
            self._take(pattern.__name__, pattern, self.graph)
        for op in self.graph.live.values():
            if op.index not in self.graph.owner:
                self._take(op.kind, singles, self.graph, op)
        self.steps = sorted(set(self.graph.owner.values()), key=lambda step: step.ops[0])
        for step in self.steps:
            self._absorb_bias(step)
            absorb_affine(self.graph, step)
        self._number = {index: n for n, step in enumerate(self.steps) for index in step.ops}
        before, after = self.flow({number: number for number in range(len(self.steps))})
        self.before = [before[step.ops[0]] for step in self.steps]
        self.after = [after[step.ops[0]] for step in self.steps]

    def _take(self, what: str, read: Callable[..., Iterable[Step]], *arguments: Any) -> None:
        """Takes the steps that are read; what cannot be read stays loose."""
        try:
            steps = list(read(*arguments))
        except Exception as error:  # an attribute may have a form not known here
            warnings.warn(f"the structure of {what} could not be read: {error!r}", stacklevel=2)
            return
        for step in steps:
            self.graph.take(step)

    def _absorb_bias(self, step: Step) -> None:
        """The addition of a bias belongs to the product before it."""
        tape = self.graph.tape
        self._absorb_gathering(step)
        reader = self.graph.only_reader(tape.ops[step.ops[-1]].outputs[0]) if step.width else None
        if reader is None or reader.index in self.graph.owner or reader.word not in ADDITIONS:
            return
        static = [value for value in reader.inputs if self.graph.is_static(value)]
        if len(static) == 1 and tape.values[tape.before_moves(static[0])].size == step.width:
            self.graph.owner[reader.index] = step
            step.ops = (*step.ops, reader.index)
            if step.operands.pop("bias", None) is None:  # of two, neither is its bias alone
                step.operands["bias"] = static[0]

    def _absorb_gathering(self, step: Step) -> None:
        """TensorFlow dilates by spreading an image over the batch, and gathers what comes of it."""
        taken: list[Op] = []
        value = self.graph.tape.ops[step.ops[-1]].outputs[0]
        while step.width and not (taken and taken[-1].word == "batch_to_space"):
            readers = self.graph.readers(value)
            if len(readers) != 1 or readers[0].role != "move":
                return
            taken.append(readers[0])
            value = readers[0].outputs[0]
        self.graph.owner.update({op.index: step for op in taken})
        step.ops = (*step.ops, *(op.index for op in taken))

    def flow(self, shown: Mapping[int, int]) -> Flow:
        """For each operation the nearest shown steps before it and after it.

        All operations of a shown step have the same.

        Args:
            shown: steps by number, and the number that stands for them.
        """
        ops, values = list(self.graph.live.values()), self.graph.tape.values
        inputs = {v: "input" for op in ops for v in op.inputs if values[v].kind == "input"}
        return (
            self._nearest([(op.index, op.inputs, op.outputs) for op in ops], inputs, shown),
            self._nearest(
                [(op.index, op.outputs, op.inputs) for op in reversed(ops)], self._outputs, shown
            ),
        )

    def _nearest(
        self,
        ops: Iterable[tuple[int, tuple[int, ...], tuple[int, ...]]],
        ends: Mapping[int, str],
        shown: Mapping[int, int],
    ) -> dict[int, Around]:
        """The nearest shown steps in one direction.

        Args:
            ops: index of each operation, the values on the side one looks to, those on the other.
            ends: values at which the program ends on that side, with their names.
        """
        reached: dict[int, Around] = defaultdict(frozenset)
        reached.update({value: frozenset((name,)) for value, name in ends.items()})
        found: dict[int, Around] = {}
        of_step: dict[int, Around] = defaultdict(frozenset)
        for index, near, far in ops:
            around = found[index] = frozenset().union(*(reached[value] for value in near))
            number = self._number.get(index, -1)
            if number in shown:
                of_step[number] |= around - {shown[number]}
                around = frozenset((shown[number],))
            for value in far:
                reached[value] |= around
        found.update({i: of_step[n] for i, n in self._number.items() if n in shown})
        return found

    def loose(self) -> Iterator[tuple[int, str]]:
        """Operations that compute and belong to no step, each with one word for it."""
        for op in self.graph.live.values():
            if op.index in self._number or op.role == "move" or op.word in _SIGNLESS:
                continue
            dtypes = (self.graph.tape.values[v].dtype for v in op.outputs)
            if any(dtype.startswith(("float", "bfloat")) for dtype in dtypes):
                yield op.index, _ARITHMETIC.get(op.word, op.word)
