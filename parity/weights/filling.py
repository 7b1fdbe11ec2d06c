"""Puts a file's weights into the model that it was saved from, by name."""

from __future__ import annotations

import re

import numpy as np

from parity.errors import FileError
from parity.frameworks import load
from parity.model import Model
from parity.weights.files import WeightFile
from parity.weights.files.safe_io import guarded


def fill(model: Model, file: WeightFile) -> None:
    """Keras reads its own formats, which go by the order of layers; all else goes by name.

    Raises:
        FileError: a parameter of the model is not in the file, or of another shape.
    """
    adapter = load(model.framework)
    reader = adapter.TRAITS.weights.own_reader(model.obj, file.format)
    if reader is not None:
        with guarded(file.path, f"does not fit {model.name}", ""):
            reader(str(file.path))
        return
    names = {_plain(name): name for name in file}
    names |= {_plain(label): key for key, label in file.labels.items()}
    for tensor in adapter.tensors(model.obj):
        key = next((names[_plain(own)] for own in tensor.names if _plain(own) in names), None)
        if key is None:
            if tensor.kind == "parameter":
                raise FileError(f"{file.path} has no {tensor.name}, which the source's model has.")
            continue
        if file.shapes[key] != tensor.shape:
            raise FileError(
                f"{file.path}: {key} is {file.shapes[key]}, in the source's model {tensor.shape}."
            )
        tensor.write(np.asarray(file[key]))


def _plain(name: str) -> str:
    return re.sub(r"[/.]+", "/", name.split(":")[0]).strip("/")
