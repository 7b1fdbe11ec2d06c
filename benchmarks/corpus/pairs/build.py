"""Writes a described network down as a model's source, each node on lines of its own, and loads it.

The lines of a node end in `# node: its_name`: that is how a report's source line is judged.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from .flavours import FLAVOURS
from .forms import Flavour, Piece, Plan, Weight
from .network import NEVER, Network, Node, extent, padding_of
from .weights import arrangements

# What TensorFlow's kernels compute only with channels last.
IMAGE_OPERATIONS = (
    *("conv2d", "maxpool", "avgpool", "depthwise", "deconv2d", "resize", "pixel", "lrn"),
)


@dataclass(frozen=True)
class Built:
    """A model, its source, and the node of each line."""

    model: Any
    plan: Plan
    path: Path
    nodes: Mapping[int, str]  # line number: node
    outputs: Callable[[np.ndarray], list[np.ndarray]]


def build(network: Network, plan: Plan, path: Path) -> Built:
    """Write the model to `path` (its folder must exist), import it, give it its weights."""
    flavour = FLAVOURS[plan.flavour]
    pieces, source = _written(network, plan)
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    example = laid_out(network.input_values(0), plan)
    model = flavour.load(module, [w for piece in pieces for w in piece.weights], example)

    def outputs(inputs: np.ndarray) -> list[np.ndarray]:
        values = flavour.run(model, laid_out(inputs, plan))
        if isinstance(values, dict):
            return [np.asarray(values[name]) for name in network.outputs]
        return [np.asarray(v) for v in (values if isinstance(values, tuple | list) else [values])]

    tagged = (line.rpartition("# node: ") for line in source.splitlines())
    nodes = {n: name for n, (_, tag, name) in enumerate(tagged, 1) if tag}
    return Built(model, plan, path, nodes, outputs)


def source_of(network: Network, plan: Plan) -> str:
    """What `build` writes; "" where the plan's framework has no form of one of the nodes."""
    try:
        return _written(network, plan)[1]
    except IndexError:
        return ""


def _written(network: Network, plan: Plan) -> tuple[list[Piece], str]:
    flavour = FLAVOURS[plan.flavour]
    pieces = _pieces(network, plan, flavour)
    return pieces, flavour.write(network, plan, pieces)


def laid_out(inputs: np.ndarray, plan: Plan) -> np.ndarray:
    """Inputs as described, as the plan's model takes them."""
    if inputs.ndim == 4 and plan.layout == "NHWC":
        return np.ascontiguousarray(inputs.transpose(0, 2, 3, 1))
    return inputs


# Filling the templates


def _pieces(network: Network, plan: Plan, flavour: Flavour) -> list[Piece]:
    random = Random(plan.seed)
    keeps_order = {
        node.name: _permutes_weights(network, node, plan) and random.random() < 0.5
        for node in network.nodes
    }
    return [_piece(network, node, plan, flavour, keeps_order, random) for node in network.nodes[1:]]


def _piece(
    network: Network,
    node: Node,
    plan: Plan,
    flavour: Flavour,
    keeps_order: Mapping[str, bool],
    random: Random,
) -> Piece:
    source = network.node(node.inputs[0])
    rows = None
    if source.kind == "flatten" and keeps_order[source.name]:
        channels, height, width = network.node(source.inputs[0]).shape
        order = np.arange(channels * height * width).reshape(channels, height, width)
        rows = order.transpose(1, 2, 0).ravel()
    names = _Names(node, arrangements(node, rows), flavour.parameter)
    names.update(_names(network, node, plan, flavour))
    if node.kind == "flatten" and keeps_order[node.name]:
        names["channels_last"] = False  # flattened as it lies
    turns = plan.layout == "NCHW" and node.family in IMAGE_OPERATIONS
    turns = turns and bool(flavour.images_last[0])
    if turns:
        names.update(x=node.name, over="", channels_last=True, channel_axis=3)
    if names["has_bias"]:
        names["plus_bias"] = f" + {names['bias']}{names['over']}"
        names.used.clear()

    form = random.choice([form for form in flavour.forms[node.kind] if form.when(names)])
    lines = form.code.format_map(names).strip("\n").splitlines()
    if turns:
        there, back = (t.format(y=node.name, x=node.inputs[0]) for t in flavour.images_last)
        lines = [there, *lines, back]
    if names["has_bias"] and names["plus_bias"] in "".join(lines):
        names["bias"]
    weights = [Weight(node.name, f"{node.name}_{k}", False, w) for k, w in names.used.items()]
    for attribute, arrangement in form.weights.items():
        value = names.arranged.get(arrangement)
        if value is not None:
            weights.append(Weight(node.name, attribute, True, value))
    return Piece(node, form.layer.format_map(names), tuple(lines), tuple(weights))


class _Names(dict):
    """What a template may name; a weight becomes a parameter by being named."""

    def __init__(
        self, node: Node, arranged: Mapping[str, np.ndarray | None], parameter: str
    ) -> None:
        self.arranged, self.used = arranged, {}
        self._node, self._parameter = node.name, parameter

    def __missing__(self, name: str) -> str:
        weight = self.arranged[name]
        if weight is None:
            return "None"
        self.used[name] = weight
        return self._parameter.format(f"{self._node}_{name}")


def _names(network: Network, node: Node, plan: Plan, flavour: Flavour) -> dict[str, Any]:
    shape = network.node(node.inputs[0]).shape
    image = len(shape) == 3
    names: dict[str, Any] = dict(node.options)
    names.update(
        y=node.name,
        x=node.inputs[0],
        a=node.inputs[0],
        b=node.inputs[-1],
        inputs=", ".join(node.inputs),
        rank=len(shape) + 1,
        batch=network.batch,
        features=shape[-1],
        units=node.shape[-1],
        compiled=plan.compiled,
        has_bias=node.weights.get("bias") is not None,
        plus_bias="",
        channels_last=image and plan.channels_last,
        channel_axis=3 if image and plan.channels_last else 1,
        per_channel=(0,) if not image else ((0, 1, 2) if plan.channels_last else (0, 2, 3)),
        over="[:, None, None]" if image and not plan.channels_last else "",
    )
    if image:
        names.update(channels=shape[0], area=shape[1] * shape[2])
        names.update(in_height=shape[1], in_width=shape[2])
    else:
        names.update(channels=shape[0])
    if len(shape) == 2:
        names.update(steps=shape[0])
    if len(node.shape) == 3:
        names.update(filters=node.shape[0], out_height=node.shape[1], out_width=node.shape[2])
    if len(node.shape) == 2:
        names.update(rows=node.shape[0], columns=node.shape[1])
    if "pad" in node.options:
        top, bottom, left, right = node.options["pad"]
        names.update(top=top, bottom=bottom, left=left, right=right)
        names["padding"] = _padding_name(node, shape)
        names["PADDING"] = names["padding"].upper()
    if "crop" in node.options:
        names.update(zip(("top", "bottom", "left", "right"), node.options["crop"], strict=True))
        names["PADDING"] = _crop_name(node, shape)
        names["padding"] = names["PADDING"].lower()
    if node.family == "attention":
        _, heads, depth = node.weights["query"].shape
        names.update(depth=depth, width=heads * depth)
        names["usual"] = node.options["factor"] == depth**-0.5 and node.options["fill"] == NEVER
    if node.kind == "quantile":
        names["lifted"] = flavour.row.format(node.inputs[0])
    if "axis" in node.options:
        axis = node.options["axis"]
        if image and plan.channels_last:
            axis = tuple({0: 0, 1: 3, 2: 1, 3: 2}[a] for a in axis)
        names["axis"] = axis
        names["column"] = "[:, None]" if axis == 1 else ""
    if node.kind.startswith("dueling"):
        names["value"] = flavour.row.format(node.inputs[1]) if len(shape) == 2 else node.inputs[1]
    if node.family in ("lstm", "gru"):
        names.update(_recurrent_names(node, shape[0], flavour))
    if node.family in ("layernorm", "rmsnorm", "softmax"):
        names["length"] = (network.batch, *shape)[node.options["axis"]]
    return names


def _recurrent_names(node: Node, steps: int, flavour: Flavour) -> dict[str, Any]:
    names: dict[str, Any] = {"times": f"range({steps})", "stack": flavour.stack}
    if node.options["reverse"]:
        names["times"] = f"reversed(range({steps}))"
        names["stack"] = flavour.stack.replace("steps", "steps[::-1]")
    names["last"] = "" if node.options["sequence"] else "[:, -1]"
    names["joined"] = names["stack"] if node.options["sequence"] else "steps[-1]"
    if "lengths" in node.options:
        names["mask"] = [[t < length for t in range(steps)] for length in node.options["lengths"]]
    return names


def _padding_name(node: Node, shape: tuple[int, ...]) -> str:
    """'valid', 'same' where TensorFlow's rule gives this padding, else ''."""
    if not any(node.options["pad"]):
        return "valid"
    window = extent(node.options["window"], node.options.get("dilation", 1))
    pad, _ = padding_of(shape[1:], window, node.options["stride"], same=True)
    return "same" if pad == node.options["pad"] else ""


def _crop_name(node: Node, shape: tuple[int, ...]) -> str:
    """'VALID', 'SAME' where TensorFlow's rule crops a transposed convolution so, else ''."""
    if not any(node.options["crop"]):
        return "VALID"
    stride = node.options["stride"]
    larger = (shape[1] * stride, shape[2] * stride)
    crop, _ = padding_of(larger, node.options["window"], stride, same=True)
    return "SAME" if crop == node.options["crop"] and node.shape[1:] == larger else ""


def _permutes_weights(network: Network, node: Node, plan: Plan) -> bool:
    """Whether a flattening may go by the model's own layout, the next weights following it."""
    if node.kind != "flatten" or not plan.channels_last:
        return False
    if len(network.node(node.inputs[0]).shape) != 3:
        return False
    return node.name not in network.outputs.values() and all(
        consumer.kind == "dense" for consumer in network.consumers(node.name)
    )
