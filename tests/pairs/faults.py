"""Faults, each a change to one node of the description: what conversions get wrong.

A fault sees a node and its network and gives the faulty node, or None where it does not apply.
Planted in the description, it is built by whatever decomposition the faulty model draws, and its
effect is known from NumPy before any framework runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

import numpy as np

from .draw import ACTIVATIONS
from .network import Network, Node

MOVES = ("flatten", "reshape", "transpose", "tokens", "concat")


@dataclass(frozen=True)
class Fault:
    """A planted fault: its kind, and where a report may say that the models part.

    Attributes:
        kind: A key of `FAULTS`.
        node: The one that was changed.
        sound_places: Nodes, in the model that is right.
        faulty_places: Nodes, in the model that is wrong; where the fault is something missing,
            what comes next as well.
        unused: Nodes that the fault leaves without any effect.
    """

    kind: str
    node: str
    sound_places: frozenset[str]
    faulty_places: frozenset[str]
    unused: frozenset[str]


def plant(kind: str, network: Network, random: Random) -> tuple[Network, Fault] | None:
    """The network with a fault of this kind somewhere in it; None if it has no place for one."""
    changed = [FAULTS[kind](node, network, random) for node in network.nodes[1:]]
    faulty = [node for node in changed if node is not None]
    if not faulty:
        return None
    node = random.choice(faulty)
    places = frozenset((node.name,))
    if kind == "flatten_order":  # the order is the flattening's, the weights are the dense's
        places |= frozenset(node.inputs)
    faulty_places = places
    if node.kind == "identity" or kind == "bias_missing":
        faulty_places |= _next_operations(network, node.name)
    faulty_network = network.with_node(node)
    unused = _unused(faulty_network)
    return faulty_network, Fault(kind, node.name, places, faulty_places, unused)


def _next_operations(network: Network, name: str) -> frozenset[str]:
    found: frozenset[str] = frozenset()
    for node in network.consumers(name):
        found |= {node.name}
        if node.kind in MOVES:
            found |= _next_operations(network, node.name)
    return found


def _unused(network: Network) -> frozenset[str]:
    used = set(network.outputs.values())
    for node in reversed(network.nodes):
        if node.name in used:
            used.update(node.inputs)
    return frozenset(node.name for node in network.nodes) - used


def _softmax_axis(n: Node, net: Network, random: Random) -> Node | None:
    return _other_axis(n, random) if n.kind in ("softmax", "log_softmax") else None


def _reduction_axis(n: Node, net: Network, random: Random) -> Node | None:
    if n.kind in ("centre_mean", "centre_max"):
        return _other_axis(n, random)
    shape = net.node(n.inputs[0]).shape
    if n.kind.startswith("reduce_") and len(shape) == 2 and shape[0] == shape[1]:
        return n.but(axis=3 - n.options["axis"])
    return None


def _other_axis(n: Node, random: Random) -> Node:
    return n.but(axis=random.choice([a for a in range(len(n.shape) + 1) if a != n.options["axis"]]))


def _reduction_kind(n: Node, net: Network, random: Random) -> Node | None:
    family, _, _ = n.kind.partition("_")
    kinds = {"reduce": ("reduce_mean", "reduce_sum", "reduce_max"),
             "centre": ("centre_mean", "centre_max")}.get(family, ())  # fmt: skip
    others = [kind for kind in kinds if kind != n.kind]
    return n.but(random.choice(others)) if others else None


def _dueling_axis(n: Node, net: Network, random: Random) -> Node | None:
    if n.kind != "dueling":
        return None
    return n.but(axis=random.choice(((0,), (0, 1)) if len(n.shape) == 1 else (0, 2, (1, 2))))


def _support_range(n: Node, net: Network, random: Random) -> Node | None:
    return n.but(high=n.options["high"] * 1.25) if n.kind == "expectation" else None


def _support_reversed(n: Node, net: Network, random: Random) -> Node | None:
    if n.kind != "expectation":
        return None
    return n.but(low=n.options["high"], high=n.options["low"])


def _expectation_axis(n: Node, net: Network, random: Random) -> Node | None:
    if n.kind != "expectation" or n.shape[0] != n.options["atoms"]:
        return None
    return n.but(axis=1)


def _weight_reshaped(n: Node, net: Network, random: Random) -> Node | None:
    if n.kind not in ("dense", "conv2d"):
        return None
    kernel = n.weights["kernel"]
    if kernel.size == max(kernel.shape):  # then reshaping is transposing
        return None
    axes = (1, 0) if n.kind == "dense" else (2, 3, 1, 0)
    return n.weighing(kernel=kernel.transpose(axes).reshape(kernel.shape))


def _weight_untransposed(n: Node, net: Network, random: Random) -> Node | None:
    if n.kind != "dense" or n.weights["kernel"].shape[0] != n.weights["kernel"].shape[1]:
        return None
    return n.weighing(kernel=n.weights["kernel"].T)


def _flatten_order(n: Node, net: Network, random: Random) -> Node | None:
    source = net.node(n.inputs[0])
    if n.kind != "dense" or source.kind != "flatten":
        return None
    shape = net.node(source.inputs[0]).shape
    order = np.arange(np.prod(shape)).reshape(shape)
    order = np.moveaxis(order, 0, -1).ravel()
    return n.weighing(kernel=n.weights["kernel"][np.argsort(order)])


def _epsilon(kind: str) -> Callable[[Node, Network, Random], Node | None]:
    def epsilon(n: Node, net: Network, random: Random) -> Node | None:
        if n.kind != kind:
            return None
        return n.but(epsilon={1e-5: 1e-3, 1e-3: 1e-5}[n.options["epsilon"]])

    return epsilon


def _layernorm_axis(n: Node, net: Network, random: Random) -> Node | None:
    return _other_axis(n, random) if n.kind == "layernorm" else None


def _activation_kind(n: Node, net: Network, random: Random) -> Node | None:
    if n.kind not in ACTIVATIONS:
        return None
    same_family = {n.kind, *(("gelu", "gelu_tanh") if n.kind.startswith("gelu") else ())}
    return n.but(random.choice([k for k in ACTIVATIONS if k not in same_family]), slope=0.1)


def _activation_missing(n: Node, net: Network, random: Random) -> Node | None:
    return n.but("identity") if n.kind in ACTIVATIONS else None


def _gelu_variant(n: Node, net: Network, random: Random) -> Node | None:
    other = {"gelu": "gelu_tanh", "gelu_tanh": "gelu"}
    return n.but(other[n.kind]) if n.kind in other else None


def _leaky_slope(n: Node, net: Network, random: Random) -> Node | None:
    if n.kind != "leaky_relu":
        return None
    return n.but(slope={0.01: 0.2, 0.2: 0.3}[n.options["slope"]])


def _bias_missing(n: Node, net: Network, random: Random) -> Node | None:
    if n.kind not in ("dense", "conv2d") or "bias" not in n.weights:
        return None
    return n.weighing(bias=None)


def _one_weight_off(n: Node, net: Network, random: Random) -> Node | None:
    if not n.weights:
        return None
    name = random.choice(sorted(n.weights))
    weight = n.weights[name].copy()
    weight.flat[random.randrange(weight.size)] *= 1.01
    return n.weighing(**{name: weight})


def _lstm_gates(n: Node, net: Network, random: Random) -> Node | None:
    if n.kind != "lstm":
        return None
    order = random.choice(([0, 1, 3, 2], [1, 0, 2, 3], [0, 2, 1, 3]))
    return n.weighing(**{name: weight[order] for name, weight in n.weights.items()})


def _concat_order(n: Node, net: Network, random: Random) -> Node | None:
    return replace(n, inputs=n.inputs[::-1]) if n.kind == "concat" else None


def _branch_missing(n: Node, net: Network, random: Random) -> Node | None:
    if n.kind != "add":
        return None
    return replace(n, kind="identity", inputs=(random.choice(n.inputs),))


def _padding_side(n: Node, net: Network, random: Random) -> Node | None:
    if n.kind != "conv2d":
        return None
    top, bottom, left, right = n.options["pad"]
    flipped = (bottom, top, right, left)
    return n.but(pad=flipped) if flipped != n.options["pad"] else None


def _pool_counts_padding(n: Node, net: Network, random: Random) -> Node | None:
    if n.kind != "avgpool" or not any(n.options["pad"]):
        return None
    return n.but(counts_padding=True)


def _scale(n: Node, net: Network, random: Random) -> Node | None:
    return n.but(factor=n.options["factor"] * 1.001) if n.kind == "scale" else None


def _becomes(before: str, after: str) -> Callable[[Node, Network, Random], Node | None]:
    return lambda n, net, random: n.but(after) if n.kind == before else None


FAULTS: dict[str, Callable[[Node, Network, Random], Node | None]] = {
    "softmax_axis": _softmax_axis,
    "reduction_axis": _reduction_axis,
    "reduction_kind": _reduction_kind,
    "dueling_axis": _dueling_axis,
    "dueling_uncentred": _becomes("dueling", "dueling_uncentred"),
    "dueling_max": _becomes("dueling", "dueling_max"),
    "dueling_value_centred": _becomes("dueling", "dueling_value"),
    "support_reversed": _support_reversed,
    "support_range": _support_range,
    "expectation_axis": _expectation_axis,
    "reshape_order": _becomes("reshape", "reshape_swapped"),
    "tokens_order": _becomes("tokens", "tokens_reshaped"),
    "weight_reshaped": _weight_reshaped,
    "weight_untransposed": _weight_untransposed,
    "flatten_order": _flatten_order,
    "batchnorm_epsilon": _epsilon("batchnorm"),
    "layernorm_epsilon": _epsilon("layernorm"),
    "layernorm_axis": _layernorm_axis,
    "activation_kind": _activation_kind,
    "activation_missing": _activation_missing,
    "gelu_variant": _gelu_variant,
    "leaky_slope": _leaky_slope,
    "bias_missing": _bias_missing,
    "one_weight_off": _one_weight_off,
    "lstm_gates": _lstm_gates,
    "concat_order": _concat_order,
    "branch_missing": _branch_missing,
    "padding_side": _padding_side,
    "pool_counts_padding": _pool_counts_padding,
    "scale": _scale,
}

# What a report may call each fault: the cause, and what is as true of the same change.
CAUSES: dict[str, tuple[str, ...]] = {
    "softmax_axis": ("softmax-axis",),
    "reduction_axis": ("reduction-axis",),
    "reduction_kind": ("reduction-kind",),
    "dueling_axis": ("dueling-mean-axis", "reduction-axis"),
    "dueling_uncentred": ("dueling-not-centered",),
    "dueling_max": ("dueling-max-centered", "reduction-kind"),
    "dueling_value_centred": ("dueling-wrong-tensor",),
    "support_reversed": ("support-order",),
    "support_range": ("support-range",),
    "expectation_axis": ("expectation-axis", "reduction-axis"),
    "reshape_order": ("atoms-actions-order", "head-split-order", "flatten-order"),
    "tokens_order": ("flatten-order", "spatial-swap", "head-split-order"),
    "weight_reshaped": ("weight-reshaped",),
    "weight_untransposed": ("weight-not-transposed",),
    "flatten_order": ("flatten-order",),
    "batchnorm_epsilon": ("norm-epsilon",),
    "layernorm_epsilon": ("norm-epsilon",),
    "layernorm_axis": ("norm-axis",),
    "activation_kind": ("activation-kind",),
    "activation_missing": ("activation-missing",),
    "gelu_variant": ("gelu-variant",),
    "leaky_slope": ("leaky-slope",),
    "bias_missing": ("bias-missing",),
    "one_weight_off": ("weight-values",),
    "lstm_gates": ("gate-order",),
    "concat_order": ("concat-order",),
    "branch_missing": ("branch-missing",),
    "padding_side": ("padding-asymmetry",),
    "pool_counts_padding": ("count-include-pad",),
    "scale": ("weight-scale", "weight-values"),
}
