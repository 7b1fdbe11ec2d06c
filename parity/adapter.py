"""The verbs by which a framework runs operations again; the rest of an adapter stands on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

from parity.arrays import Array
from parity.operation import Op

if TYPE_CHECKING:
    from parity.frameworks.traits import Traits

Native = Any  # a framework's own tensor
Precision = Literal["float64"] | None  # None: as recorded


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

    def to_bfloat16(self, array: Native) -> Native: ...

    def is_foreign(self, op: Op) -> bool:
        """Whether a kernel is none of the framework's: it may be another in float64."""
