"""Writes a model's weights to a file that its own framework reads."""

from __future__ import annotations

from pathlib import Path

from parity.errors import FileError
from parity.frameworks import load
from parity.model import Model
from parity.weights.files import FORMATS, write_weights
from parity.weights.files.guard import guarded, whole


def check(model: Model, path: str | Path) -> None:
    """Says before the work is done that its result could not be saved.

    Raises:
        FileError: as `save`, of what the path's name alone tells.
    """
    target = Path(path)
    if target.name.endswith((".keras", ".h5")):
        if model.framework != "tensorflow" or not hasattr(model.obj, _own(target)):
            raise FileError(
                f"{target.name}: {model.name} is no Keras model; choose another format."
            )
        return
    endings = dict.fromkeys(end for kind in FORMATS.values() for end in kind.suffixes)
    if not target.name.endswith(tuple(endings)):
        raise FileError(
            f"{target.name!r} does not say which format to write. Let it end in one of: "
            f"{', '.join(endings)}."
        )


def _own(target: Path) -> str:
    """The method by which Keras writes a file."""
    return "save_weights" if target.name.endswith(".weights.h5") else "save"


def save(model: Model, path: str | Path) -> None:
    """Writes a file that appears whole or not at all.

    Args:
        path: a `.keras` file holds the model too, and is written by Keras itself, as `.weights.h5`
            is; all else holds the tensors by their names.

    Raises:
        FileError: the format cannot hold them, or is not known.
    """
    target = Path(path)
    check(model, target)
    if target.name.endswith((".keras", ".h5")):
        own = _own(target)
        suffix = ".weights.h5" if own == "save_weights" else target.suffix
        with guarded(target, "cannot be written", ""), whole(target) as place:
            written = place.with_name(place.name + suffix)  # Keras asks for its suffix
            getattr(model.obj, own)(str(written))
            written.replace(place)
        return
    tensors = load(model.framework).tensors(model.obj)
    names = {name: tensor for tensor in tensors for name in tensor.names}
    if model.framework == "chainer":  # as its own serializer names them
        names = {name.lstrip("/"): tensor for name, tensor in names.items()}
    kind = "chainer" if model.framework == "chainer" and target.suffix == ".npz" else None
    write_weights(target, {name: tensor.read() for name, tensor in names.items()}, kind)
