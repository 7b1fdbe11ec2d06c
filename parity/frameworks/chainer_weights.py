"""The weights of Chainer's links: which they hold, how they are named, laid out and stored."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from parity.frameworks.chainer_numpy import import_chainer
from parity.frameworks.protocol import WeightRules
from parity.outputs.tensors import offers
from parity.recorder import discover
from parity.tape import Array
from parity.weights.cell_weights import CellWeights, cells_by_name, weights_of_cell
from parity.weights.tensors import Tensor

chainer = import_chainer()

# --- what a model holds --------------------------------------------------------------------------


def owner_of(obj: object) -> object:
    """The object that a method belongs to; anything else itself."""
    return getattr(obj, "__self__", obj)


def is_link(obj: object) -> bool:
    return isinstance(obj, chainer.Link)


def path_of(dotted: str) -> str:
    return "/" + dotted.replace(".", "/")


def array_of(item: Any) -> Array:
    return np.asarray(item.array if isinstance(item, chainer.Variable) else item)


def links_of(obj: object) -> dict[str, Any]:
    """Links by path: `/l1` below a link that is the model, `/net/l1` where something holds it."""
    found: dict[str, Any] = {}

    def add(path: str, link: Any) -> None:
        for below, child in link.namedlinks():
            found.setdefault(path + below.rstrip("/"), child)

    if is_link(owner_of(obj)):
        add("", owner_of(obj))
    else:
        for held, link in discover(obj, is_link).items():
            add(path_of(held), link)
    for path, link in list(found.items()):  # links that are attributes and not children
        for held, item in discover(dict(vars(link)), is_link).items():
            if all(item is not known for known in found.values()):
                add(path + path_of(held), item)
    return found


def tensors(obj: object) -> list[Tensor]:
    """What is not initialised yet has no shape and is left out: run the model first."""
    found: dict[int, Tensor] = {}
    for path, link in links_of(obj).items():
        for key in sorted(link._params) + sorted(link._persistent):
            item = vars(link)[key]
            array = item.array if isinstance(item, chainer.Variable) else item
            if not isinstance(array, np.ndarray):
                continue
            before = found.get(id(array))
            if before is not None:
                found[id(array)] = replace(before, names=(*before.names, f"{path}/{key}"))
                continue
            rule = getattr(item, "update_rule", None)  # None without an optimizer
            trains = key in link._params and (rule is None or rule.enabled)
            found[id(array)] = Tensor(
                (f"{path}/{key}",),
                array.shape,
                array.dtype.name,
                "parameter" if key in link._params else "buffer",
                trains,
                partial(np.asarray, array),
                partial(array.__setitem__, ...),
                getattr(link, "decay", None) if key in ("avg_mean", "avg_var") else None,
                array,
            )
    return list(found.values())


def parameters(thing: Any) -> dict[str, Any] | None:
    if not offers(thing, "namedparams", "namedlinks"):
        return None
    found = {path.strip("/"): one for path, one in thing.namedparams()}
    for path, link in thing.namedlinks():
        for name in getattr(link, "_persistent", ()):
            found[f"{path.strip('/')}/{name}".strip("/")] = getattr(link, name)
    return found


# --- how weights are laid out and stored ---------------------------------------------------------

_CELL = re.compile(r"(?P<cell>.*/)(?P<role>[wb]\d+|(?:upward|lateral|[WU](?:_[rz])?)/[Wb])$")
_GATES = (1, 2, 0, 3)  # an LSTM's are a, i, f, o, unit by unit
_GRU = re.compile(r"(.+)/[WU]_[rz]/W$")
_STEPS = re.compile(r"((.+)/\d+)/w\d$")


def _cell(own: Mapping[str, Array]) -> CellWeights | None:
    if "w0" in own:
        return _of_steps(own)
    if "upward/W" in own and "lateral/W" in own:
        return _lstm(own)
    if {"W_r/W", "W_z/W", "W/W", "U_r/W", "U_z/W", "U/W"} <= set(own):
        return _gru(own)
    return None


def _of_steps(own: Mapping[str, Array]) -> CellWeights:
    """A layer of `NStepLSTM` and the like: a tensor for each gate, first those of the input."""
    half = len([key for key in own if key[0] == "w"]) // 2
    both = range(half), range(half, 2 * half)
    kernel, recurrent = (np.concatenate([own[f"w{k}"] for k in numbers]) for numbers in both)
    biases = [np.concatenate([own[f"b{k}"] for k in numbers]) for numbers in both]
    return weights_of_cell(own["w0"].shape[0], kernel, recurrent, biases)


def _lstm(own: Mapping[str, Array]) -> CellWeights:
    units = own["lateral/W"].shape[1]

    def rows(array: Array) -> Array:
        gates = array.reshape(units, 4, *array.shape[1:])[:, list(_GATES)]
        return np.moveaxis(gates, 1, 0).reshape(array.shape)

    biases = [rows(own["upward/b"])] if "upward/b" in own else []
    return weights_of_cell(units, rows(own["upward/W"]), rows(own["lateral/W"]), biases)


def _gru(own: Mapping[str, Array]) -> CellWeights:
    units = own["U/W"].shape[0]
    # its update gate is the complement of the others', so all that makes it is negated
    sign = np.repeat([1.0, -1.0, 1.0], units)

    def rows(side: str, kind: str) -> Array:
        return np.concatenate([own[f"{side}{gate}/{kind}"] for gate in ("_r", "_z", "")])

    biases = [rows(side, "b") for side in "WU"] if "W/b" in own else []
    return weights_of_cell(units, rows("W", "W"), rows("U", "W"), biases, sign)


def cell_layer(name: str, known: Collection[str]) -> str | None:
    if match := _GRU.match(name):
        return match[1]
    if match := _STEPS.match(name):
        own = {other for other in known if other.startswith(f"{match[1]}/")}
        for count in (2, 6, 8):  # of a plain cell, a GRU, an LSTM
            if own == {f"{match[1]}/{kind}{n}" for kind in "wb" for n in range(count)}:
                return match[2]
    return None


WEIGHTS = WeightRules(
    cells=partial(cells_by_name, pattern=_CELL, reader=_cell),
    cell_layer=cell_layer,
    momentum="decay {:g}".format,
    stored_name=lambda name: name.lstrip("/"),
    file_formats={".npz": "chainer"},
)
