"""Keeps bad files from doing harm: clear errors, limits on declared sizes."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from parity.errors import FileError, FrameworkMissing, ParityError
from parity.format import listed
from parity.frameworks import extra
from parity.frameworks.import_hooks import silence
from parity.tape import Array

if TYPE_CHECKING:
    from parity.weights.files.contents import WeightFile

# A file may unpack to this many bytes, or to this many times its size if that is more. Weights
# seldom shrink to less than a half; zeros shrink a thousandfold.
FREE_BYTES = 256 * 2**20
RATIO = 200
# How many groups, tensors and containers a file may have, and how deep they may lie.
MOST_NODES = 1_000_000
DEEPEST = 64

# Number types that NumPy has from the package ml_dtypes; torch and safetensors have them too.
EXTENSIONS = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")

_ADVICE = " It is damaged, cut off, or not what it seems to be; copy or save it again."
_EXTRAS = ("torch", "tensorflow", "onnx")


# --- errors --------------------------------------------------------------------------------------


@contextmanager
def guarded(path: Path, what: str, advice: str = _ADVICE) -> Iterator[None]:
    """Reports whatever goes wrong with a file as a `FileError`; libraries raise anything."""
    try:
        yield
    except ParityError:
        raise
    except Exception as error:
        lines = str(error).strip().splitlines()
        reason = f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__
        raise FileError(f"{path} {what} ({reason}).{advice}") from error


def need(module: str) -> Any:
    """A module that a format is read with.

    Raises:
        FrameworkMissing: it is not installed.
    """
    root = module.partition(".")[0]
    if root not in sys.modules and importlib.util.find_spec(root) is None:
        install = extra(root) if root in _EXTRAS else f"pip install {root}"
        raise FrameworkMissing(f"{root} is not installed. Install it with: {install}", root)
    silence()
    return importlib.import_module(module)


def extension(name: str) -> np.dtype[Any]:
    """The NumPy type of one of `EXTENSIONS`.

    Raises:
        FrameworkMissing: ml_dtypes is not installed.
    """
    found: np.dtype[Any] = np.dtype(getattr(need("ml_dtypes"), name))
    return found


# --- limits --------------------------------------------------------------------------------------


def check_size(path: Path, declared: int, stored: int) -> None:
    """Refuses what would unpack to far more than lies in the file.

    Args:
        declared: bytes that the tensors or members take when they are unpacked.
        stored: bytes of the file, or files.
    """
    if declared > max(FREE_BYTES, RATIO * stored):
        raise FileError(
            f"{path}: {stored:,} bytes claim to hold {declared:,}. That is refused: such a file "
            "would fill the memory. Save it again without compression if it is your own."
        )


def check_zip(path: Path, archive: zipfile.ZipFile) -> None:
    """Refuses archives that are made to mislead or to fill the memory."""
    members = archive.infolist()
    if len({info.filename for info in members}) < len(members):
        raise FileError(f"{path}: two of its members have one name. No tool writes that; refused.")
    if any(info.flag_bits & 1 for info in members):
        raise FileError(f"{path} is encrypted. Unpack it, and save it again without a password.")
    size = path.stat().st_size
    if sum(info.compress_size for info in members) > size:
        raise FileError(f"{path}: its members claim more bytes than the file has; refused.")
    check_size(path, sum(info.file_size for info in members), size)


# --- writing -------------------------------------------------------------------------------------


def arrays(tensors: Mapping[str, Any]) -> Iterator[tuple[str, Array]]:
    """Tensors one by one: C-contiguous, in the machine's byte order, of numbers only."""
    for name, tensor in tensors.items():
        array = np.asarray(tensor, order="C")
        if array.dtype.kind not in "biufc" and array.dtype.name not in EXTENSIONS:
            raise FileError(
                f"{name!r} cannot be written: its type is {array.dtype}, and weights are numbers."
            )
        yield name, array.astype(array.dtype.newbyteorder("="), copy=False)


def as_in(like: WeightFile, tensors: Mapping[str, Any]) -> dict[str, Array]:
    """Tensors in the order of the file they are to be written like.

    Raises:
        FileError: names or shapes differ.
    """
    given = dict(arrays(tensors))
    for verb, own, other in (("lacks", given, like.entries), ("also has", like.entries, given)):
        names = [repr(name) for name in own if name not in other]
        if names:
            raise FileError(
                f"To write like {like.path}, give the tensors of the same names; it {verb} "
                f"{listed(names, 5)}."
            )
    for name, entry in like.entries.items():
        if given[name].shape != entry.shape:
            raise FileError(
                f"{name!r} has shape {given[name].shape}, and {entry.shape} in {like.path}."
            )
    return {name: given[name] for name in like.entries}
