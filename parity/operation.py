"""One operation of a tape, one value that it reads or gives, and the verbs that run it again."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from parity.arrays import Array
from parity.draws.draw import Draw
from parity.operations import kernel_name
from parity.site import Site

if TYPE_CHECKING:
    from parity.frameworks.protocol import Traits

Native = Any  # a framework's own tensor
Precision = Literal["float64"] | None  # None: as recorded
LeafKind = Literal["input", "parameter", "buffer", "constant"]
ValueKind = Literal["input", "parameter", "buffer", "constant", "computed"]

# What an operation does to the values it gets.
#   compute  new values
#   move     the same values elsewhere: reshape, transpose, slice, pad, concatenate, cast, copy
#   random   draws numbers that no other framework draws; `Op.draw` has from what
Role = Literal["compute", "move", "random"]


@dataclass(slots=True)
class Value:
    """A tensor on the tape, by number; its contents come from a replay."""

    id: int
    kind: ValueKind
    shape: tuple[int, ...]
    dtype: str  # NumPy's name; "bfloat16" where NumPy has none
    name: str = ""  # of a leaf: its path in the model, or the input's name
    op: int = -1  # of a computed value: the index of its operation
    written: bool = False  # of a leaf: whether the run changes what holds it

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass(slots=True)
class Op:
    """One operation as it ran.

    Attributes:
        kind: the framework's own name of it, for people.
        word: what it computes, in the words of `parity.operations`, for everything else.
        inputs, outputs: value ids.
        attributes: what else it was given, for people to read (axis, epsilon, strides).
        call: what the adapter needs to run it again; nobody else looks inside.
        static: true where no input of the model reaches it.
        draw: what a random operation draws from, where that is known.
    """

    index: int
    kind: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    site: Site
    role: Role = "compute"
    attributes: Mapping[str, Any] = field(default_factory=dict)
    call: Any = None
    static: bool = False
    draw: Draw | None = None
    word: str = ""

    def __post_init__(self) -> None:
        self.word = self.word or kernel_name(self.kind)

    def settings(self) -> Iterator[tuple[str, Any]]:
        """Its attributes one by one, by name: those of a tuple or list each by itself."""
        for name, setting in self.attributes.items():
            for one in setting if isinstance(setting, (tuple, list)) else (setting,):
                yield name, one


class Adapter(Protocol):
    """The verbs by which a framework replays; a module of parity/frameworks/ implements them."""

    @property
    def name(self) -> str: ...

    @property
    def WORDS(self) -> Mapping[str, str]:  # noqa: N802
        """The word of `parity.operations` that each kernel is, by `kernel_name`."""

    @property
    def TRAITS(self) -> Traits:  # noqa: N802
        """What is particular to the framework."""

    def execute(self, op: Op, arguments: Sequence[Native], precision: Precision) -> list[Native]:
        """Runs `op` again on `arguments` (one for each of `op.inputs`), without side effects."""

    def cast(self, array: Native, precision: Precision) -> Native:
        """The same values in float64 if they are floating and `precision` is set."""

    def to_numpy(self, array: Native) -> Array:
        """The contents as NumPy; shares memory where it can, so callers must not write to it."""

    def from_numpy(self, array: Array) -> Native: ...
