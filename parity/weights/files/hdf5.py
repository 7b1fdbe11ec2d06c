"""HDF5: Keras's legacy .h5, Keras 3's .weights.h5 and .keras, any other file of datasets."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from parity.errors import FileError
from parity.tape import Array
from parity.weights.files import subprocess_probe
from parity.weights.files.contents import Entry, Layer, WeightFile, natural, objects
from parity.weights.files.keras_layers import Config, labels_of, parse_config, position_of
from parity.weights.files.safe_io import (
    DEEPEST,
    EXTENSIONS,
    MOST_NODES,
    check_size,
    check_zip,
    extension,
    need,
)

_VARIABLE = re.compile(r"(?:^|.*/)vars/\d+")
_NO_PART = "model"
_TOP_LEVEL = "top_level_model_weights"

# What is in a .keras file.
_CONFIG = "config.json"
_WEIGHTS = "model.weights.h5"


def read(path: Path, part: str) -> WeightFile:
    need("h5py")
    if _is_archive(path):
        with zipfile.ZipFile(path) as archive:
            check_zip(path, archive)
    surveyed = subprocess_probe.survey("hdf5", path, part)
    entries = {
        name: Entry(tuple(shape), dtype, partial(_load, path, place, dtype), label, place=place)
        for name, place, shape, dtype, label in surveyed["tensors"]
        if dtype is not None
    }
    other = [name for name, _, _, dtype, _ in surveyed["tensors"] if dtype is None]
    layers = tuple(Layer(name, kind, tuple(own)) for name, kind, own in surveyed["layers"])
    parts = surveyed["parts"]
    shown = (surveyed["part"], tuple(parts)) if len(parts) > 1 else ("", ())
    return WeightFile(path, surveyed["kind"], entries, objects(other), layers, *shown)


def _is_archive(path: Path) -> bool:
    """Whether it is a .keras file: a zip with the config, read as JSON, and the weights."""
    with open(path, "rb") as file:
        return file.read(2) == b"PK"


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Weights inside a zip are read in place; a packed member is unpacked to the disk first."""
    with ExitStack() as stack:
        source: Any = path
        if _is_archive(path):
            archive = stack.enter_context(zipfile.ZipFile(path))
            source = stack.enter_context(archive.open(_WEIGHTS))
            if archive.getinfo(_WEIGHTS).compress_type != zipfile.ZIP_STORED:
                packed, source = source, stack.enter_context(tempfile.TemporaryFile())
                shutil.copyfileobj(packed, source)
                source.flush()
        yield stack.enter_context(need("h5py").File(source, "r"))


def survey(path: Path, part: str) -> dict[str, Any]:
    """What an HDF5 file holds, wherever it lies, as plain data."""
    config = None
    if _is_archive(path):
        with zipfile.ZipFile(path) as archive:
            config = parse_config(json.loads(archive.read(_CONFIG)))
    with _opened(path) as file:
        datasets, groups = _walk(path, file)
        check_size(path, sum(one.nbytes for one in datasets.values()), path.stat().st_size)
        found: dict[str, dict[str, str]]  # of each part its tensors: name to place
        labels: dict[str, str] = {}
        layers: tuple[Layer, ...] = ()
        if _is_legacy(file):
            kind, (found, layers) = "keras-h5", _legacy(path, file, datasets)
        elif any(map(_VARIABLE.fullmatch, datasets)):
            kind, found = "keras-weights", _variables(datasets, config)
            labels, layers = labels_of(datasets, groups, config)
        else:
            kind, found = "hdf5", {_NO_PART: {place: place for place in datasets}}
        if (part or _NO_PART) not in found:
            raise FileError(f"{path} has no part {part!r}; it has: {', '.join(found)}.")
        tensors = [
            (name, place, datasets[place].shape, _dtype(datasets[place]), labels.get(place, ""))
            for name, place in found[part or _NO_PART].items()
        ]
    return {
        "kind": "keras" if _is_archive(path) else kind,
        "tensors": tensors,
        "layers": [(layer.name, layer.kind, layer.weights) for layer in layers],
        "part": part or _NO_PART,
        "parts": list(found),
    }


def _walk(path: Path, file: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """All datasets and groups by place; nothing is followed out of the file, or twice around."""
    h5py = need("h5py")
    datasets: dict[str, Any] = {}
    groups: dict[str, Any] = {}
    stack = [("", file)]
    while stack:
        place, group = stack.pop()
        groups[place] = group
        if len(groups) + len(datasets) > MOST_NODES or place.count("/") > DEEPEST:
            raise FileError(f"{path} has too many groups, or one that holds itself; refused.")
        for name in sorted(group, key=natural):
            inner = f"{place}/{name}" if place else name
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                raise FileError(f"{path}: {inner!r} is a link to another place; refused.")
            item = group[name]
            if isinstance(item, h5py.Group):
                stack.append((inner, item))
            elif isinstance(item, h5py.Dataset):
                if item.external or item.is_virtual:
                    raise FileError(
                        f"{path}: {inner!r} takes its values from another file; refused."
                    )
                datasets[inner] = item
    return {place: datasets[place] for place in sorted(datasets, key=natural)}, groups


def _dtype(dataset: Any) -> str | None:
    """The type of a dataset's values; Keras notes one that HDF5 has not in an attribute."""
    noted = dataset.attrs.get("dtype")
    if dataset.dtype.kind == "V" and noted in EXTENSIONS:
        return str(noted)
    name: str = dataset.dtype.name
    return name if dataset.dtype.kind in "biufc" and dataset.shape is not None else None


def _load(path: Path, place: str, dtype: str) -> Array:
    with _opened(path) as file:
        array = np.asarray(file[place][()])
    if dtype in EXTENSIONS:
        return array.view(extension(dtype))
    return array.astype(array.dtype.newbyteorder("="), copy=False)


# --- the legacy format ---------------------------------------------------------------------------


def _is_legacy(file: Any) -> bool:
    return "layer_names" in file.attrs or "layer_names0" in file.attrs or "model_weights" in file


def _strings(group: Any, name: str) -> list[str]:
    """An attribute that is a list of names; a long one is cut into several."""
    pieces = [name] if name in group.attrs else []
    while not pieces or pieces[-1] != name:
        if f"{name}{len(pieces)}" not in group.attrs:
            break
        pieces.append(f"{name}{len(pieces)}")
    return [
        item.decode() if isinstance(item, bytes) else str(item)
        for piece in pieces
        for item in group.attrs[piece]
    ]


def _legacy(
    path: Path, file: Any, datasets: Mapping[str, Any]
) -> tuple[dict[str, dict[str, str]], tuple[Layer, ...]]:
    """The tensors of each part, name to place, in the order of the attributes; the layers."""
    before = "model_weights/" if "model_weights" in file else ""
    root = file[before or "/"]
    listed = [layer for layer in (*_strings(root, "layer_names"), _TOP_LEVEL) if layer in root]
    weights = {layer: _strings(root[layer], "weight_names") for layer in listed}
    every = [name for names in weights.values() for name in names]
    unique = len({*every}) == len(every)
    model: dict[str, str] = {}
    layers = []
    kinds = _legacy_kinds(file)
    for layer, names in weights.items():
        own = {name if unique else f"{layer}/{name}": f"{before}{layer}/{name}" for name in names}
        layers.append(Layer(layer, kinds.get(layer, ""), tuple(own)))
        model |= own
    found = {_NO_PART: model}
    if "optimizer_weights" in file:
        names = _strings(file["optimizer_weights"], "weight_names")
        found["optimizer"] = {name: f"optimizer_weights/{name}" for name in names}
    lost = [place for part in found.values() for place in part.values() if place not in datasets]
    lost += [layer for layer in _strings(root, "layer_names") if layer not in root]
    if lost:
        raise FileError(f"{path} names {lost[0]!r} and does not have it: it is damaged.")
    return found, tuple(layer for layer in layers if layer.name != _TOP_LEVEL or layer.weights)


def _legacy_kinds(file: Any) -> dict[str, str]:
    """The classes of layers, by name, where the file has the model's config."""
    config = parse_config(json.loads(file.attrs.get("model_config", "null")))
    return {one.name: one.kind for one in config.inner.values()} if config is not None else {}


def _variables(datasets: Mapping[str, Any], config: Config | None) -> dict[str, dict[str, str]]:
    """The model's variables in the order of its layers, and the optimizer's."""
    places = sorted(datasets, key=lambda place: position_of(place, config))
    optimizer = {place: place for place in places if place.startswith("optimizer/")}
    model = {place: place for place in places if place not in optimizer}
    return {_NO_PART: model, **({"optimizer": optimizer} if optimizer else {})}


# --- writing -------------------------------------------------------------------------------------


def write(path: Path, given: Mapping[str, Array], like: WeightFile | None, kind: str) -> None:
    if like is None and kind == "keras":
        raise FileError(
            "A .keras file holds a model, not weights alone. Give like=, a .keras file of the "
            "same model, or write .weights.h5."
        )
    if like is not None and kind == "keras":
        _replace_member(path, like, given)
        return
    if like is not None:
        shutil.copyfile(like.path, path)
        _replace(path, like, given)
        return
    with need("h5py").File(path, "w") as file:
        if kind == "keras-h5":
            _write_legacy(file, given)
            return
        for name, array in given.items():
            if kind == "keras-weights" and not _VARIABLE.fullmatch(name):
                raise FileError(
                    f"{name!r} is no name of a .weights.h5, as layers/dense/vars/0 is. "
                    "Give like=, a file that Keras saved from the same model."
                )
            _put(file, name, array)


def _replace_member(path: Path, like: WeightFile, given: Mapping[str, Array]) -> None:
    """The same in the weights of a .keras file."""
    with (
        zipfile.ZipFile(like.path) as source,
        zipfile.ZipFile(path, "w") as target,
        tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name) as weights,
    ):
        for info in source.infolist():
            with source.open(info) as member:
                if info.filename != _WEIGHTS:
                    with target.open(info, "w") as copy:
                        shutil.copyfileobj(member, copy)
                    continue
                shutil.copyfileobj(member, weights)
                weights.flush()
                _replace(Path(weights.name), like, given)
                target.write(weights.name, _WEIGHTS)


def _replace(path: Path, like: WeightFile, given: Mapping[str, Array]) -> None:
    """Exchanges the values in a copy of a file; all else stays."""
    with need("h5py").File(path, "r+") as file:
        for name, array in given.items():
            place = like.entries[name].place
            old = file[place]
            if old.dtype.newbyteorder("=") == array.dtype:
                old[...] = array
                continue
            attributes = {key: value for key, value in old.attrs.items() if key != "dtype"}
            del file[place]
            _put(file, place, array).attrs.update(attributes)


def _put(group: Any, name: str, array: Array) -> Any:
    if array.dtype.name not in EXTENSIONS:
        return group.create_dataset(name, data=array)
    made = group.create_dataset(name, data=array.view(f"V{array.dtype.itemsize}"))
    made.attrs["dtype"] = array.dtype.name
    return made


def _write_legacy(file: Any, tensors: Mapping[str, Array]) -> None:
    """As `Model.save_weights` wrote it: a group per layer, which is what a name starts with."""
    layers: dict[str, list[str]] = {}
    for name in tensors:
        layers.setdefault(name.partition("/")[0], []).append(name)
    _set_strings(file, "layer_names", list(layers))
    for layer, names in layers.items():
        group = file.create_group(layer)
        _set_strings(group, "weight_names", names)
        for name in names:
            _put(group, name, tensors[name])


def _set_strings(group: Any, name: str, values: list[str]) -> None:
    """A list of names as an attribute, in pieces where one is too long for HDF5's header."""
    data = np.array([value.encode() for value in values] or np.zeros(0, "S1"))
    pieces = max(1, -(-data.nbytes // 64_000))
    if pieces == 1:
        group.attrs[name] = data
        return
    for index, piece in enumerate(np.array_split(data, pieces)):
        group.attrs[f"{name}{index}"] = piece
