"""Which kernels in a file no layer of the target can take, and why not."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from parity.weights.file_tensors import FileTensors
from parity.weights.pairing import Side


def contradictions(stored: FileTensors, target: Side, chosen: Mapping[int, str]) -> list[str]:
    """Kernels that no layer takes, beside the layers that have none, in their order.

    Args:
        chosen: the file's layer for each step that has one.
    """
    free = [
        roles["kernel"]
        for name, roles in stored.layers.items()
        if name not in chosen.values() and "kernel" in roles
    ]
    bare = [n for n, own in target.parts.items() if n not in chosen and "kernel" in own]
    notes = []
    for number, step in _beside(stored, free, target, bare):
        tensor, wanted = stored.tensors[number], _wanted(stored, target, step)
        names = " + ".join(target.names(target.parts[step]["kernel"]))
        notes.append(f"{tensor.name} is {tensor.shape}, where {names} takes only {wanted}")
        if tensor.shape == wanted[::-1] and len(wanted) == 2:
            notes[-1] += ": it lies the other way round"
        else:
            notes[-1] += _features(stored, number, target, step, chosen)
    return notes


def _beside(
    stored: FileTensors, free: list[int], target: Side, bare: list[int]
) -> list[tuple[int, int]]:
    """Kernels and steps of one rank, in their order, where there are as many."""
    found = []
    for dense in (False, True):
        left = [number for number in free if (len(stored.tensors[number].shape) == 2) == dense]
        right = [n for n in bare if (target.program.steps[n].kind == "dense") == dense]
        if len(left) == len(right):
            found += list(zip(left, right, strict=True))
    return found


def _wanted(stored: FileTensors, target: Side, step: int) -> tuple[int, ...]:
    part, own = target.parts[step]["kernel"], target.program.steps[step]
    wanted: tuple[int, ...] = part.shape
    if own.kind != "dense":
        wanted = (*part.shape[:2], *own.parameters["kernel"])
    return (*wanted[2:], wanted[1], wanted[0]) if stored.channels_last else wanted


def _features(
    stored: FileTensors, number: int, target: Side, step: int, chosen: Mapping[int, str]
) -> str:
    """What a kernel of another size would leave, where a dense layer takes all that is left."""
    own, sizes = target.program.steps[step], stored.window(number)
    windows = own.parameters.get("padding")
    if own.kind != "convolution" or windows is None or len(windows.kernel) != len(sizes):
        return ""
    dense, features = _flattened(target, step)
    if dense not in chosen or windows.same or sizes == windows.kernel:
        return ""
    size = zip(windows.size, windows.before, windows.dilation, sizes, windows.stride, strict=True)
    left = [(long + 2 * pad - d * (k - 1) - 1) // stride + 1 for long, pad, d, k, stride in size]
    shape = stored.tensors[number].shape
    channels = shape[-1] if stored.channels_last else shape[0]
    result = "x".join(map(str, (channels, *left)))
    after = stored.tensors[stored.layers[chosen[dense]]["kernel"]].name
    return (
        f"; it would leave {result} = {channels * prod(left)} features, and {after} takes "
        f"{features}"
    )


def _flattened(target: Side, step: int) -> tuple[int, int]:
    """The next dense layer, if it takes all of a step's result, or -1; and how many features."""
    steps, tape = target.program.steps, target.tape
    result = tape.values[tape.ops[steps[step].ops[0]].outputs[0]].shape[1:]
    kernels = (
        own["kernel"]
        for number, own in target.parts.items()
        if number > step and "kernel" in own and steps[number].kind == "dense"
    )
    kernel = next(kernels, None)
    if kernel is None or kernel.input_shape(tape) != result:
        return -1, 0
    return kernel.step, prod(result)
