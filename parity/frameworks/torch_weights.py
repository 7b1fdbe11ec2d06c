"""The weights of torch's modules: which they hold, how they are named and laid out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import torch

from parity.frameworks.protocol import WeightRules
from parity.frameworks.torch_replay import from_numpy, name_of, to_numpy
from parity.keeping import once
from parity.outputs.tensors import offers
from parity.recorder import discover
from parity.tape import Array, LeafKind
from parity.weights.cell_weights import CellWeights, cells_by_name, weights_of_cell
from parity.weights.tensors import Tensor


def is_layer(obj: object) -> bool:
    return isinstance(obj, torch.nn.Module)


def modules_of(obj: Any) -> dict[str, torch.nn.Module]:
    """Modules by path: those of the model, or those that a function or object holds."""
    if is_layer(obj):
        return dict(obj.named_modules())
    return {
        f"{held}.{path}" if path else held: module
        for held, root in _held(obj).items()
        if is_layer(root)
        for path, module in root.named_modules()
    }


def roots_of(obj: Any) -> list[torch.nn.Module]:
    """The module that a model is, or those that a function or object holds, and not in another."""
    return [obj] if is_layer(obj) else [one for one in _held(obj).values() if is_layer(one)]


def _held(obj: object) -> dict[str, Any]:
    """The modules, and the dicts of weights, that a function or object holds, by name."""
    find = partial(discover, obj, lambda one: is_layer(one) or is_weights(one))
    return once(obj, "torch", find)  # type: ignore[no-any-return]


class Held(NamedTuple):
    """A tensor that a module holds as a parameter, a buffer or a plain attribute."""

    kind: LeafKind
    names: list[str]
    tensor: torch.Tensor
    module: torch.nn.Module | None  # None of what a function holds by itself


def held_by(modules: Mapping[str, torch.nn.Module], attributes: bool = False) -> dict[int, Held]:
    """What modules hold, by identity, each once; plain `attributes` among them or not."""
    found: dict[int, Held] = {}
    for path, module in modules.items():
        kinds: tuple[tuple[LeafKind, dict[str, Any]], ...] = (
            ("parameter", module._parameters),
            ("buffer", module._buffers),
            ("constant", vars(module) if attributes else {}),
        )
        for kind, held in kinds:
            for key, tensor in held.items():
                if isinstance(tensor, torch.Tensor):
                    one = found.setdefault(id(tensor), Held(kind, [], tensor, module))
                    one.names.append(f"{path}.{key}" if path else key)
    return found


def held_in_dicts(obj: object) -> dict[int, Held]:
    """The weights that a function or object holds in a dict of tensors, without modules."""
    found: dict[int, Held] = {}
    if is_layer(obj):
        return found
    for name, held in _held(obj).items():
        for path, tensor in _flat(held, name) if isinstance(held, Mapping) else ():
            kind: LeafKind = "parameter"
            found.setdefault(id(tensor), Held(kind, [], tensor, None)).names.append(path)
    return found


def is_weights(obj: object) -> bool:
    """Whether a thing is a dict of floating tensors, or of such dicts and lists; two or more."""
    if not isinstance(obj, dict):
        return False
    leaves = [tensor for _, tensor in _flat(obj, "")]
    return len(leaves) > 1 and all(
        isinstance(one, torch.Tensor) and one.is_floating_point() and one.dim() for one in leaves
    )


def _flat(held: Any, path: str) -> Iterator[tuple[str, Any]]:
    """What nested dicts and lists hold, by dotted paths."""
    if isinstance(held, Mapping):
        for key, one in held.items():
            yield from _flat(one, f"{path}.{key}")
    elif isinstance(held, (list, tuple)):
        for place, one in enumerate(held):
            yield from _flat(one, f"{path}.{place}")
    else:
        yield path, held


def tensors(obj: object) -> list[Tensor]:
    held = {**held_in_dicts(obj), **held_by(modules_of(obj))}
    return [_tensor(one) for one in held.values()]


def _tensor(held: Held) -> Tensor:
    tensor = held.tensor

    def write(array: Array) -> None:
        with torch.no_grad():
            tensor.copy_(from_numpy(array))

    # torch's momentum is the share of the new statistic
    running = held.names[0].rpartition(".")[2].startswith("running_")
    momentum = getattr(held.module, "momentum", None) if running else None
    return Tensor(
        tuple(held.names),
        tuple(tensor.shape),
        name_of(tensor.dtype),
        held.kind,
        tensor.requires_grad or held.module is None,
        lambda: to_numpy(tensor),
        write,
        None if momentum is None else 1.0 - float(momentum),
        tensor,
    )


def parameters(thing: Any) -> dict[str, Any] | None:
    if not offers(thing, "named_parameters", "named_buffers"):
        return None
    return {**dict(thing.named_parameters()), **dict(thing.named_buffers())}


# a layer and a direction each have their own
_CELL = re.compile(r"(?P<cell>.*?)(?P<role>(?:weight|bias)_(?:ih|hh))(?P<cell2>_l\d+)?"
                   r"(?P<cell3>_reverse)?$")  # fmt: skip


def _cell(own: Mapping[str, Array]) -> CellWeights | None:
    if not {"weight_ih", "weight_hh"} <= set(own):
        return None
    biases = [own[key] for key in ("bias_ih", "bias_hh") if key in own]
    units = own["weight_hh"].shape[1]
    return weights_of_cell(units, own["weight_ih"], own["weight_hh"], biases)


WEIGHTS = WeightRules(
    cells=partial(cells_by_name, pattern=_CELL, reader=_cell),
    momentum=lambda kept: f"momentum {1 - kept:g}",
)
