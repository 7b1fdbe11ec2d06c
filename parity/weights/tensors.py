"""A parameter or buffer of a model: what it is called, and how its values are read and written."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from parity.arrays import varies
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
        kept: of a running statistic the share of its old value that is left after each batch in
            training, whatever its framework calls that; None of all else.
        own: the framework's own object; two models that hold the same one share it.
    """

    names: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: str
    kind: LeafKind
    trainable: bool
    read: Callable[[], Array] = field(repr=False)
    write: Callable[[Array], None] = field(repr=False)
    kept: float | None = None
    own: object = field(default=None, repr=False)

    @property
    def name(self) -> str:
        return self.names[0]

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def is_floating(self) -> bool:
        """Whether it holds weights, and no places or counts."""
        return self.dtype.startswith(("float", "bfloat"))


def distinct(names: Iterable[str]) -> Iterator[str]:
    """Names of which each stands once: the second `w` becomes `w#2`."""
    seen: Counter[str] = Counter()
    for name in names:
        seen[name] += 1
        yield name if seen[name] == 1 else f"{name}#{seen[name]}"


def collisions(tensors: Sequence[Tensor]) -> dict[str, int]:
    """Names that several tensors have in the model itself, and how many: a dict keeps one of each.

    Only Keras and TensorFlow allow that; elsewhere tensors are named by the attributes they are.
    """
    counts = Counter(re.sub(r"#\d+$", "", tensor.name) for tensor in tensors)
    return {name: count for name, count in counts.items() if count > 1}


def collision_notes(model: str, tensors: Sequence[Tensor]) -> list[str]:
    """The same in a sentence; none where there are none."""
    found = collisions(tensors)
    if not found:
        return []
    kept = len(tensors) - sum(found.values()) + len(found)
    names = ", ".join(f"{count} are called {name}" for name, count in found.items())
    return [
        f"names collide in {model}: {names}; a dict of weights by name keeps {kept} of "
        f"{len(tensors)}"
    ]


def varied(tensor: Tensor) -> bool:
    """Whether it holds more than one value: any bias of zeros equals any other."""
    contents = tensor.read()
    return varies(contents)


def same_tensors(
    left: list[Tensor], right: list[Tensor], same: Callable[[Tensor, Tensor], bool]
) -> list[tuple[str, str]]:
    """The names of those of two lists that are the same, each once; they are taken out of both."""
    found = []
    for one in list(left):
        other = next((other for other in right if same(one, other)), None)
        if other is not None:
            found.append((one.name, other.name))
            left.remove(one)
            right.remove(other)
    return found
