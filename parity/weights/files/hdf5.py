"""HDF5: Keras's legacy .h5, Keras 3's .weights.h5, and any other file of datasets."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from parity.errors import FileError
from parity.tape import Array
from parity.weights.files import apart
from parity.weights.files.contents import Entry, Layer, WeightFile, objects
from parity.weights.files.guard import (
    DEEPEST,
    EXTENSIONS,
    MOST_NODES,
    arrays,
    as_in,
    check_size,
    extension,
    need,
)

_VARIABLE = re.compile(r"(?:^|.*/)vars/\d+")
_NO_PART = "model"
_TOP_LEVEL = "top_level_model_weights"

Opener = Callable[[], AbstractContextManager[Any]]

# The order of `vars/0`, `vars/1`, ...; a name goes with the setting that can turn it off.
_BIASED = (("kernel", ""), ("bias", "use_bias"))
_NORMED = (("gamma", "scale"), ("beta", "center"))
_RECURRENT = (("kernel", ""), ("recurrent_kernel", ""), ("bias", "use_bias"))
_VARIABLES: dict[str, tuple[tuple[str, str], ...]] = {
    **dict.fromkeys(("Dense", "EinsumDense", "Conv1D", "Conv2D", "Conv3D"), _BIASED),
    **dict.fromkeys(("Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose"), _BIASED),
    **dict.fromkeys(("DepthwiseConv1D", "DepthwiseConv2D"), _BIASED),
    **dict.fromkeys(("LSTMCell", "GRUCell", "SimpleRNNCell"), _RECURRENT),
    **dict.fromkeys(("LayerNormalization", "GroupNormalization"), _NORMED),
    "BatchNormalization": (*_NORMED, ("moving_mean", ""), ("moving_variance", "")),
    "Embedding": (("embeddings", ""),),
}
# Where a wrapper, as TimeDistributed or Bidirectional, has the layer that its config tells.
_WRAPPED = ("layer", "forward_layer", "backward_layer")
_CELLS = {"LSTM": "LSTMCell", "GRU": "GRUCell", "SimpleRNN": "SimpleRNNCell"}


@dataclass
class Config:
    """A layer of a Keras config: read as JSON, never built."""

    name: str
    kind: str
    settings: Mapping[str, Any]
    inner: dict[str, Config] = field(default_factory=dict)


def read(path: Path, part: str) -> WeightFile:
    need("h5py")
    return weight_file(apart.survey("hdf5", path, part), path, partial(_opened, path))


def survey(path: Path, part: str) -> dict[str, Any]:
    return survey_of(partial(_opened, path), path, part)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    with need("h5py").File(path, "r") as file:
        yield file


def survey_of(
    opener: Opener, path: Path, part: str, config: Config | None = None
) -> dict[str, Any]:
    """What an HDF5 file holds, wherever it lies, as plain data.

    Args:
        opener: opens it.
        config: what is known of the model's layers.
    """
    with opener() as file:
        datasets, groups = _walk(path, file)
        check_size(path, sum(one.nbytes for one in datasets.values()), path.stat().st_size)
        found: dict[str, dict[str, str]]  # of each part its tensors: name to place
        labels: dict[str, str] = {}
        layers: tuple[Layer, ...] = ()
        if _is_legacy(file):
            kind, (found, layers) = "keras-h5", _legacy(path, file, datasets)
        elif any(map(_VARIABLE.fullmatch, datasets)):
            kind, found = "keras-weights", _variables(datasets, config)
            labels, layers = _labels(datasets, groups, config)
        else:
            kind, found = "hdf5", {_NO_PART: {place: place for place in datasets}}
        if (part or _NO_PART) not in found:
            raise FileError(f"{path} has no part {part!r}; it has: {', '.join(found)}.")
        tensors = [
            (name, place, datasets[place].shape, _dtype(datasets[place]), labels.get(place, ""))
            for name, place in found[part or _NO_PART].items()
        ]
    return {
        "kind": kind,
        "tensors": tensors,
        "layers": [(layer.name, layer.kind, layer.weights) for layer in layers],
        "part": part or _NO_PART,
        "parts": list(found),
    }


def weight_file(told: Mapping[str, Any], path: Path, opener: Opener) -> WeightFile:
    """The file that a survey told of."""
    entries = {
        name: Entry(tuple(shape), dtype, partial(_load, opener, place, dtype), label, place=place)
        for name, place, shape, dtype, label in told["tensors"]
        if dtype is not None
    }
    other = [name for name, _, _, dtype, _ in told["tensors"] if dtype is None]
    layers = tuple(Layer(name, kind, tuple(own)) for name, kind, own in told["layers"])
    several = len(told["parts"]) > 1
    return WeightFile(
        path,
        told["kind"],
        entries,
        objects(other),
        layers,
        told["part"] if several else "",
        tuple(told["parts"]) if several else (),
    )


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
                        f"{path}: {inner!r} takes its numbers from another file; refused."
                    )
                datasets[inner] = item
    return {place: datasets[place] for place in sorted(datasets, key=natural)}, groups


def natural(place: str) -> list[tuple[int, str]]:
    """Sorts `vars/10` after `vars/2`."""
    return [
        (int(piece), "") if piece.isdecimal() else (0, piece) for piece in re.split(r"(\d+)", place)
    ]


def _dtype(dataset: Any) -> str | None:
    """The type of a dataset's numbers; Keras notes one that HDF5 has not in an attribute."""
    noted = dataset.attrs.get("dtype")
    if dataset.dtype.kind == "V" and noted in EXTENSIONS:
        return str(noted)
    name: str = dataset.dtype.name
    return name if dataset.dtype.kind in "biufc" and dataset.shape is not None else None


def _load(opener: Opener, place: str, dtype: str) -> Array:
    with opener() as file:
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


# --- Keras 3 -------------------------------------------------------------------------------------


def parse_config(data: Any) -> Config | None:
    """The layers that a model's config tells; None where it tells none."""
    if not isinstance(data, Mapping) or not isinstance(data.get("config"), Mapping):
        return None
    settings = data["config"]
    found = Config(str(settings.get("name", "")), str(data.get("class_name", "")), settings)
    used: dict[str, int] = {}
    layers = settings.get("layers")
    wrapped = parse_config(settings.get("layer"))
    if wrapped is not None:
        found.inner = dict.fromkeys(_WRAPPED, wrapped)
    for layer in layers if isinstance(layers, list) else []:
        inner = parse_config(layer)
        if inner is not None:
            # the file's own names come from classes, and are counted
            base = snake_case(inner.kind)
            count = used[base] = used.get(base, -1) + 1
            found.inner[f"{base}_{count}" if count else base] = inner
    return found


def snake_case(name: str) -> str:
    """`Conv2DTranspose` as `conv2d_transpose`, as Keras does it."""
    name = re.sub(r"\W+", "", name)
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


def _variables(datasets: Mapping[str, Any], config: Config | None) -> dict[str, dict[str, str]]:
    """The model's variables in the order of its layers, and the optimizer's."""
    places = sorted(datasets, key=lambda place: _position(place, config))
    optimizer = {place: place for place in places if place.startswith("optimizer/")}
    model = {place: place for place in places if place not in optimizer}
    return {_NO_PART: model, **({"optimizer": optimizer} if optimizer else {})}


def _position(place: str, config: Config | None) -> list[tuple[int, list[tuple[int, str]]]]:
    """Where a variable comes: layers as the config lists them, all else by name."""
    key = []
    for piece in place.split("/"):
        if piece == "layers" or config is None:
            key.append((0, natural(piece)))
            continue
        order = list(config.inner)
        key.append((order.index(piece) if piece in order else len(order), natural(piece)))
        config = config.inner.get(piece)
    return key


def _layer_name(layer: str, groups: Mapping[str, Any], config: Config | None) -> str:
    """The names of the layers on the way to one, outermost first: `inner/lstm/lstm_cell`."""
    pieces = layer.split("/") if layer else []
    names = []
    for end, piece in enumerate(pieces, 1):
        if piece == "layers":
            continue
        inner = "/".join(pieces[:end])
        own, known = groups.get(f"{inner}/vars"), _config_of(inner, config)
        told = own.attrs.get("name") if own is not None else None
        names.append(str(told or (known.name if known is not None else piece)))
    return "/".join(names)


def _labels(
    places: Iterable[str], groups: Mapping[str, Any], config: Config | None
) -> tuple[dict[str, str], tuple[Layer, ...]]:
    """Readable names by place, and the model's layers that have variables."""
    members: dict[str, list[str]] = {}
    for place in sorted(places, key=lambda place: _position(place, config)):
        members.setdefault(place.rpartition("vars/")[0].rstrip("/"), []).append(place)
    labels, layers = {}, []
    for layer, own in members.items():
        known = _config_of(layer, config)
        name = _layer_name(layer, groups, config)
        variables = _own_names(known, len(own)) if known is not None else ()
        for index, place in enumerate(own):
            last = variables[index] if variables else place.rpartition("/")[2]
            labels[place] = f"{name}/{last}" if name else last
        if not layer.startswith("optimizer"):
            layers.append(Layer(name, known.kind if known is not None else "", tuple(own)))
    return labels, tuple(layers)


def _config_of(layer: str, config: Config | None) -> Config | None:
    """What is known of the layer at a place; a recurrent layer's cell has its settings."""
    for piece in layer.split("/") if layer else []:
        if piece == "layers" or config is None:
            continue
        if piece == "cell" and config.kind in _CELLS:
            return Config(config.name, _CELLS[config.kind], config.settings)
        config = config.inner.get(piece)
    return config


def _own_names(config: Config, count: int) -> tuple[str, ...]:
    """The names of a layer's variables; () where its class is not known."""
    listed = _VARIABLES.get(config.kind, ())
    names = tuple(name for name, switch in listed if config.settings.get(switch, True))
    return names if len(names) == count else ()


# --- writing -------------------------------------------------------------------------------------


def write(path: Path, tensors: Mapping[str, Any], like: WeightFile | None, kind: str) -> None:
    h5py = need("h5py")
    if like is not None:
        shutil.copyfile(like.path, path)
        replace(path, like, tensors)
        return
    with h5py.File(path, "w") as file:
        if kind == "keras-h5":
            _write_legacy(file, dict(arrays(tensors)))
            return
        for name, array in arrays(tensors):
            if kind == "keras-weights" and not _VARIABLE.fullmatch(name):
                raise FileError(
                    f"{name!r} is no name of a .weights.h5, as layers/dense/vars/0 is. "
                    "Give like=, a file that Keras saved from the same model."
                )
            _put(file, name, array)


def replace(path: Path, like: WeightFile, tensors: Mapping[str, Any]) -> None:
    """Exchanges the numbers in a copy of a file; all else stays."""
    given = as_in(like, tensors)
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
