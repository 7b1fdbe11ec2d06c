"""A tape is the program that a model ran: its operations in order, ready to be run again.

It is not a store of activations. Any value can be had back by `Tape.replay`, in the precision
it was recorded in or in float64, and with any value replaced by another. Frameworks differ only
in their `Adapter` (parity/frameworks/); what is here knows none of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from parity.budget import check
from parity.op import Adapter as Adapter
from parity.op import Array as Array
from parity.op import LeafKind as LeafKind
from parity.op import Native as Native
from parity.op import Op as Op
from parity.op import Precision as Precision
from parity.op import Role as Role
from parity.op import Value as Value
from parity.op import ValueKind as ValueKind
from parity.replay import Replay as Replay
from parity.site import Frame as Frame
from parity.site import Site as Site

_SMALL = 1 << 10  # elements of a leaf that is kept in float64: many are a small part of a model


@dataclass
class Tape:
    """What a model did with one set of inputs.

    Attributes:
        model: the model's name, for reports.
        inputs, outputs: value ids by name (`"0"`, `"obs"`, `"value"`, `"state/0"`).
        recorded: the values as they were during the run, as the framework's own tensors.
        caveats: what this tape does not show, as sentences for people.
        doubts: why it may not stand for the model at all; with one, nothing is verified.
        other_outputs: what the model returned that holds no numbers, by name.
        numbers: by name of an output the numbers among the keys of dicts that lead to it.
        classes: of what the model returned, those of the user's objects, by the path to each.
        by_value: names of outputs that the host computed: what they were is all that is known.
        states: values of which a recurrent layer of the framework's made the first axis.
        baked_ops, baked_leaves: operations with settings, and constants, that the host computed
            from values of the run: they stay as they were, whatever the inputs of a replay.
        rounded_ops: operations given what the host read, and maybe changed by less than it shows.
        lost_draws: random draws whose effect is not on the tape; with one, nothing is verified.
        unseen: that the draws on the tape do not account for what the model gives in another run.
        traced: whether the code of graphs ran for it, where a model runs the graphs themselves.
        tables: by value what it is in float64, where the other model made it beforehand.
    """

    adapter: Adapter
    model: str
    ops: list[Op]
    values: list[Value]
    inputs: dict[str, int]
    outputs: dict[str, int]
    recorded: dict[int, Native]
    caveats: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    other_outputs: dict[str, Any] = field(default_factory=dict)
    by_value: frozenset[str] = frozenset()
    states: frozenset[int] = frozenset()
    baked_ops: frozenset[int] = frozenset()
    baked_leaves: frozenset[int] = frozenset()
    rounded_ops: frozenset[int] = frozenset()
    lost_draws: list[str] = field(default_factory=list)
    unseen: str = ""
    traced: bool = False
    numbers: dict[str, tuple[str, ...]] = field(default_factory=dict)
    classes: dict[str, type] = field(default_factory=dict)
    kernels: dict[int, bool] = field(default_factory=dict)  # by operation: see `check_kernel`
    tables: Mapping[int, Array] = field(default_factory=dict)
    _wide: dict[int, Native] = field(default_factory=dict, init=False)  # small leaves in float64

    @property
    def framework(self) -> str:
        return self.adapter.name

    @cached_property
    def consumers(self) -> dict[int, list[int]]:
        """For each value the indices of the operations that read it."""
        found: dict[int, list[int]] = {value.id: [] for value in self.values}
        for op in self.ops:
            for value in dict.fromkeys(op.inputs):
                found[value].append(op.index)
        return found

    @cached_property
    def readers(self) -> Counter[int]:
        """How many live operations compute with a value, as it is or moved."""
        return Counter(
            value
            for op in self.ops
            if not op.static and op.role != "move"
            for value in {self.before_moves(read) for read in op.inputs}
        )

    @cached_property
    def used(self) -> frozenset[int]:
        """Indices of the operations that lead to an output."""
        return self.leading_to(self.outputs.values())

    def leading_to(self, values: Iterable[int]) -> frozenset[int]:
        """Indices of the operations that lead to some values."""
        found, stack = set[int](), list(values)
        while stack:
            if (op := self.producer(stack.pop())) is not None and op.index not in found:
                found.add(op.index)
                stack.extend(op.inputs)
        return frozenset(found)

    @cached_property
    def readers_of_matrices(self) -> tuple[frozenset[int], ...]:
        """For each parameter or constant of two axes the live, used operations that read it."""
        found = []
        for leaf in self.values:
            if leaf.op >= 0 or leaf.kind == "input" or len(leaf.shape) != 2 or min(leaf.shape) < 2:
                continue
            readers: set[int] = set()
            seen, stack = {leaf.id}, [leaf.id]
            while stack:
                for index in self.consumers[stack.pop()]:
                    if self.ops[index].static:
                        stack.extend(one for one in self.ops[index].outputs if one not in seen)
                        seen.update(self.ops[index].outputs)
                    elif index in self.used:
                        readers.add(index)
            if readers:
                found.append(frozenset(readers))
        return tuple(found)

    def leaf(self, value: int, precision: Precision) -> Native:
        """A leaf as it was recorded, or in float64: a small one is cast once for all replays."""
        if precision is None or self.values[value].size > _SMALL:
            return self.adapter.cast(self.recorded[value], precision)
        if value not in self._wide:
            self._wide[value] = self.adapter.cast(self.recorded[value], precision)
        return self._wide[value]

    def producer(self, value: int) -> Op | None:
        index = self.values[value].op
        return self.ops[index] if index >= 0 else None

    def is_baked(self, op: Op) -> bool:
        """Whether an operation computes with numbers that the host made of values of the run."""
        return op.index in self.baked_ops or not self.baked_leaves.isdisjoint(op.inputs)

    def is_live(self, value: int) -> bool:
        """Whether an input of the model reaches a value."""
        op = self.producer(value)
        return self.values[value].kind == "input" if op is None else not op.static

    def static_before(self, ops: Iterable[Op]) -> set[int]:
        """Indices of the static operations that make what operations read."""
        found: set[int] = set()
        stack = [value for op in ops for value in op.inputs]
        while stack:
            producer = self.producer(stack.pop())
            if producer is not None and producer.static and producer.index not in found:
                found.add(producer.index)
                stack.extend(producer.inputs)
        return found

    def before_moves(self, value: int) -> int:
        """The value that a chain of moves started from."""
        op = self.producer(value)
        while op is not None and op.role == "move" and len(op.inputs) == 1:
            value = op.inputs[0]
            op = self.producer(value)
        return value

    def replay(
        self,
        precision: Precision = None,
        replaced: Mapping[int, Array] | None = None,
        base: Replay | None = None,
        after: Callable[[Op, Replay], None] | None = None,
        only: Collection[int] | None = None,
    ) -> Replay:
        """Runs the tape again.

        Args:
            precision: None for the recorded one (bit-identical to the run), or "float64": every
                floating parameter, input and constant is cast before the run, so that rounding
                is 2**-29 of what it was. Operations that have no float64 run as recorded and are
                listed in `Replay.fallbacks`.
            replaced: value id to array; what its operation gives is dropped.
            base: an earlier replay in the same precision; only operations that depend on a
                replaced value run again, all else is taken from it.
            after: called after each operation that ran, with the operation and the replay; it may
                `Replay.replace` the operation's outputs.
            only: indices of the operations to run; default all.

        Raises:
            ReplayError: an operation could not be run even as recorded.
            Spent: the time for what asks for it is over.
        """
        replaced = replaced or {}
        run = base.branch() if base else Replay(self, precision, {})
        dirty = set(replaced)
        for value_id, array in replaced.items():
            run.replace(value_id, array)
        for op in self.ops:
            if only is not None and op.index not in only:
                continue
            if base and dirty.isdisjoint(op.inputs):
                continue
            check()
            run.step(op, replaced)
            dirty.update(op.outputs)
            if after:
                after(op, run)
        return run

    def outputs_of(
        self, precision: Precision = None, replaced: Mapping[int, Array] | None = None
    ) -> dict[str, Array]:
        """The outputs of a replay that lets go of each value after its last reader.

        Args:
            precision, replaced: as for `replay`.
        """
        # a weight that is only moved is made anew of what it was, whenever it is asked for
        moved = (one for op in self.ops if op.static and op.role == "move" for one in op.inputs)
        kept = {*self.outputs.values(), *moved}

        def forget(op: Op, run: Replay) -> None:
            for value in {*op.inputs, *op.outputs} - kept:
                if not self.consumers[value] or self.consumers[value][-1] <= op.index:
                    run.forget(value)

        run = self.replay(precision, replaced, after=forget)
        return {name: run.array(value) for name, value in self.outputs.items()}
