"""torch's .pt and .pth: state dicts, alone or in a checkpoint, loaded as plain data only."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from parity.errors import FileError
from parity.tape import Array
from parity.weights.files.contents import Entry, Note, WeightFile, objects
from parity.weights.files.safe_io import (
    DEEPEST,
    EXTENSIONS,
    MOST_NODES,
    check_size,
    check_zip,
    extension,
    need,
)

# Where checkpoints keep the model; the first that is there is read.
_MODEL_PARTS = ("state_dict", "model_state_dict", "model", "net", "module")
# What wrappers put before each name: DataParallel, torch.compile, Lightning.
_PREFIXES = ("module.", "_orig_mod.", "model.")

_Path = tuple[Any, ...]


def read(path: Path, part: str) -> WeightFile:
    torch = need("torch")
    data = _load(torch, path)
    parts = _parts(torch, data, path)
    where = _default_part(torch, data, path) if not part else tuple(part.split("."))
    for step in where:
        if not isinstance(data, Mapping) or step not in data:
            raise FileError(f"{path} has no part {part!r}; it has: {', '.join(parts) or 'none'}.")
        data = data[step]
    entries: dict[str, Entry] = {}
    seen: dict[object, str] = {}
    other, total = [], 0
    for steps, value in _leaves(data, path):
        name = ".".join(map(str, steps))
        if not _readable(torch, value):
            other.append(name)
            continue
        if name in entries:
            raise FileError(f"{path}: two tensors are named {name!r}.")
        total += value.numel() * value.element_size()
        shape = tuple(value.shape)
        same = (value.data_ptr(), shape, value.stride(), value.dtype) if value.numel() else name
        first = seen.setdefault(same, name)
        load = partial(_array, torch, value)
        entries[name] = Entry(shape, _name(value), load, shared=first if first != name else "")
    check_size(path, total, path.stat().st_size)
    if not entries:
        raise FileError(
            f"{path} holds no tensors{f' in {part!r}' if part else ''}. "
            "Save a state dict: torch.save(model.state_dict(), path)."
        )
    notes = (*_prefix(list(entries)), *objects(other))
    return WeightFile(path, "torch", entries, notes, part=".".join(map(str, where)), parts=parts)


def _load(torch: Any, path: Path) -> Any:
    """What the file holds, of torch's and Python's plain types only."""
    if tuple(map(int, re.findall(r"\d+", torch.__version__)[:2])) < (2, 6):
        # before, `weights_only` could be got around: CVE-2025-32434
        raise FileError(
            f"{path} is read safely by torch 2.6 or newer; here is {torch.__version__}."
        )
    zipped = zipfile.is_zipfile(path)
    if zipped:
        with zipfile.ZipFile(path) as archive:
            check_zip(path, archive)
            if any(name.partition("/")[2] == "constants.pkl" for name in archive.namelist()):
                raise FileError(
                    f"{path} is a TorchScript program, not weights, and is not run. Save its "
                    "weights where you trust it: torch.save(torch.jit.load(path).state_dict(), ...)"
                )
    try:
        return torch.load(str(path), map_location="cpu", weights_only=True, mmap=zipped)
    except Exception as error:
        found = re.search(r"GLOBAL (\S+)", str(error))
        if found is None:
            raise
        raise FileError(
            f"{path} holds a Python object ({found[1]}), and reading that would run code. "
            "Save the weights alone: torch.save(model.state_dict(), path)."
        ) from error


def _leaves(data: Any, path: Path) -> Iterator[tuple[_Path, Any]]:
    """All that is no container, depth first; a container may lie in itself."""
    stack: list[tuple[_Path, Any]] = [((), data)]
    for _ in range(MOST_NODES):
        if not stack:
            return
        steps, value = stack.pop()
        if len(steps) > DEEPEST:
            break
        if isinstance(value, Mapping):
            stack += [((*steps, key), item) for key, item in reversed([*value.items()])]
        elif isinstance(value, (list, tuple)):
            stack += [((*steps, at), value[at]) for at in reversed(range(len(value)))]
        else:
            yield steps, value
    raise FileError(f"{path} has too many parts, or one that holds itself; refused.")


def _parts(torch: Any, data: Any, path: Path) -> tuple[str, ...]:
    """The keys of a checkpoint under which tensors lie; () for a plain state dict."""
    if not isinstance(data, Mapping) or any(map(torch.is_tensor, data.values())):
        return ()
    return tuple(
        str(key)
        for key, value in data.items()
        if any(torch.is_tensor(leaf) for _, leaf in _leaves(value, path))
    )


def _default_part(torch: Any, data: Any, path: Path) -> _Path:
    """Where the model lies; () where the whole file is read."""
    steps: _Path = ()
    while len(steps) < DEEPEST:
        parts = _parts(torch, data, path)
        found = next((name for name in _MODEL_PARTS if name in parts), None)
        if found is None:
            break
        steps = (*steps, found)
        data = data[found]
    return steps


def _readable(torch: Any, value: Any) -> bool:
    return (
        isinstance(value, torch.Tensor)
        and value.layout == torch.strided
        and value.device.type == "cpu"
        and not value.is_quantized
        and (_name(value) in EXTENSIONS or hasattr(np, _name(value)) or _name(value) == "bool")
    )


def _name(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _array(torch: Any, tensor: Any) -> Array:
    """A copy: the file is mapped into memory, and may change under it."""
    tensor = tensor.detach().resolve_conj().resolve_neg()
    if _name(tensor) not in EXTENSIONS:
        return np.array(tensor.numpy(), order="C")
    bits = torch.int16 if tensor.element_size() == 2 else torch.uint8
    return np.array(tensor.contiguous().view(bits).numpy()).view(extension(_name(tensor)))


def _prefix(names: list[str]) -> tuple[Note, ...]:
    for prefix in _PREFIXES:
        if all(name.startswith(prefix) for name in names):
            text = f"all names start with {prefix!r}, as a wrapper of the model leaves it"
            return (Note("prefix", text, (prefix,)),)
    return ()


def write(path: Path, given: Mapping[str, Array], like: WeightFile | None, kind: str) -> None:
    torch = need("torch")
    data: Any = {name: _tensor(torch, array) for name, array in given.items()}
    if like is not None:
        whole = _load(torch, like.path)
        data = _replaced(whole, data, tuple(like.part.split(".")) if like.part else (), ())
    with open(path, "wb") as file:
        torch.save(data, file)


def _tensor(torch: Any, array: Array) -> Any:
    array = array if array.flags.writeable else array.copy()
    if array.dtype.name not in EXTENSIONS:
        return torch.from_numpy(array)
    bits = np.int16 if array.dtype.itemsize == 2 else np.uint8
    return torch.from_numpy(array.view(bits)).view(getattr(torch, array.dtype.name))


def _replaced(value: Any, tensors: Mapping[str, Any], part: _Path, at: _Path) -> Any:
    """A checkpoint with the tensors of one part exchanged, all else as it is."""
    if isinstance(value, Mapping):
        items = {k: _replaced(v, tensors, part, (*at, k)) for k, v in value.items()}
        made: Any = type(value)(items)  # type: ignore[call-arg]
        if hasattr(value, "_metadata"):  # the versions of modules, in a state dict
            made._metadata = value._metadata
        return made
    if isinstance(value, (list, tuple)):
        return type(value)(
            _replaced(item, tensors, part, (*at, index)) for index, item in enumerate(value)
        )
    name = ".".join(map(str, at[len(part) :]))
    return tensors.get(name, value) if at[: len(part)] == part else value
