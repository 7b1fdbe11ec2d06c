"""A file of weights as a source: its tensors by layer, paired by names and shapes.

A file has no operations, so layers are told by what their tensors are called and by their shapes in
the layout of the framework that wrote it; layers of the same shapes go in the order of their names,
which is told.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from parity.errors import FileError
from parity.frameworks import load
from parity.model import Model
from parity.tape import Array
from parity.weights.addresses import Addresses
from parity.weights.elements import Elements, order_in_file
from parity.weights.files import WeightFile
from parity.weights.pairing import Pair, Pairing, Side, numbered
from parity.weights.parts import NEUTRAL, Part
from parity.weights.table import SPACE
from parity.weights.tensors import Tensor

_KERNELS = ("W", "weight", "kernel", "depthwise_kernel")
_STATISTICS = {
    **dict.fromkeys(("avg_mean", "moving_mean", "running_mean"), "running mean"),
    **dict.fromkeys(("avg_var", "moving_variance", "running_var"), "running variance"),
}
_OF_KERAS = {"keras": ".keras", "keras-weights": ".weights.h5"}
_COUNTERS = ("N", "num_batches_tracked")


@dataclass
class _Layer:
    """The tensors of a file whose names differ at the end only."""

    name: str
    roles: dict[str, int] = field(default_factory=dict)


def tensors_of(file: WeightFile) -> list[Tensor]:
    """A file's tensors; they are read when they are asked for, and never written to."""

    def refuse(array: Array) -> None:
        raise FileError(f"{file.path} is a source: it is not written to.")

    labels = file.labels
    return [
        Tensor(
            (labels[name],),
            entry.shape,
            entry.dtype,
            "parameter",
            True,
            lambda name=name: file[name],  # type: ignore[misc]
            refuse,
        )
        for name, entry in file.entries.items()
    ]


def pair_stored(book: Addresses, target: Side) -> Pairing:
    """Pairs a file's tensors with what a model does."""
    layers = _layers(book.tensors)
    last = any(tensor.name.endswith("kernel") for tensor in book.tensors)
    steps = {n: own for n, own in target.parts.items() if any(map(target.names, own.values()))}
    found = Pairing([], {})
    fits = {
        n: [name for name, layer in layers.items() if _fits(book, layer, target, n, last)]
        for n in steps
    }
    chosen = _choose(fits, found.notes)
    found.notes += _contradictions(book, target, layers, fits, chosen, last)
    anchors = {n: n + 1 for n in range(len(target.program.steps))}
    inputs = {v: numbered(target.tape.values[v].shape) for v in target.tape.inputs.values()}
    elements = Elements(target.program, anchors, inputs)
    for n, name in chosen.items():
        kind = target.program.steps[n].kind
        for role, part in steps[n].items():
            names = target.names(part)
            number = layers[name].roles.get(role)
            if not names or number is None and role not in NEUTRAL:
                continue
            if number is None:
                found.pairs.append(Pair(role, None, part, (), names))
                continue
            own = _canonical(book.own(number), role, kind, last)
            source = Part(-1, role, _found(own), layout=_layout(book, number, role, last))
            pair = Pair(role, source, part, (book.tensors[number].name,), names)
            if part.enters is not None:
                entering = elements.channels(part.enters, part.axis, part.images)
                pair.order = order_in_file(entering, elements, last)
            found.pairs.append(pair)
    used = {name for pair in found.pairs for name in pair.source_names}
    written = {name for pair in found.pairs for name in pair.target_names}
    read = target.read()
    found.left[0].extend(t.name for t in book.tensors if t.name not in used and t.shape)
    for tensor in target.addresses.tensors:
        if tensor.name not in written:
            (found.left if tensor.name in read else found.dead)[1].append(tensor.name)
    return found


def _found(own: Array) -> Callable[[], list[tuple[float | Array, Array]] | None]:
    return lambda: [(1.0, own)]


def _layout(book: Addresses, number: int, role: str, last: bool) -> str:
    space = SPACE.get(len(book.tensors[number].shape) - 2, "")
    if role != "kernel":
        return ""
    return f"{space}IO" if last else f"OI{space}"


def _layers(tensors: Sequence[Tensor]) -> dict[str, _Layer]:
    """Layers by name, in the natural order of the names."""
    own: dict[str, dict[str, int]] = defaultdict(dict)
    for number, tensor in enumerate(tensors):
        parts = re.split(r"[/.]", tensor.name.split(":")[0])
        own[tensor.name[: tensor.name.rfind(parts[-1])]][parts[-1]] = number
    found = {}
    for name in sorted(own, key=_natural):
        ends = own[name]
        norm = any(end in _STATISTICS or end in ("gamma", "beta") for end in ends)
        layer = found[name] = _Layer(name)
        for end, number in ends.items():
            if end in _COUNTERS:
                continue
            flat = len(tensors[number].shape) == 1
            if end in _KERNELS:
                layer.roles["gamma" if norm or flat else "kernel"] = number
            elif end in ("b", "bias"):
                layer.roles["beta" if norm else "bias"] = number
            else:
                layer.roles[_STATISTICS.get(end, end)] = number
    return found


def _natural(name: str) -> list[tuple[int, str]]:
    return [
        (int(part), "") if part.isdigit() else (-1, part)
        for part in re.split(r"(\d+)", name)
        if part
    ]


def _canonical(own: Array, role: str, kind: str, last: bool) -> Array:
    """A file's tensor in the common arrangement, from the layout of whoever wrote it."""
    if role != "kernel":
        return own.reshape(-1)
    if kind == "dense":
        flat = own.reshape(own.shape[0], -1) if own.ndim != 2 else own
        return flat.T if last else flat
    if last and own.ndim > 2:
        own = own.transpose(own.ndim - 1, own.ndim - 2, *range(own.ndim - 2))
    return own.reshape(*own.shape[:2], -1)


def _fits(book: Addresses, layer: _Layer, target: Side, step: int, last: bool) -> bool:
    kind = target.program.steps[step].kind
    parts = {role: part for role, part in target.parts[step].items() if target.names(part)}
    if not set(layer.roles) <= set(parts) or not layer.roles:
        return False
    for role, part in parts.items():
        number = layer.roles.get(role)
        if number is None and role in NEUTRAL:
            continue
        if number is None or len(book.tensors[number].shape) < (2 if role == "kernel" else 1):
            return False
        if role == "kernel" and (len(book.tensors[number].shape) == 2) != (kind == "dense"):
            return False
        if _canonical(book.own(number), role, kind, last).shape != part.shape:
            return False
    return True


def _choose(fits: Mapping[int, list[str]], notes: list[str]) -> dict[int, str]:
    """One layer of the file for each step, the clear ones first."""
    chosen: dict[int, str] = {}
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for step, names in fits.items():
        groups[tuple(names)].append(step)
    for fitting, members in sorted(groups.items(), key=lambda item: len(item[0])):
        free = [name for name in fitting if name not in chosen.values()]
        if len(free) != len(members):
            if free:
                notes.append(
                    f"ambiguous: {', '.join(free)} of the file fit {len(members)} layers: left over"
                )
            continue
        if len(free) > 1:
            notes.append(
                f"ambiguous: {', '.join(free)} have the same shapes: taken in the order of their "
                "names; give the source's model too, and running both settles it"
            )
        chosen.update(zip(members, free, strict=True))
    return dict(sorted(chosen.items()))


def _contradictions(
    book: Addresses,
    target: Side,
    layers: Mapping[str, _Layer],
    fits: Mapping[int, list[str]],
    chosen: Mapping[int, str],
    last: bool,
) -> list[str]:
    """Tells of kernels that no layer takes, beside the layers that have none, in their order."""
    free = [
        layer
        for name, layer in layers.items()
        if name not in chosen.values() and "kernel" in layer.roles
    ]
    bare = [n for n in fits if n not in chosen and "kernel" in target.parts[n]]
    if len(free) != len(bare):
        return []
    told = []
    for layer, step in zip(free, bare, strict=True):
        tensor = book.tensors[layer.roles["kernel"]]
        part, kind = target.parts[step]["kernel"], target.program.steps[step]
        wanted: tuple[int, ...] = part.shape
        if kind.kind != "dense":
            wanted = (*part.shape[:2], *kind.parameters["kernel"])
        if last:
            wanted = (*wanted[2:], wanted[1], wanted[0])
        names = " + ".join(target.names(part))
        told.append(f"{tensor.name} is {tensor.shape}, where {names} takes only {wanted}")
    return told


def fill_model(model: Model, file: WeightFile) -> None:
    """Puts a file's tensors into the model that it was saved from.

    A file of Keras tells a weight by its place in the model, so Keras reads its own.

    Raises:
        FileError: the two do not fit together.
    """
    own = file.format in _OF_KERAS and str(file.path).endswith(_OF_KERAS[file.format])
    if not own or not hasattr(model.obj, "load_weights"):
        fill(load(model.framework).tensors(model.obj), file)
        return
    try:
        model.obj.load_weights(str(file.path))
    except (ValueError, KeyError, TypeError) as error:
        raise FileError(f"{file.path} does not fit {model.name}: {error}") from error


def fill(model: Sequence[Tensor], file: WeightFile) -> None:
    """Puts a file's tensors into the model that it was saved from, by name.

    Raises:
        FileError: a parameter of the model is not in the file, or of another shape.
    """
    labels = file.labels
    names = {_plain(name): name for key in file for name in (key,)}
    names |= {_plain(label): key for key, label in labels.items()}
    for tensor in model:
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
