"""Writes a model's weights to a file that its own framework reads."""

from __future__ import annotations

from pathlib import Path

from parity.atomic import whole
from parity.errors import UsageError
from parity.frameworks import FRAMEWORKS, load
from parity.model import Model, full_name
from parity.weights.files import write_weights
from parity.weights.files.safe_io import guarded

# Of all models; Keras writes its own. An .onnx file holds a graph, and is not written alone.
_ENDINGS = (".npz", ".pt", ".pth", ".bin", ".safetensors", ".hdf5")


def _model_files() -> tuple[str, ...]:
    """The endings of files that frameworks write themselves."""
    return tuple(ending for one in FRAMEWORKS.values() for ending in one.model_files)


def check(model: Model, path: str | Path) -> None:
    """Says before the work is done that its result could not be saved.

    Raises:
        UsageError: as `save`, as far as the path's name shows it.
    """
    check_ending(path)
    target = Path(path)
    if not target.name.endswith(_model_files()):
        return
    if load(model.framework).TRAITS.weights.own_writer(model.obj, target.name) is None:
        raise UsageError(
            f"{target.name}: {full_name(model.name, model.framework)} is no Keras model; let the "
            f"file end in one of: {', '.join(_ENDINGS)}."
        )


def check_ending(path: str | Path) -> None:
    """Says before a model is there that no format is written to files of this name.

    Raises:
        UsageError: its ending is of no format that is written.
    """
    name = Path(path).name
    if not name.endswith((*_model_files(), *_ENDINGS)):
        raise UsageError(
            f"{name!r} does not say which format to write. Let it end in one of: "
            f"{', '.join(_ENDINGS)}; of a Keras model .keras, .weights.h5 or .h5 too."
        )


def save(model: Model, path: str | Path) -> None:
    """Writes a file that appears whole or not at all.

    Args:
        path: a `.keras` file holds the model too, and is written by Keras itself, as `.weights.h5`
            is; all else holds the tensors by their names.

    Raises:
        UsageError: no format is written to files of this name, or the model is not Keras's.
        FileError: the format cannot hold them.
    """
    target = Path(path)
    check(model, target)
    adapter = load(model.framework)
    writer = adapter.TRAITS.weights.own_writer(model.obj, target.name)
    if target.name.endswith(_model_files()) and writer is not None:
        suffix = ".weights.h5" if target.name.endswith(".weights.h5") else target.suffix
        with guarded(target, "cannot be written", ""), whole(target) as place:
            written = place.with_name(place.name + suffix)  # Keras asks for its suffix
            writer(str(written))
            written.replace(place)
        return
    contents = {
        adapter.TRAITS.weights.stored_name(name): tensor.read()
        for tensor in adapter.tensors(model.obj)
        for name in tensor.names
    }
    write_weights(target, contents, adapter.TRAITS.weights.file_formats.get(target.suffix))
