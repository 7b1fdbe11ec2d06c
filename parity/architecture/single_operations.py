"""Steps of one operation: its word, and what its attributes state."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from parity.architecture.contractions import contraction
from parity.architecture.conv_pool import convolution, pool
from parity.architecture.graph import Graph
from parity.architecture.step import STEPS, Read, Step, axes_of
from parity.tape import Op

_STATISTICS = "running mean", "running variance"
_SELU_SCALE = 1.0507009873554805

# Activations with one parameter: its name, the setting, and its default.
_PARAMETERS: dict[str, tuple[str, str, Any]] = {
    "relu6": ("cap", "cap", None),
    "leaky_relu": ("negative slope", "slope", 0.01),
    "gelu": ("approximate", "approximate", "none"),
    "softplus": ("beta", "beta", 1.0),
}


def singles(graph: Graph, op: Op) -> Iterator[Step]:
    """The step that an operation is by itself, if it is one."""
    kind = STEPS.get(op.word, "")
    read = _READERS.get(kind or op.word)
    found = read(graph, op) if read else (kind, {}) if kind else None
    if found is not None:
        yield Step(found[0], op.site, (op.index,), found[1], operands=_operands(graph, op, kind))


def _clip(graph: Graph, op: Op) -> Read | None:
    low, high = (graph.tape.setting(op, name) for name in ("minimum", "maximum"))
    if low != 0 or len(op.inputs) != 1:
        return None
    return ("relu", {}) if high is None else ("relu6", {"cap": float(high)})


def _floor(graph: Graph, op: Op) -> Read | None:
    floor = graph.tape.setting(op, "minimum", graph.scalar(op))
    return ("relu", {}) if floor == 0 == graph.tape.setting(op, "replacement", 0) else None


def _with_parameter(graph: Graph, op: Op) -> Read:
    parameter, name, default = _PARAMETERS[op.word]
    value = graph.tape.setting(op, name, default)
    if value is None:
        return op.word, {}
    return op.word, {parameter: value if isinstance(value, str) else float(value)}


def _elu(graph: Graph, op: Op) -> Read | None:
    scale, inner, alpha = (
        float(graph.tape.setting(op, name, 1)) for name in ("outer_scale", "inner_scale", "alpha")
    )
    if abs(scale - _SELU_SCALE) < 1e-6:
        return "selu", {}
    if scale != 1:
        return None
    return (op.word, {"alpha": alpha}) if inner == 1 else ("celu", {})


def _softmax(graph: Graph, op: Op) -> Read:
    shape = graph.tape.values[op.inputs[0]].shape
    axis = (*axes_of(graph.tape, op, len(shape)), -1)[0]
    return op.word, {"over": shape[axis]} if shape else {}


def _norm(graph: Graph, op: Op) -> Read:
    found = {}
    names = "epsilon", "groups", "normalised_shape"
    epsilon, groups, shape = (graph.tape.setting(op, name) for name in names)
    if isinstance(epsilon, (int, float)):
        found["epsilon"] = float(epsilon)
    if op.word == "group_norm" and groups is not None:
        found["groups"] = int(groups)
    elif shape is not None:
        found["normalised"] = math.prod(shape)
    elif op.word == "layer_norm":
        found["normalised"] = graph.tape.values[op.inputs[0]].shape[-1]
    return op.word, found


def _operands(graph: Graph, op: Op, kind: str) -> dict[str, int]:
    """What the static inputs of a step are, by their roles there."""
    if kind.endswith("_norm"):
        return _of_norm(graph, op)
    tape = graph.tape
    read = tape.window(op) or tape.product(op)
    bias = read.bias if read is not None else None
    return {"bias": bias} if bias is not None and graph.is_static(bias) else {}


def _of_norm(graph: Graph, op: Op) -> dict[str, int]:
    """Those that scale and shift first, then statistics."""
    tape = graph.tape
    static = [v for v in op.inputs if graph.is_static(v) and tape.values[v].size >= 1]
    static = [v for v in static if tape.values[v].dtype.startswith(("float", "bfloat"))]
    if op.word != "batch_norm" or len(static) == 4:
        return dict(zip(("gamma", "beta", *_STATISTICS), static, strict=False))
    buffers = [v for v in static if tape.values[tape.before_moves(v)].kind == "buffer"]
    affine = [v for v in static if v not in buffers]
    roles = dict(zip(("gamma", "beta"), affine, strict=False))
    return roles | dict(zip(_STATISTICS, buffers, strict=False))


def _dense(graph: Graph, op: Op) -> Read | None:
    """A product of something live and a static weight of two axes, or of several in two groups."""
    found = contraction(graph, op)
    if found is None or len(graph.tape.values[op.outputs[0]].shape) < 2:
        return None
    units, inputs = found.sizes(graph.tape.values[found.weight].shape)
    return ("dense", {"units": units, "inputs": inputs}) if units * inputs > 1 else None


def _embedding(graph: Graph, op: Op) -> Read | None:
    """Rows of a table, however they are looked up."""
    values = graph.tape.values
    tables = [v for v in op.inputs if values[v].kind == "parameter" and len(values[v].shape) == 2]
    others = [v for v in op.inputs if v not in tables]
    if len(tables) != 1 or not others or graph.tape.setting(op, "axis", 0) != 0:
        return None
    rows, features = values[tables[0]].shape
    result = values[op.outputs[0]].shape
    if result[-1:] != (features,) or len(result) != len(values[others[0]].shape) + 1:
        return None
    return "embedding", {"rows": rows, "features": features}


def _global_pool(graph: Graph, op: Op) -> Read | None:
    """The mean over all of an image, for each channel."""
    x, y = (graph.tape.values[v].shape for v in (op.inputs[0], op.outputs[0]))
    rank = len(x)
    if op.word == "mean":
        images = axes_of(graph.tape, op, rank) in (tuple(range(1, rank - 1)), tuple(range(2, rank)))
    else:
        images = math.prod(y[2:]) == 1
    return ("global_average_pool", {}) if rank >= 4 and images else None


_Reader = Callable[[Graph, Op], Read | None]

# Steps with parameters; and words that are a step with some attributes.
_READERS: dict[str, _Reader] = {
    **dict.fromkeys(("batch_norm", "layer_norm", "group_norm", "rms_norm"), _norm),
    **dict.fromkeys(("convolution", "transposed_convolution"), convolution),
    **dict.fromkeys(("max_pool", "average_pool"), pool),
    **dict.fromkeys(("softmax", "log_softmax"), _softmax),
    **dict.fromkeys(_PARAMETERS, _with_parameter),
    "elu": _elu,
    "dense": _dense,
    **dict.fromkeys(("embedding", "gather"), _embedding),
    "clip": _clip,
    **dict.fromkeys(("clip_min", "threshold", "maximum"), _floor),
    **dict.fromkeys(("mean", "adaptive_average_pool"), _global_pool),
}
