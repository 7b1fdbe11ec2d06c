"""Tells of kernels in a file that no layer of the target can take, and why not."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from parity.weights.element_index import Addresses
from parity.weights.file_layers import FileLayer, window
from parity.weights.pairing import Side


def contradictions(
    stored: Addresses,
    target: Side,
    layers: Mapping[str, FileLayer],
    chosen: Mapping[int, str],
    last: bool,
) -> list[str]:
    """Kernels that no layer takes, beside the layers that have none, in their order.

    Args:
        chosen: the file's layer for each step that has one.
        last: whether the file has channels last.
    """
    free = [
        layer
        for name, layer in layers.items()
        if name not in chosen.values() and "kernel" in layer.roles
    ]
    bare = [n for n, own in target.parts.items() if n not in chosen and "kernel" in own]
    notes = []
    for layer, step in _beside(stored, free, target, bare):
        tensor = stored.tensors[layer.roles["kernel"]]
        wanted = _wanted(target, step, last)
        names = " + ".join(target.names(target.parts[step]["kernel"]))
        notes.append(f"{tensor.name} is {tensor.shape}, where {names} takes only {wanted}")
        if tensor.shape == wanted[::-1] and len(wanted) == 2:
            notes[-1] += ": it lies the other way round"
        else:
            after = _taken(stored, target, layers, chosen, step)
            notes[-1] += _features(target, step, tensor.shape, after, last)
    return notes


def _taken(
    stored: Addresses,
    target: Side,
    layers: Mapping[str, FileLayer],
    chosen: Mapping[int, str],
    step: int,
) -> str | None:
    """What the dense layer behind a step takes of it, in the file's words."""
    found = _flattened(target, step)
    if found is None or found[0] not in chosen:
        return None
    dense, features = found
    kernel = layers[chosen[dense]].roles["kernel"]
    return f"{stored.tensors[kernel].name} takes {features}"


def _beside(
    stored: Addresses, free: list[FileLayer], target: Side, bare: list[int]
) -> list[tuple[FileLayer, int]]:
    """Layers and steps of one rank, in their order, where there are as many."""
    found = []
    for dense in (False, True):
        left = [
            one for one in free if (len(stored.tensors[one.roles["kernel"]].shape) == 2) == dense
        ]
        right = [n for n in bare if (target.program.steps[n].kind == "dense") == dense]
        if len(left) == len(right):
            found += list(zip(left, right, strict=True))
    return found


def _wanted(target: Side, step: int, last: bool) -> tuple[int, ...]:
    part, own = target.parts[step]["kernel"], target.program.steps[step]
    wanted: tuple[int, ...] = part.shape
    if own.kind != "dense":
        wanted = (*part.shape[:2], *own.parameters["kernel"])
    return (*wanted[2:], wanted[1], wanted[0]) if last else wanted


def _features(
    target: Side, step: int, shape: tuple[int, ...], after: str | None, last: bool
) -> str:
    """What a kernel of another size would leave, where a dense layer takes all that is left.

    Args:
        after: the file's kernel of that dense layer.
    """
    own, sizes = target.program.steps[step], window(shape, last)
    windows = own.parameters.get("padding")
    if own.kind != "convolution" or windows is None or len(windows.kernel) != len(sizes):
        return ""
    if after is None or windows.same or sizes == windows.kernel:
        return ""
    size = zip(windows.size, windows.before, windows.dilation, sizes, windows.stride, strict=True)
    left = [(long + 2 * pad - d * (k - 1) - 1) // stride + 1 for long, pad, d, k, stride in size]
    channels = shape[-1] if last else shape[0]
    notes = "x".join(map(str, (channels, *left)))
    return f"; it would leave {notes} = {channels * prod(left)} features, and {after}"


def _flattened(target: Side, step: int) -> tuple[int, int] | None:
    """The next dense layer, if it takes all of a step's result; and how many features that is."""
    values, ops = target.tape.values, target.tape.ops
    result = values[ops[target.program.steps[step].ops[0]].outputs[0]].shape[1:]
    for number, own in target.parts.items():
        part = own.get("kernel")
        if number <= step or part is None or target.program.steps[number].kind != "dense":
            continue
        if part.input is not None and values[target.tape.before_moves(part.input)].shape[1:] == (
            result
        ):
            return number, prod(result)
        return None
    return None
