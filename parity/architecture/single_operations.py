"""Steps of one operation: what its kind and its attributes tell, in any framework's words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from parity.architecture.conv_pool import convolution, pool
from parity.architecture.einsum import contraction
from parity.architecture.graph import Graph
from parity.architecture.step import KINDS, Read, Step, axes_of, first, plain
from parity.tape import Op

_SELU_SCALE = 1.0507009873554805

# Activations with one parameter: its name, the attributes that tell it, and what it is untold.
_TOLD: dict[str, tuple[str, tuple[str, ...], Any]] = {
    "relu6": ("cap", ("cap",), None),
    "leaky_relu": ("negative slope", ("negative_slope", "slope", "alpha"), 0.01),
    "gelu": ("approximate", ("approximate",), "none"),
    "softplus": ("beta", ("beta",), 1.0),
}


def singles(graph: Graph, op: Op) -> Iterator[Step]:
    """The step that an operation is by itself, if it is one."""
    word = plain(op)
    kind = KINDS.get(word, "")
    read = _BY_KIND.get(kind) if kind else _BY_WORD.get(word)
    found = read(graph, op, kind) if read else (kind, {}) if kind else None
    if found is not None:
        yield Step(found[0], op.site, (op.index,), found[1])


def _clip(graph: Graph, op: Op, kind: str) -> Read | None:
    low = first(op.attributes, "min_val", "x_min", "min")
    high = first(op.attributes, "max_val", "x_max", "max")
    if low != 0 or len(op.inputs) != 1:
        return None
    return ("relu", {}) if high is None else ("relu6", {"cap": float(high)})


def _floor(graph: Graph, op: Op, kind: str) -> Read | None:
    floor = first(op.attributes, "min", "threshold", default=graph.scalar(op))
    return ("relu", {}) if floor == 0 == op.attributes.get("value", 0) else None


def _told(graph: Graph, op: Op, kind: str) -> Read:
    parameter, names, default = _TOLD[kind]
    value = first(op.attributes, *names, default=default)
    if value is None:
        return kind, {}
    return kind, {parameter: value if isinstance(value, str) else float(value)}


def _elu(graph: Graph, op: Op, kind: str) -> Read | None:
    scale, inner = (float(op.attributes.get(name, 1)) for name in ("scale", "input_scale"))
    if abs(scale - _SELU_SCALE) < 1e-6:
        return "selu", {}
    if scale != 1:
        return None
    return (kind, {"alpha": float(op.attributes.get("alpha", 1))}) if inner == 1 else ("celu", {})


def _softmax(graph: Graph, op: Op, kind: str) -> Read:
    shape = graph.tape.values[op.inputs[0]].shape
    axis = (*axes_of(op, len(shape)), -1)[0]
    return kind, {"over": shape[axis]} if shape else {}


def _norm(graph: Graph, op: Op, kind: str) -> Read:
    given, found = op.attributes, {}
    epsilon, groups = first(given, "eps", "epsilon"), first(given, "group", "groups")
    if isinstance(epsilon, (int, float)):
        found["epsilon"] = float(epsilon)
    if kind == "group_norm" and groups is not None:
        found["groups"] = int(groups)
    elif "normalized_shape" in given:
        found["normalised"] = math.prod(given["normalized_shape"])
    elif plain(op) == "layernormalization":
        found["normalised"] = graph.tape.values[op.inputs[0]].shape[-1]
    return kind, found


def _dense(graph: Graph, op: Op, kind: str) -> Read | None:
    """A product of something live and a static weight of two axes, or of several in two groups."""
    word, values = plain(op), graph.tape.values
    found = contraction(graph, op)
    if found is not None:
        return kind, dict(
            zip(("units", "inputs"), found.sizes(values[found.weight].shape), strict=True)
        )
    factors = op.inputs[1:] if word == "addmm" else op.inputs
    live = [v for v in factors if not graph.is_static(v)]
    static = [v for v in factors if graph.is_static(v) and values[v].size > 1]
    weights = static[:1] if word in ("linearfunction", "linear") else static
    if len(live) != 1 or len(weights) != 1 or word in ("einsum", "tensordot"):
        return None
    weight, result = values[weights[0]], values[op.outputs[0]]
    if len(weight.shape) < 2 or {*weight.shape[:-2]} - {1} or len(result.shape) < 2:
        return None
    units = result.shape[-2 if factors.index(weight.id) < factors.index(live[0]) else -1]
    if not units or weight.size % units:
        return None
    return kind, {"units": units, "inputs": weight.size // units}


def _embedding(graph: Graph, op: Op, kind: str) -> Read | None:
    inputs = [graph.tape.values[v] for v in op.inputs]
    tables = [v.shape for v in inputs if v.kind == "parameter" and len(v.shape) == 2]
    if len(tables) != 1 or op.attributes.get("axis", 0) != 0:
        return None
    return kind, dict(zip(("rows", "features"), tables[0], strict=True))


def _global_pool(graph: Graph, op: Op, kind: str) -> Read | None:
    """The mean over all of an image, for each channel."""
    x, y = (graph.tape.values[v].shape for v in (op.inputs[0], op.outputs[0]))
    rank = len(x)
    if plain(op) == "mean":
        images = axes_of(op, rank) in (tuple(range(1, rank - 1)), tuple(range(2, rank)))
    else:
        images = math.prod(y[2:]) == 1
    return ("global_average_pool", {}) if rank >= 4 and images else None


_Reader = Callable[[Graph, Op, str], Read | None]

# Kinds whose operations tell more than their name; and words that are a step with some attributes.
_BY_KIND: dict[str, _Reader] = {
    **dict.fromkeys(("batch_norm", "layer_norm", "group_norm", "rms_norm"), _norm),
    **dict.fromkeys(("convolution", "transposed_convolution"), convolution),
    **dict.fromkeys(("max_pool", "average_pool"), pool),
    **dict.fromkeys(("softmax", "log_softmax"), _softmax),
    **dict.fromkeys(_TOLD, _told),
    "elu": _elu,
    "dense": _dense,
    "embedding": _embedding,
}
_BY_WORD: dict[str, _Reader] = {
    **dict.fromkeys(("hardtanh", "clip", "clamp"), _clip),
    **dict.fromkeys(("clampmin", "threshold", "maximum"), _floor),
    **dict.fromkeys(("mean", "adaptiveavgpool2d", "adaptiveavgpool3d"), _global_pool),
}
