"""ONNX: the initialisers of a graph; values outside the file only from its own folder."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import prod
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from parity.errors import FileError
from parity.tape import Array
from parity.weights.files.contents import Entry, WeightFile, objects
from parity.weights.files.safe_io import EXTENSIONS, extension, need


def read(path: Path, part: str) -> WeightFile:
    onnx = need("onnx")
    graph = _model(onnx, path).graph
    entries: dict[str, Entry] = {}
    other = [sparse.values.name for sparse in graph.sparse_initializer]
    for tensor in graph.initializer:
        dtype = _dtype(onnx, tensor)
        if dtype is None:
            other.append(tensor.name)
            continue
        if tensor.name in entries:
            raise FileError(f"{path}: two initialisers are named {tensor.name!r}.")
        shape = tuple(tensor.dims)
        bits = dtype.itemsize * prod(shape)
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            place = _external(path, tensor, bits)
            load = partial(_load_external, *place, dtype, shape)
        else:
            if tensor.HasField("raw_data") and len(tensor.raw_data) != bits:
                raise FileError(f"{path}: {tensor.name!r} has too few or too many bytes.")
            load = partial(_load, tensor)
        entries[tensor.name] = Entry(shape, dtype.name, load)
    return WeightFile(path, "onnx", entries, objects(other))


def _model(onnx: Any, path: Path) -> Any:
    model = onnx.load(str(path), load_external_data=False)
    if not model.HasField("graph"):
        raise FileError(f"{path} is no ONNX model, or is empty.")
    return model


def _dtype(onnx: Any, tensor: Any) -> np.dtype[Any] | None:
    name = onnx.TensorProto.DataType.Name(tensor.data_type).lower()
    if name in EXTENSIONS:
        return extension(name)
    found = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type))
    return found if found.kind in "biufc" else None


def _load(tensor: Any) -> Array:
    return np.array(need("onnx.numpy_helper").to_array(tensor))


def _external(path: Path, tensor: Any, size: int) -> tuple[Path, int]:
    """The file and offset of values outside the model's file.

    Raises:
        FileError: they lie outside its folder, or are not there.
    """
    stored = {item.key: item.value for item in tensor.external_data}
    location = stored.get("location", "")
    folder = path.parent.resolve()
    target = (folder / PurePosixPath(location)).resolve()
    if not location or not target.is_relative_to(folder) or not target.is_file():
        raise FileError(
            f"{path}: the values of {tensor.name!r} should lie in {location!r}, which is no file "
            "in the model's folder. Files elsewhere are not read."
        )
    offset = int(stored.get("offset", 0))
    if offset < 0 or offset + size > target.stat().st_size:
        raise FileError(f"{target} is too short for {tensor.name!r}: it is damaged or cut off.")
    return target, offset


def _load_external(file: Path, offset: int, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    found = np.fromfile(file, dtype.newbyteorder("<"), prod(shape), offset=offset)
    return found.reshape(shape).astype(dtype, copy=False)


def write(path: Path, given: Mapping[str, Array], like: WeightFile | None, kind: str) -> None:
    if like is None:
        raise FileError(
            "An .onnx file holds a graph, not weights alone. Give like=, a file of the same model."
        )
    onnx = need("onnx")
    model = _model(onnx, like.path)
    for tensor in model.graph.initializer:
        if tensor.name in given:
            made = need("onnx.numpy_helper").from_array(given[tensor.name], tensor.name)
            tensor.CopyFrom(made)
    path.write_bytes(model.SerializeToString())
