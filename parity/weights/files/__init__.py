"""Reads and writes files of weights; one module per format, and the table of them.

A file is known by its content, not by its name. A new format is one module with `read` and `write`,
a line in `FORMATS` and one in `_identify`.
"""

from __future__ import annotations

import importlib
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from parity.atomic import whole
from parity.errors import FileError
from parity.weights.files.contents import Entry, Layer, Note, WeightFile
from parity.weights.files.safe_io import guarded

__all__ = ["FORMATS", "Entry", "Layer", "Note", "WeightFile", "read_weights", "write_weights"]


@dataclass(frozen=True)
class Format:
    """What a format is called, and where it is read and written.

    Attributes:
        text: in words.
        module: of this package.
        suffixes: of files that are written so when no format is asked for; () where none does.
        channels_last: whether its kernels have the axes of channels behind those of space.
    """

    text: str
    module: str
    suffixes: tuple[str, ...]
    channels_last: bool = False


FORMATS = {
    "npz": Format("NumPy .npz", "npz", (".npz",)),
    "chainer": Format("Chainer .npz", "npz", (".npz",)),
    "torch": Format("torch .pt", "torch", (".pt", ".pth", ".bin")),
    "safetensors": Format("safetensors", "safetensors", (".safetensors",)),
    "keras": Format("Keras .keras", "keras", (".keras",), True),
    "keras-weights": Format("Keras .weights.h5", "hdf5", (".weights.h5",), True),
    "keras-h5": Format("Keras legacy .h5", "hdf5", (".h5", ".hdf5"), True),
    "hdf5": Format("HDF5", "hdf5", (".h5", ".hdf5")),
    "tensorflow": Format("TensorFlow checkpoint", "tensorflow", (), True),
    "onnx": Format("ONNX", "onnx", (".onnx",)),
}
_DEFAULT_PART = "model"
_TORCH_LEGACY = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."

# What a file starts with that holds no weights, and what to say of it.
_OTHERS = {
    b"version https://git-lfs": "is a pointer of Git LFS; fetch the file itself: git lfs pull",
    b"\x93NUMPY": "is a single array; save it with a name: numpy.savez(path, name=array)",
    b"\x80": "is a Python pickle, and reading it would run what is in it; save plain weights",
    b"\x1f\x8b": "is packed with gzip; unpack it first",
}


# --- reading -------------------------------------------------------------------------------------


def read_weights(path: str | os.PathLike[str], part: str = "") -> WeightFile:
    """What a file of weights holds; nothing in it is run.

    Args:
        path: a file, the prefix of a TensorFlow checkpoint, or a folder: a SavedModel, a folder of
            checkpoints, of which the latest is read, or what an agent of ChainerRL or PFRL saves.
        part: of a file or folder with several, the one to read instead of the model.

    Raises:
        FileError: the file is not there, damaged, unsafe, or of no known kind.
        FrameworkMissing: what reads the format is not installed.
    """
    target = Path(path)
    with guarded(target, "cannot be read"):
        if target.is_dir() and not (target / "saved_model.pb").is_file():
            found = _checkpoint_in(target)
            return _read(found, part) if found is not None else _read_agent(target, part)
        return _read(target, part)


def _read(path: Path, part: str) -> WeightFile:
    path, kind = _identify(path)
    found: WeightFile = _module(kind).read(path, part)
    if part and not found.parts:
        raise FileError(f"{path} has no parts, so no {part!r}.")
    return replace(found, notes=(*found.notes, *_counters(found), *_misnamed(found)))


def _module(kind: str) -> Any:
    return importlib.import_module(f"parity.weights.files.{FORMATS[kind].module}")


def _read_agent(folder: Path, part: str) -> WeightFile:
    """Reads one file of a folder that has one per model, target or optimizer."""
    files = {
        file.stem: file
        for file in sorted(folder.iterdir())
        if file.suffix in (".npz", ".pt", ".pth", ".safetensors") and file.is_file()
    }
    if not files:
        raise FileError(f"{folder} holds no weights that are known: no file, no checkpoint.")
    wanted = part or (_DEFAULT_PART if len(files) > 1 else next(iter(files)))
    if wanted not in files:
        raise FileError(
            f"{folder} has no part {wanted!r}. Name one of: {', '.join(files)} (part=...)."
        )
    return replace(_read(files[wanted], ""), part=wanted, parts=tuple(files))


def _checkpoint_in(folder: Path) -> Path | None:
    """The prefix of a folder's latest checkpoint, never one of another folder."""
    prefixes = [file.with_suffix("") for file in sorted(folder.glob("*.index"))]
    state = folder / "checkpoint"
    if len(prefixes) > 1 and state.is_file() and state.stat().st_size < 2**20:
        first = state.read_text(errors="replace").partition("\n")[0]
        latest = folder / Path(first.partition('"')[2].rstrip('"')).name
        if latest in prefixes:
            return latest
    if len(prefixes) > 1:
        names = ", ".join(prefix.name for prefix in prefixes)
        raise FileError(f"{folder} has several checkpoints. Name one of: {names}.")
    return prefixes[0] if prefixes else None


def _identify(path: Path) -> tuple[Path, str]:
    """The format by what the file holds, and the path that its module reads."""
    if path.is_dir():
        path = path / "variables" / "variables"
    prefix = _prefix(path)
    if prefix is not None:
        return prefix, "tensorflow"
    if not path.exists():
        raise FileError(f"There is no file {path}, and no checkpoint with this prefix.")
    if not path.is_file():
        raise FileError(f"{path} is no file.")
    with open(path, "rb") as file:
        head = file.read(64)
    if not head:
        raise FileError(f"{path} is empty.")
    if head.startswith(b"PK"):
        return path, _identify_zip(path)
    if head.startswith(b"\x89HDF\r\n\x1a\n"):
        return path, "hdf5"
    if head.startswith(_TORCH_LEGACY):
        return path, "torch"
    if head[8:9] == b"{" and int.from_bytes(head[:8], "little") < path.stat().st_size:
        return path, "safetensors"
    for start, what in _OTHERS.items():
        if head.startswith(start):
            raise FileError(f"{path} {what}.")
    if path.suffix == ".onnx" or head[:1] == b"\x08":
        return path, "onnx"
    raise FileError(
        f"{path} is of no known kind, damaged or cut off. "
        f"Known are: {', '.join(kind.text for kind in FORMATS.values())}."
    )


def _prefix(path: Path) -> Path | None:
    """The prefix of the TensorFlow checkpoint that a path names, if it does."""
    name, dot, _ = path.name.rpartition(".data-")
    for candidate in (path, path.with_name(name) if dot else path.with_suffix("")):
        if (candidate == path or dot or path.suffix == ".index") and candidate.name:
            if candidate.with_name(f"{candidate.name}.index").is_file():
                return candidate
    return None


def _identify_zip(path: Path) -> str:
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    if "config.json" in names and "model.weights.h5" in names:
        return "keras"
    if any(name.partition("/")[2] in ("data.pkl", "constants.pkl") for name in names):
        return "torch"
    if any(name.endswith(".npy") for name in names):
        return "npz"
    if not names:
        raise FileError(f"{path} is an archive without members; it holds no weights.")
    raise FileError(
        f"{path} is an archive of no known kind, with {names[0]!r} in it. "
        "Known are .npz, .pt and .keras."
    )


def _counters(found: WeightFile) -> tuple[Note, ...]:
    """Single integers: steps that an optimizer took, batches that a norm has seen."""
    names = tuple(
        name
        for name, entry in found.entries.items()
        if entry.shape == () and entry.dtype.startswith(("int", "uint"))
    )
    text = f"counters, not weights: {', '.join(names)}"
    return (Note("counter", text, names),) if names else ()


def _misnamed(found: WeightFile) -> tuple[Note, ...]:
    """A file that is named as another format is."""
    claimed = _format_of(found.path)
    if claimed is None or FORMATS[claimed].module == FORMATS[found.format].module:
        return ()
    named, own = FORMATS[claimed].text, FORMATS[found.format].text
    return (Note("suffix", f"{found.path.name} is named as {named}, and is {own}"),)


# --- writing -------------------------------------------------------------------------------------


def write_weights(
    path: str | os.PathLike[str],
    tensors: Mapping[str, Any],
    format: str | None = None,
    like: str | os.PathLike[str] | None = None,
) -> None:
    """Writes tensors to a file that appears whole, or not at all.

    Args:
        path: the file, or the prefix of a TensorFlow checkpoint.
        tensors: arrays by name; numbers of any kind that the format has.
        format: a key of `FORMATS`; without it, by the path's suffix, or what `like` is.
        like: a file with the same names and shapes, of which all but the numbers is kept: order,
            nesting, configs. Must be of the same format; may be the file that is written.

    Raises:
        FileError: the format cannot hold the tensors, or `like` does not fit them.
        FrameworkMissing: what writes the format is not installed.
    """
    target = Path(path)
    if format is not None and format not in FORMATS:
        raise FileError(f"Unknown format {format!r}; known are {', '.join(FORMATS)}.")
    model = read_weights(like) if like is not None else None
    kind = format or _format_of(target)
    if model is not None:
        if kind is not None and FORMATS[kind].module != FORMATS[model.format].module:
            raise FileError(
                f"{model.path} is {FORMATS[model.format].text}, and cannot show how to write "
                f"{FORMATS[kind].text}."
            )
        kind = model.format
    if kind is None:
        raise FileError(
            f"{target.name!r} does not say which format to write. Name one (format=...): "
            f"{', '.join(FORMATS)}."
        )
    if not target.parent.is_dir():
        raise FileError(f"There is no folder {target.parent} to write {target.name} in.")
    with guarded(target, "cannot be written", ""), whole(target) as place:
        _module(kind).write(place, tensors, model, kind)


def _format_of(path: Path) -> str | None:
    """The format by the suffix; the longest that fits, as `.weights.h5`."""
    fitting = [
        (len(end), name)
        for name, kind in FORMATS.items()
        for end in kind.suffixes
        if path.name.endswith(end)
    ]
    return max(fitting, key=lambda found: found[0])[1] if fitting else None
