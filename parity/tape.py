"""A tape is the program that a model ran: its operations in order, ready to be run again.

It is not a store of activations. Any value can be had back by `Tape.replay`, in the precision
it was recorded in or in float64, and with any value replaced by another. Frameworks differ only
in their `Adapter` (parity/frameworks/); what is here knows none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np

from parity.arrays import Array as Array
from parity.budget import check
from parity.draws.draw import Transform
from parity.errors import NoFloat64, ReplayError
from parity.graph import TapeGraph
from parity.numerics.kernels import is_one_function
from parity.operation import LeafKind as LeafKind
from parity.operation import Op as Op
from parity.operation import Role as Role
from parity.operation import Value as Value
from parity.operation import ValueKind as ValueKind
from parity.site import Frame as Frame
from parity.site import Site as Site

Native = Any  # a framework's own tensor
Precision = Literal["float64"] | None  # None: as recorded


class Adapter(Protocol):
    """The verbs by which a framework replays; a module of parity/frameworks/ implements them."""

    @property
    def name(self) -> str: ...

    @property
    def WORDS(self) -> Mapping[str, str]:  # noqa: N802
        """The word of `parity.operations` that each kernel is, by `kernel_name`."""

    def execute(self, op: Op, arguments: Sequence[Native], precision: Precision) -> list[Native]:
        """Runs `op` again on `arguments` (one for each of `op.inputs`), without side effects."""

    def cast(self, array: Native, precision: Precision) -> Native:
        """The same numbers in float64 if they are floating and `precision` says so."""

    def to_numpy(self, array: Native) -> Array:
        """The contents as NumPy; shares memory where it can, so callers must not write to it."""

    def from_numpy(self, array: Array) -> Native: ...

    def to_bfloat16(self, array: Native) -> Native: ...

    def is_foreign(self, op: Op) -> bool:
        """Whether a kernel is none of the framework's: it may be another in float64."""


_NOT_EXPECTED = "its replay raised what is no lack of a kernel, which is a fault of parity;"
_NOT_NUMPYS = "bfloat", "float8", "quint", "qint"
_LARGE = 1 << 16  # elements of a weight that is not kept in float64
_SMALL = 1 << 10  # of a leaf that is: many small ones are a small part of a model


@dataclass
class Replay:
    """The values of one run of a tape; see `Tape.replay`."""

    tape: Tape
    precision: Precision
    native: dict[int, Native]
    fallbacks: list[Op] = field(default_factory=list)  # ran as recorded: no float64 to be had
    reasons: dict[int, str] = field(default_factory=dict)  # why, by the index of the operation
    drawn: dict[int, Native] = field(default_factory=dict)  # substituted for random draws
    _arrays: dict[int, Array] = field(default_factory=dict)
    _cast: dict[int, Native] = field(default_factory=dict)  # parameters that are still to be read

    def arguments(self, op: Op) -> list[Native]:
        """What an operation reads.

        Parameters are cast when they are first read and let go of after the last time, so that the
        float64 copy of a model's weights is never whole in memory.
        """
        found = []
        for value in op.inputs:
            argument = self.native.get(value)
            if argument is None:
                argument = self._cast.get(value)
            if argument is None:
                argument = self._cast[value] = self.get(value)
            found.append(argument)
        for value in op.inputs:
            if value in self._cast and self.tape.consumers[value][-1] <= op.index:
                del self._cast[value]
        return found

    def branch(self) -> Replay:
        """A replay that goes on from here and leaves this one as it is."""
        return Replay(
            self.tape,
            self.precision,
            dict(self.native),
            list(self.fallbacks),
            dict(self.reasons),
            dict(self.drawn),
            dict(self._arrays),
        )

    def get(self, value: int) -> Native:
        """The framework's own tensor; a leaf is cast when it is asked for, and not kept.

        Nor is a large weight that is only moved, as by the transpose before torch's products.
        """
        found = self.native.get(value)
        if found is None:
            op = self.tape.producer(value)
            if op is None:
                return self.tape.leaf(value, self.precision)
            if not self.moves_weights(op):
                raise KeyError(f"value {value} has not been computed")
            moved = self.tape._execute(op, self, [self.get(one) for one in op.inputs])
            found = moved[op.outputs.index(value)]
        return found

    def moves_weights(self, op: Op) -> bool:
        """Whether what an operation gives is made anew whenever it is asked for."""
        if self.precision is None or not op.static or op.role != "move":
            return False
        made = all(one in self for one in op.inputs)
        return made and max(self.tape.values[one].size for one in op.outputs) >= _LARGE

    def array(self, value: int) -> Array:
        """The contents of a value as a NumPy array, not to be written to."""
        found = self._arrays.get(value)
        if found is None:
            found = self.tape.adapter.to_numpy(self.get(value))
            if value in self.native:
                self._arrays[value] = found
        return found

    def replace(self, value: int, array: Array) -> None:
        """Puts `array` in the place of a value; operations that run later see it.

        An index stays one, though the other model holds it as a floating number.
        """
        dtype = self.tape.values[value].dtype
        if array.dtype.kind == "f" and dtype.startswith(("int", "uint", "bool")):
            array = np.nan_to_num(array).astype(dtype)
        native = self.tape.adapter.from_numpy(array)
        if self.precision is None and self.tape.values[value].dtype == "bfloat16":
            native = self.tape.adapter.to_bfloat16(native)  # which NumPy does not have
        self.native[value] = native
        self._arrays[value] = array

    def draw(self, value: int, array: Array) -> None:
        """Puts samples in the place of a random draw, also where its operation runs again."""
        self.replace(value, array)
        self.drawn[value] = self.native[value]

    def __contains__(self, value: int) -> bool:
        op = self.tape.producer(value)
        return value in self.native or op is None or self.moves_weights(op)


@dataclass
class Tape:
    """What a model did with one set of inputs.

    Attributes:
        model: the model's name, for reports.
        inputs, outputs: value ids by name (`"0"`, `"obs"`, `"value"`, `"state/0"`).
        recorded: the values as they were during the run, as the framework's own tensors.
        caveats: what keeps this tape from telling everything, in the user's words.
        doubts: why it may not stand for the model at all; with one, nothing is verified.
        other_outputs: what the model returned that holds no numbers, by name.
        numbers: by name of an output the numbers among the keys of dicts that lead to it.
        classes: of what the model returned those of the user's objects, by the path to each.
        by_value: names of outputs that the host computed: what they were is all that is known.
        states: values of which a recurrent layer of the framework's made the first axis.
        baked_ops, baked_leaves: operations with settings, and constants, that the host computed
            from values of the run: they stay as they were, whatever enters a replay.
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
    kernels: dict[int, bool] = field(default_factory=dict)  # by operation: see `_check_kernel`
    tables: Mapping[int, Array] = field(default_factory=dict)
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
        return self.graph.is_live(value)

    def before_moves(self, value: int) -> int:
        """The value that a chain of moves started from."""
        return self.graph.before_moves(value)

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
            self.step(op, run, replaced)
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
                    run.native.pop(value, None)
                    run._arrays.pop(value, None)

        run = self.replay(precision, replaced, after=forget)
        return {name: run.array(value) for name, value in self.outputs.items()}

    def step(self, op: Op, run: Replay, replaced: Collection[int] = ()) -> None:
        """Runs one operation of a replay, whose inputs it has; `replaced` outputs are dropped."""
        if run.moves_weights(op):
            for value in op.outputs:
                if value not in replaced:
                    run.native.pop(value, None)
                    run._arrays.pop(value, None)
            return
        results = self._execute(op, run, run.arguments(op))
        if len(results) != len(op.outputs):
            raise ReplayError(f"{op.kind} gave {len(results)} values, not {len(op.outputs)}")
        for value, result in zip(op.outputs, results, strict=True):
            if value not in replaced:
                run.native[value] = run.drawn.get(value, result)
                run._arrays.pop(value, None)

    def _execute(self, op: Op, run: Replay, arguments: list[Native]) -> list[Native]:
        if op.role == "random":  # a draw is not repeated; it is what it was
            return [self.adapter.cast(self.recorded[value], run.precision) for value in op.outputs]
        if run.precision is not None and op.outputs and op.outputs[0] in self.tables:
            return [self.adapter.from_numpy(self.tables[op.outputs[0]])]
        if isinstance(op.call, Transform):
            return self._transformed(op, op.call, arguments, run.precision)
        try:
            results = self.adapter.execute(op, arguments, run.precision)
            if run.precision is not None and self.adapter.is_foreign(op):
                self._check_kernel(op, self._typed(op, arguments), results)
            return results
        except Exception as error:
            if run.precision is None:
                raise ReplayError(
                    f"{op.kind} at {op.site.source} cannot be replayed: {error}"
                ) from error
            expected = isinstance(error, NoFloat64)
            reason = str(error) if expected else f"{_NOT_EXPECTED} {type(error).__name__}: {error}"
        as_recorded = [self.adapter.from_numpy(array) for array in self._typed(op, arguments)]
        try:
            results = self.adapter.execute(op, as_recorded, None)
        except Exception as error:
            raise ReplayError(
                f"{op.kind} at {op.site.source} cannot be replayed: {error}"
            ) from error
        if op not in run.fallbacks:
            run.fallbacks.append(op)
        run.reasons[op.index] = reason
        return [self.adapter.cast(result, run.precision) for result in results]

    def _check_kernel(self, op: Op, typed: Sequence[Array], results: Sequence[Native]) -> None:
        """Compares a kernel's float64 results with its recorded ones; once for an operation.

        Args:
            typed: its arguments in the recorded dtypes.
            results: what it gave for them in float64.

        Raises:
            NoFloat64: it is another function there.
        """
        adapter = self.adapter

        def again(arrays: Sequence[Array]) -> list[Array]:
            given = [adapter.from_numpy(array) for array in arrays]
            return [adapter.to_numpy(one) for one in adapter.execute(op, given, None)]

        if op.index not in self.kernels:
            exact = [adapter.to_numpy(one) for one in results]
            self.kernels[op.index] = is_one_function(again, typed, exact)
        if not self.kernels[op.index]:
            raise NoFloat64(f"{op.kind} is another function there than in the recorded dtype")

    def _typed(self, op: Op, arguments: Sequence[Native]) -> list[Array]:
        return [
            self.adapter.to_numpy(argument).astype(_dtype(self.values[value]), copy=False)
            for value, argument in zip(op.inputs, arguments, strict=True)
        ]

    def _transformed(
        self, op: Op, transform: Transform, arguments: list[Native], precision: Precision
    ) -> list[Native]:
        dtypes = [self.values[value].dtype for value in op.outputs]
        arrays = [self.adapter.to_numpy(argument) for argument in arguments]
        results = map(self.adapter.from_numpy, transform(arrays, None if precision else dtypes))
        return [
            self.adapter.to_bfloat16(result) if not precision and dtype == "bfloat16" else result
            for result, dtype in zip(results, dtypes, strict=True)
        ]


def _dtype(value: Value) -> np.dtype[Any]:
    return np.dtype("float32" if value.dtype.startswith(_NOT_NUMPYS) else value.dtype)
