"""TensorFlow's checkpoints, alone or in a SavedModel; the graph is never loaded."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from parity.errors import FileError
from parity.tape import Array
from parity.weights.files.contents import Entry, WeightFile, natural, objects
from parity.weights.files.safe_io import EXTENSIONS, check_size, need

_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
_SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE"


def read(path: Path, part: str) -> WeightFile:
    """Reads the checkpoint with the prefix `path`."""
    tensorflow = need("tensorflow")
    reader = tensorflow.train.load_checkpoint(str(path))
    types, shapes = reader.get_variable_to_dtype_map(), reader.get_variable_to_shape_map()
    full_names = _full_names(reader) if _GRAPH in types else {}
    entries: dict[str, Entry] = {}
    other, total = [], 0
    known = {key: place for place, key in enumerate(full_names)}
    for key in sorted(types, key=lambda key: (known.get(key, len(known)), natural(key))):
        dtype, shape = types[key].name, tuple(shapes[key])
        name = key.removesuffix(_SUFFIX)
        if dtype not in EXTENSIONS and np.dtype(types[key].as_numpy_dtype).kind not in "biufc":
            if key != _GRAPH:
                other.append(name)
            continue
        total += prod(shape) * types[key].size
        load = partial(_load, reader, key)
        entries[name] = Entry(shape, dtype, load, full_names.get(key, ""))
    check_size(path, total, sum(file.stat().st_size for file in files(path)))
    return WeightFile(path, "tensorflow", entries, objects(other))


def files(prefix: Path) -> list[Path]:
    """The files of a checkpoint."""
    return [
        file
        for file in prefix.parent.iterdir()
        if file.name == f"{prefix.name}.index" or file.name.startswith(f"{prefix.name}.data-")
    ]


def _load(reader: Any, key: str) -> Array:
    return np.array(reader.get_tensor(key))


def _full_names(reader: Any) -> dict[str, str]:
    """The variables' own names by key, in the order of the object graph, depth first."""
    protos = need("tensorflow.core.protobuf.trackable_object_graph_pb2")
    graph = protos.TrackableObjectGraph.FromString(reader.get_tensor(_GRAPH))
    names: dict[str, str] = {}
    stack, seen = [0], set()
    while stack:
        at = stack.pop()
        if at in seen or not 0 <= at < len(graph.nodes):
            continue
        seen.add(at)
        node = graph.nodes[at]
        names |= {own.checkpoint_key: own.full_name for own in node.attributes}
        stack += [child.node_id for child in reversed(node.children)]
    return names


def write(path: Path, given: Mapping[str, Array], like: WeightFile | None, kind: str) -> None:
    tensorflow = need("tensorflow")
    values: dict[str, Any] = {**given}
    if like is not None:
        reader = tensorflow.train.load_checkpoint(str(like.path))
        types = reader.get_variable_to_dtype_map()
        names = {key: key.removesuffix(_SUFFIX) for key in sorted(types)}
        values = {
            key: given[name] if name in given else reader.get_tensor(key)
            for key, name in names.items()
        }
    if not values:
        raise FileError("A TensorFlow checkpoint holds at least one tensor.")
    with tensorflow.device("CPU"):
        tensorflow.raw_ops.SaveV2(
            prefix=str(path),
            tensor_names=list(values),
            shape_and_slices=[""] * len(values),
            tensors=[tensorflow.constant(value) for value in values.values()],
        )
