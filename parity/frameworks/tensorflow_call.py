"""What it takes to run an operation of TensorFlow's again."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any

from tensorflow.python.eager.polymorphic_function.atomic_function import AtomicFunction

from parity.tape import Native


@dataclass(slots=True)
class Call:
    """What it takes to run an operation again.

    Attributes:
        kind: the type to run, or the name of a graph function.
        attributes: names and values in turn, as TensorFlow takes them.
        arguments: for each input a tensor that stays as it is, or None for the next of `op.inputs`.
        dtypes: of `op.inputs`, as recorded.
        kept: which of the outputs are on the tape.
        variables: that a graph function works on: their handles, and what they held when it ran.
        state: the seed of a draw that is made of nothing else.
        graph: what TensorFlow calls a graph function by, which is freed with it.
    """

    kind: str
    attributes: tuple[Any, ...]
    arguments: tuple[Native | None, ...]
    dtypes: tuple[int, ...]
    outputs: int
    kept: tuple[int, ...]
    variables: tuple[tuple[Native, Native], ...] = ()
    wide: tuple[Any, ...] | None = None
    state: bytes = b""
    graph: Any = None


@dataclass
class Reads:
    """What an operation reads: values of the tape by `ids`, and tensors that stay as they are."""

    ids: list[int] = field(default_factory=list)
    dtypes: list[int] = field(default_factory=list)
    arguments: list[Native | None] = field(default_factory=list)
    variables: list[tuple[Native, Native]] = field(default_factory=list)  # with their contents

    def fixed(self, tensor: Native) -> None:
        self.arguments.append(tensor)

    def value(self, value: int, tensor: Native) -> None:
        self.ids.append(value)
        self.dtypes.append(tensor._datatype_enum())
        self.arguments.append(None)

    def call(
        self, kind: str, attributes: tuple[Any, ...], outputs: int, kept: tuple[int, ...]
    ) -> Call:
        arguments, dtypes = tuple(self.arguments), tuple(self.dtypes)
        return Call(kind, attributes, arguments, dtypes, outputs, kept, tuple(self.variables))


def called_by() -> Any:
    """The object whose graph function runs now: the function lives as long as it does."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        caller = frame.f_locals.get("self") if frame.f_code.co_varnames[:1] == ("self",) else None
        if isinstance(caller, AtomicFunction):
            return caller
        frame = frame.f_back
    return None
