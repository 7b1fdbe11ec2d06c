"""NumPy's .npz, and Chainer's: one member per array, never unpickled."""

from __future__ import annotations

import pickle
import pickletools
import zipfile
from collections.abc import Mapping
from functools import partial
from math import prod
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from parity.errors import FileError
from parity.tape import Array
from parity.weights.files.contents import Entry, Note, WeightFile, objects
from parity.weights.files.safe_io import EXTENSIONS, check_zip

_FORMAT: Any = np.lib.format  # untyped
# The names of parameters and persistent values in Chainer's own links.
_CHAINER_LEAVES = {"W", "b", "gamma", "beta", "avg_mean", "avg_var", "N"}


def read(path: Path, part: str) -> WeightFile:
    entries: dict[str, Entry] = {}
    uninitialised, other = [], []
    source = _Reopened(path)
    with source:
        archive = zipfile.ZipFile(cast(IO[bytes], source))  # its directory is read once, and stays
        check_zip(path, archive)
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            if name == info.filename:
                other.append(name)
                continue
            with archive.open(info) as file:
                shape, dtype = _header(file)
                size = info.file_size - file.tell()
                if dtype.hasobject and shape == () and _is_none(file.read(4096)):
                    uninitialised.append(name)
                elif dtype.kind not in "biufc":
                    other.append(name)
                elif prod(shape) * dtype.itemsize != size:
                    raise FileError(f"{path}: {name!r} has {size} bytes, too few or too many.")
                else:
                    load = partial(_load, source, archive, info)
                    entries[name] = Entry(shape, dtype.name, load)
    notes = objects(other)
    if uninitialised:
        text = "parameters without a value, pickled as None: " + ", ".join(uninitialised)
        notes = (Note("uninitialised", text, tuple(uninitialised)), *notes)
    return WeightFile(path, _kind([*entries, *uninitialised], uninitialised), entries, notes)


class _Reopened:
    """A file to read from that is open within a `with` alone: whoever keeps it keeps no handle."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None

    def __enter__(self) -> None:
        self._file = self._path.open("rb")

    def __exit__(self, *raised: object) -> None:
        if self._file is not None:
            self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def _kind(names: list[str], uninitialised: list[str]) -> str:
    """Chainer's names are paths, or those of a single link's own values."""
    chainer = uninitialised or any("/" in name for name in names) or {*names} <= _CHAINER_LEAVES
    return "chainer" if names and chainer else "npz"


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = _FORMAT.read_magic(file)
    if version == (1, 0):
        shape, _, dtype = _FORMAT.read_array_header_1_0(file)
    else:
        shape, _, dtype = _FORMAT.read_array_header_2_0(file)
    return shape, dtype


def _load(source: _Reopened, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Array:
    with source, archive.open(member) as file:
        array: Array = _FORMAT.read_array(file, allow_pickle=False)
        file.read(1)  # at its end, the member's checksum is compared
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _is_none(data: bytes) -> bool:
    """Whether a pickle is that of an array of one None; it is taken apart, never run."""
    try:
        found = _steps(data)
    except Exception:  # anything may be in there
        return False
    none = np.array(None, dtype=object)
    return any(found == _steps(pickle.dumps(none, protocol)) for protocol in range(2, 6))


def _steps(data: bytes) -> list[tuple[str, object]]:
    """The operations of a pickle, without what depends on the version of NumPy."""
    return [
        (step.name, argument.replace("numpy._core", "numpy.core"))
        if isinstance(argument, str)
        else (step.name, argument)
        for step, argument, _ in pickletools.genops(data)
        if step.name != "FRAME"
    ]


def write(path: Path, given: Mapping[str, Array], like: WeightFile | None, kind: str) -> None:
    compression = zipfile.ZIP_DEFLATED if kind == "chainer" else zipfile.ZIP_STORED
    kept: dict[str, bytes] = {}
    if like is not None:
        with zipfile.ZipFile(like.path) as archive:
            compression = archive.infolist()[0].compress_type
            kept = {name: archive.read(f"{name}.npy") for name in like.uninitialised}
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in given.items():
            if array.dtype.name in EXTENSIONS:
                raise FileError(
                    f"{name!r} is {array.dtype.name}, which .npz cannot store. "
                    "Write .safetensors or .pt, or give it as float32."
                )
            with archive.open(_member(name, compression), "w", force_zip64=True) as file:
                _FORMAT.write_array(file, array, allow_pickle=False)
        for name, data in kept.items():
            archive.writestr(_member(name, compression), data)


def _member(name: str, compression: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(f"{name}.npy")
    info.compress_type = compression
    return info
