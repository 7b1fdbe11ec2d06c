"""What was found in a weight file: names, and arrays that are read when they are asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from parity.format import listed
from parity.tape import Array
from parity.weights.files.safe_io import guarded


@dataclass(frozen=True)
class Entry:
    """One tensor of a file.

    Attributes:
        shape: its sizes.
        dtype: its type as NumPy or `ml_dtypes` calls it: `float32`, `bfloat16`.
        load: reads it: a new array, in the machine's byte order.
        label: the name that people know it by, where the file's own is less clear.
        shared: the name of an earlier tensor that is the same memory, or "".
        place: where it lies in the file, if not by its name.
    """

    shape: tuple[int, ...]
    dtype: str
    load: Callable[[], Array] = field(repr=False, compare=False)
    label: str = ""
    shared: str = ""
    place: str = ""


@dataclass(frozen=True)
class Note:
    """Something in the file that is no tensor, or that a reader should know.

    Attributes:
        kind: `uninitialised` (a parameter without a value), `object` (something that is no array
            of numbers, and was not read), `counter` (a whole number that is no weight), `prefix`
            (all names start alike, as a wrapper of the model does it), or `suffix` (the file is
            named as if it were of another format).
        text: the same in a sentence.
        names: the keys that it is about.
    """

    kind: str
    text: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Layer:
    """A layer of which the file has more than its weights.

    Attributes:
        name: as the user or the framework gave it, with the names of outer models before it.
        kind: the name of its class, or "".
        weights: the names of its tensors in the file.
    """

    name: str
    kind: str
    weights: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class WeightFile(Mapping[str, Array]):
    """Tensors by name, in the file's order. Every access reads the array anew.

    Attributes:
        path: the file that was read; in a folder, that of the part.
        format: a key of `parity.weights.files.FORMATS`.
        entries: of each name what is known without reading the array.
        notes: what else is to be reported.
        layers: what the file has of layers; () for most formats.
        part: the part that was read, or "" where the file has none.
        parts: all parts of the file or folder; any can be asked for.
    """

    path: Path
    format: str
    entries: Mapping[str, Entry]
    notes: tuple[Note, ...] = ()
    layers: tuple[Layer, ...] = ()
    part: str = ""
    parts: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Array:
        entry = self.entries[name]
        with guarded(self.path, f"cannot be read at {name!r}"):
            return entry.load()

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: entry.shape for name, entry in self.entries.items()}

    @property
    def dtypes(self) -> dict[str, str]:
        return {name: entry.dtype for name, entry in self.entries.items()}

    @property
    def labels(self) -> dict[str, str]:
        """Of each name the one that people know the tensor by; the same where none is better."""
        return {name: entry.label or name for name, entry in self.entries.items()}

    @property
    def uninitialised(self) -> tuple[str, ...]:
        """Keys of parameters that have no value yet."""
        return tuple(
            name for note in self.notes if note.kind == "uninitialised" for name in note.names
        )

    def __repr__(self) -> str:
        return f"WeightFile({str(self.path)!r}, {self.format}, {len(self)} tensors)"


def objects(names: list[str]) -> tuple[Note, ...]:
    """The note about keys that are left out, if there are any."""
    if not names:
        return ()
    text = f"not read, they hold no array of numbers: {listed(names, 5)}"
    return (Note("object", text, tuple(names)),)


def natural(place: str) -> list[tuple[int, str]]:
    """Sorts `vars/10` after `vars/2`."""
    return [
        (int(piece), "") if piece.isdecimal() else (0, piece) for piece in re.split(r"(\d+)", place)
    ]
