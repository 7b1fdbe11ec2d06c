"""One run of a tape: its values, made again in the recorded precision or in float64."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from parity.arrays import Array
from parity.draws.draw import Transform
from parity.errors import NoFloat64, ReplayError
from parity.numerics.kernels import is_one_function
from parity.operation import Native, Op, Precision, Value

if TYPE_CHECKING:
    from parity.tape import Tape

_NOT_EXPECTED = "its replay raised what is no lack of a kernel, which is a fault of parity;"
_NOT_NUMPYS = "bfloat", "float8", "quint", "qint"
_LARGE = 1 << 16  # elements of a weight that is not kept in float64


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
            moved = self._execute(op, [self.get(one) for one in op.inputs])
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
        self.native[value] = self.tape.native(array, self.precision or dtype)
        self._arrays[value] = array

    def draw(self, value: int, array: Array) -> None:
        """Puts samples in the place of a random draw, also where its operation runs again."""
        self.replace(value, array)
        self.drawn[value] = self.native[value]

    def __contains__(self, value: int) -> bool:
        op = self.tape.producer(value)
        return value in self.native or op is None or self.moves_weights(op)

    def forget(self, value: int) -> None:
        """Lets go of what an operation gave."""
        self.native.pop(value, None)
        self._arrays.pop(value, None)

    def step(self, op: Op, replaced: Collection[int] = ()) -> None:
        """Runs one operation, whose inputs are there; `replaced` outputs are dropped."""
        if self.moves_weights(op):
            for value in op.outputs:
                if value not in replaced:
                    self.forget(value)
            return
        results = self._execute(op, self.arguments(op))
        if len(results) != len(op.outputs):
            raise ReplayError(f"{op.kind} gave {len(results)} values, not {len(op.outputs)}")
        for value, result in zip(op.outputs, results, strict=True):
            if value not in replaced:
                self.native[value] = self.drawn.get(value, result)
                self._arrays.pop(value, None)

    def _execute(self, op: Op, arguments: list[Native]) -> list[Native]:
        adapter = self.tape.adapter
        if op.role == "random":  # a draw is not repeated; it is what it was
            drawn = (self.tape.recorded[value] for value in op.outputs)
            return [adapter.cast(one, self.precision) for one in drawn]
        if self.precision is not None and op.outputs and op.outputs[0] in self.tape.tables:
            return [adapter.from_numpy(self.tape.tables[op.outputs[0]])]
        try:
            results = self._run(op, arguments, self.precision)
            foreign = not isinstance(op.call, Transform) and adapter.TRAITS.is_foreign(op)
            if self.precision is not None and foreign:
                self._check_kernel(op, self._typed(op, arguments), results)
            return results
        except Exception as error:
            if self.precision is None:
                raise ReplayError(
                    f"{op.kind} at {op.site.source} cannot be replayed: {error}"
                ) from error
            expected = isinstance(error, NoFloat64)
            reason = str(error) if expected else f"{_NOT_EXPECTED} {type(error).__name__}: {error}"
        as_recorded = [adapter.from_numpy(array) for array in self._typed(op, arguments)]
        try:
            results = self._run(op, as_recorded, None)
        except Exception as error:
            raise ReplayError(
                f"{op.kind} at {op.site.source} cannot be replayed: {error}"
            ) from error
        if op not in self.fallbacks:
            self.fallbacks.append(op)
        self.reasons[op.index] = reason
        return [adapter.cast(result, self.precision) for result in results]

    def _check_kernel(self, op: Op, typed: Sequence[Array], results: Sequence[Native]) -> None:
        """Refuses a kernel that is another function in float64 than in its recorded dtypes.

        Args:
            typed: its arguments in the recorded dtypes.
            results: what it gave for them in float64.
        """
        adapter, known = self.tape.adapter, self.tape.kernels

        def again(arrays: Sequence[Array]) -> list[Array]:
            given = [adapter.from_numpy(array) for array in arrays]
            return [adapter.to_numpy(one) for one in adapter.execute(op, given, None)]

        if op.index not in known:
            exact = [adapter.to_numpy(one) for one in results]
            known[op.index] = is_one_function(again, typed, exact)
        if not known[op.index]:
            raise NoFloat64(f"{op.kind} is another function there than in the recorded dtype")

    def _typed(self, op: Op, arguments: Sequence[Native]) -> list[Array]:
        return [
            self.tape.adapter.to_numpy(argument).astype(_dtype(self.tape.values[value]), copy=False)
            for value, argument in zip(op.inputs, arguments, strict=True)
        ]

    def _run(self, op: Op, arguments: list[Native], precision: Precision) -> list[Native]:
        adapter = self.tape.adapter
        if not isinstance(op.call, Transform):
            return adapter.execute(op, arguments, precision)
        dtypes = [self.tape.values[value].dtype for value in op.outputs]
        arrays = [adapter.to_numpy(argument) for argument in arguments]
        results = op.call(arrays, dtypes, wide=precision is not None)
        both = zip(results, dtypes, strict=True)
        return [self.tape.native(result, precision or dtype) for result, dtype in both]


def _dtype(value: Value) -> np.dtype[Any]:
    return np.dtype("float32" if value.dtype.startswith(_NOT_NUMPYS) else value.dtype)
