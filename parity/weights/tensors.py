"""A parameter or buffer of a model: what it is called, and how its numbers are read and written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from parity.tape import Array, LeafKind


@dataclass(frozen=True, eq=False)
class Tensor:
    """One parameter or buffer, whatever number of names it goes by.

    Attributes:
        names: paths in the model; more than one where the same tensor is held in several places.
        shape: its sizes.
        dtype: NumPy's name, or "bfloat16".
        kind: `parameter` or `buffer`.
        trainable: whether training changes it by gradients.
        read: its contents, which must not be written to.
        write: puts an array of the same shape in their place, in the tensor's own dtype.
    """

    names: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: str
    kind: LeafKind
    trainable: bool
    read: Callable[[], Array] = field(repr=False)
    write: Callable[[Array], None] = field(repr=False)

    @property
    def name(self) -> str:
        return self.names[0]
