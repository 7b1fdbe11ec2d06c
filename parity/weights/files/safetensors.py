"""safetensors: a header in JSON and raw values; nothing in it can run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from parity.errors import FileError
from parity.tape import Array
from parity.weights.files.contents import Entry, WeightFile, objects
from parity.weights.files.safe_io import EXTENSIONS, extension, need

# What the package gives as NumPy arrays.
_TYPES = {
    **{f"{letter}{bits}": f"{word}{bits}" for letter, word in (("I", "int"), ("U", "uint"))
       for bits in (8, 16, 32, 64)},
    **{f"F{bits}": f"float{bits}" for bits in (16, 32, 64)},
    "BOOL": "bool",
    "C64": "complex64",
    "BF16": "bfloat16",
}  # fmt: skip


def read(path: Path, part: str) -> WeightFile:
    package = need("safetensors")
    entries: dict[str, Entry] = {}
    other = []
    with package.safe_open(str(path), framework="np") as file:
        names = file.offset_keys() if hasattr(file, "offset_keys") else file.keys()
        for name in names:
            piece = file.get_slice(name)
            dtype = _TYPES.get(piece.get_dtype())
            if dtype is None:
                other.append(name)
            else:
                load = partial(_load, package, path, name, dtype)
                entries[name] = Entry(tuple(piece.get_shape()), dtype, load)
    return WeightFile(path, "safetensors", entries, objects(other))


def _load(package: Any, path: Path, name: str, dtype: str) -> Array:
    if dtype in EXTENSIONS:
        extension(dtype)  # the package needs NumPy to know it
    with package.safe_open(str(path), framework="np") as file:
        array: Array = file.get_tensor(name)
    return array


def write(path: Path, given: Mapping[str, Array], like: WeightFile | None, kind: str) -> None:
    package = need("safetensors")
    metadata = None
    if like is not None:
        with package.safe_open(str(like.path), framework="np") as file:
            metadata = file.metadata()
    for name, array in given.items():
        if array.dtype.name not in _TYPES.values():
            raise FileError(f"{name!r} is {array.dtype.name}, which cannot be read back; cast it.")
    need("safetensors.numpy").save_file(dict(given), str(path), metadata)
