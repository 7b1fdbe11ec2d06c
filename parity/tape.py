"""A tape is the program that a model ran: its operations in order, ready to be run again.

It is not a store of activations. Any value can be had back by `Tape.replay`, in the precision
it was recorded in or in float64, and with any value replaced by another. Frameworks differ only
in their `Adapter` (parity/frameworks/); what is here knows none of them.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from parity.arrays import Array as Array
from parity.budget import check
from parity.graph import TapeGraph
from parity.operation import Adapter as Adapter
from parity.operation import LeafKind as LeafKind
from parity.operation import Native as Native
from parity.operation import Op as Op
from parity.operation import Precision as Precision
from parity.operation import Role as Role
from parity.operation import Value as Value
from parity.operation import ValueKind as ValueKind
from parity.products import Product
from parity.replay import Replay as Replay
from parity.site import Frame as Frame
from parity.site import Site as Site
from parity.windows import Padding, Window

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
        other_outputs: what the model returned that is not numeric, by name.
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
        gradients: names of outputs that are gradients of the others.
        cotangents: names of inputs that these start from.
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
    kernels: dict[int, bool] = field(default_factory=dict)  # by operation: see `Replay`
    tables: Mapping[int, Array] = field(default_factory=dict)
    gradients: frozenset[str] = frozenset()
    cotangents: frozenset[str] = frozenset()
    _wide: dict[int, Native] = field(default_factory=dict, init=False)  # small leaves in float64

    @property
    def framework(self) -> str:
        return self.adapter.name

    @cached_property
    def graph(self) -> TapeGraph:
        """Who makes and who reads each value."""
        return TapeGraph(self.ops, self.values, self.outputs)

    @property
    def consumers(self) -> dict[int, list[int]]:
        """For each value the indices of the operations that read it."""
        return self.graph.consumers

    @property
    def used(self) -> frozenset[int]:
        """Indices of the operations that lead to an output."""
        return self.graph.used

    @property
    def given(self) -> dict[str, int]:
        """The inputs that the model's user gives, by name."""
        return {name: one for name, one in self.inputs.items() if name not in self.cotangents}

    @property
    def output_names(self) -> dict[int, str]:
        """The names of the outputs by value id."""
        return {value: name for name, value in self.outputs.items()}

    @cached_property
    def replayed(self) -> Mapping[str, Array]:
        """The outputs of a replay in the recorded precision."""
        return self.outputs_of()

    def leaf(self, value: int, precision: Precision) -> Native:
        """A leaf as it was recorded, or in float64: a small one is cast once for all replays."""
        if precision is None or self.values[value].size > _SMALL:
            return self.adapter.cast(self.recorded[value], precision)
        if value not in self._wide:
            self._wide[value] = self.adapter.cast(self.recorded[value], precision)
        return self._wide[value]

    def recorded_array(self, value: int) -> Array:
        """A value as it was during the run."""
        return self.adapter.to_numpy(self.recorded[value])

    def native(self, array: Array, dtype: str) -> Native:
        """An array as the framework's own tensor, also in a dtype that NumPy does not have."""
        tensor = self.adapter.from_numpy(array)
        return self.adapter.TRAITS.to_bfloat16(tensor) if dtype == "bfloat16" else tensor

    def producer(self, value: int) -> Op | None:
        index = self.values[value].op
        return self.ops[index] if index >= 0 else None

    def setting(self, op: Op, name: str, default: Any = None) -> Any:
        """What an operation was given, by the setting's name in `parity.operations`."""
        names = self.adapter.TRAITS.settings.get(name, (name,))
        return next((op.attributes[own] for own in names if own in op.attributes), default)

    def window(self, op: Op) -> Window | None:
        """See `Traits.window`."""
        return self.adapter.TRAITS.window(op, self)

    def padding(self, op: Op) -> Padding | None:
        """See `Traits.padding`."""
        return self.adapter.TRAITS.padding(op, self)

    def product(self, op: Op) -> Product | None:
        """See `Traits.product`."""
        return self.adapter.TRAITS.product(op, self)

    def is_baked(self, op: Op) -> bool:
        """Whether an operation computes with numbers that the host made of values of the run."""
        return op.index in self.baked_ops or not self.baked_leaves.isdisjoint(op.inputs)

    def is_live(self, value: int) -> bool:
        """Whether an input of the model reaches a value."""
        return self.graph.is_live(value)

    def is_from_host(self, value: int) -> bool:
        """Whether an array is the host's: a constant, or what it made of the model's inputs."""
        kind = self.values[value].kind
        return kind == "constant" or kind == "input" and value not in self.inputs.values()

    def before_moves(self, value: int) -> int:
        """The value that a chain of moves started from."""
        return self.graph.before_moves(value)

    def as_recorded(self) -> Replay:
        """The values as they were in the run."""
        return Replay(self, None, self.recorded)

    def remade(
        self,
        ops: list[Op],
        values: list[Value],
        recorded: dict[int, Native],
        moved: Mapping[int, Iterable[int]],
    ) -> Tape:
        """The tape with another program that gives the same.

        Args:
            moved: by the index of an operation those of what stands for it.
        """

        def places(indices: Iterable[int]) -> frozenset[int]:
            return frozenset(place for index in indices for place in moved[index])

        kernels = self.kernels.items()
        return replace(
            self,
            ops=ops,
            values=values,
            recorded=recorded,
            baked_ops=places(self.baked_ops),
            rounded_ops=places(self.rounded_ops),
            kernels={place: known for index, known in kernels for place in moved[index]},
        )

    def moved_back(self, ops: int, values: int = 0) -> Tape:
        """The same program, whose operations and values begin at these numbers."""

        def places(found: Iterable[int], by: int) -> frozenset[int]:
            return frozenset(one + by for one in found)

        return replace(
            self,
            ops=[
                replace(
                    op,
                    index=op.index + ops,
                    inputs=tuple(value + values for value in op.inputs),
                    outputs=tuple(value + values for value in op.outputs),
                )
                for op in self.ops
            ],
            values=[
                replace(one, id=one.id + values, op=one.op + ops if one.op >= 0 else -1)
                for one in self.values
            ],
            inputs={name: value + values for name, value in self.inputs.items()},
            outputs={name: value + values for name, value in self.outputs.items()},
            recorded={value + values: one for value, one in self.recorded.items()},
            states=places(self.states, values),
            baked_ops=places(self.baked_ops, ops),
            baked_leaves=places(self.baked_leaves, values),
            rounded_ops=places(self.rounded_ops, ops),
            kernels={index + ops: is_one for index, is_one in self.kernels.items()},
            tables={value + values: table for value, table in self.tables.items()},
        )

    def replay(
        self,
        precision: Precision = None,
        replaced: Mapping[int, Array] | None = None,
        base: Replay | None = None,
        after: Callable[[Op, Replay], None] | None = None,
        only: Collection[int] | None = None,
        kept: Collection[int] | None = None,
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
            kept: the values that are asked for afterwards; all others are let go of after their
                last reader. Default all, and not with a `base`.

        Raises:
            ReplayError: an operation could not be run even as recorded.
            Spent: the time for what asks for it is over.
        """
        replaced = replaced or {}
        run = base.branch() if base else Replay(self, precision, {})
        if kept is not None:
            # a weight that is only moved is made anew of what it was, whenever it is asked for
            moves = (op for op in self.ops if op.static and op.role == "move")
            kept = {*kept}.union(*(op.inputs for op in moves))
        dirty = set(replaced)
        for value_id, array in replaced.items():
            run.replace(value_id, array)
        with _uncollected():
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
                for value in {*op.inputs, *op.outputs} - kept if kept is not None else ():
                    if not self.consumers[value] or self.consumers[value][-1] <= op.index:
                        run.forget(value)
        return run

    def outputs_of(
        self, precision: Precision = None, replaced: Mapping[int, Array] | None = None
    ) -> dict[str, Array]:
        """The outputs of a replay that lets go of each value after its last reader.

        Args:
            precision, replaced: as for `replay`.
        """
        run = self.replay(precision, replaced, kept=self.outputs.values())
        return {name: run.array(value) for name, value in self.outputs.items()}


@contextmanager
def _uncollected() -> Iterator[None]:
    """No search for garbage while very many objects are made, nearly all of which stay.

    It would walk over all that the frameworks hold, again and again: a third of a match's time.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
