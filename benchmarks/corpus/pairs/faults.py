"""Faults, each a change to one node of the description: what conversions get wrong.

A fault sees a node and its network and gives the faulty node, or None where it does not apply. It
may give more nodes: new ones, to stand before the faulty one, or others that change with it.
Planted in the description, it is built by whatever decomposition the faulty model draws, and its
effect is known from NumPy before any framework runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import permutations
from random import Random
from typing import Any

import numpy as np

from .draw import ACTIVATIONS, COORDINATES
from .network import Network, Node, ceiling_of, extent, padding_of
from .refit import refitted

MOVES = ("flatten", "reshape", "transpose", "tokens", "concat")
WITH_KERNELS = ("dense", "conv2d", "depthwise", "deconv2d")
LINEAR = (
    *("dense", "conv2d", "depthwise", "deconv2d", "batchnorm", "layernorm", "rmsnorm"),
    *("add", "lstm", "gru", "attention"),
)
OMITTED = (
    "batchnorm",
    "layernorm",
    "rmsnorm",
    "scale",
    "centre_mean",
    "centre_max",
    "lrn",
    "positions",
)
# The gates of each recurrence, and orders that conversions mistake for them.
GATED = {"lstm": ([0, 1, 3, 2], [1, 0, 2, 3], [0, 2, 1, 3]), "gru": ([1, 0, 2],)}

Plant = Callable[[Node, Network, Random], Node | tuple[Node, ...] | None]


@dataclass(frozen=True)
class Fault:
    """A planted fault: its kind, and where a report may say that the models diverge.

    Attributes:
        kind: A key of `FAULTS`.
        node: The one that was changed.
        sound_places: Nodes, in the model that is right.
        faulty_places: Nodes, in the model that is wrong. Where one model has an operation that
            the other lacks, what comes next in the other is a place as well.
        unused: Nodes that the fault leaves without any effect.
    """

    kind: str
    node: str
    sound_places: frozenset[str]
    faulty_places: frozenset[str]
    unused: frozenset[str]


def plant(kind: str, network: Network, random: Random) -> tuple[Network, Fault] | None:
    """The network with a fault of this kind somewhere in it; None if it has no place for one."""
    planted = [_planted(kind, node, network, random) for node in network.nodes[1:]]
    return random.choice([found for found in planted if found] or [None])


def _planted(
    kind: str, node: Node, network: Network, random: Random
) -> tuple[Network, Fault] | None:
    change = FAULTS[kind](node, network, random)
    if change is None:
        return None
    changed = change if isinstance(change, tuple) else (change,)
    faulty_network = refitted(network.with_nodes(*changed), network)
    if faulty_network is None:
        return None
    sound_places, faulty_places = _places(kind, node, changed, network)
    unused = _unused(faulty_network)
    return faulty_network, Fault(kind, node.name, sound_places, faulty_places, unused)


def _places(
    kind: str, node: Node, changed: tuple[Node, ...], network: Network
) -> tuple[frozenset[str], frozenset[str]]:
    """Where a report may say that the models diverge, in the sound model and in the faulty one."""
    names = frozenset(new.name for new in changed)
    added = names - {known.name for known in network.nodes}
    places = names - added
    following = _next_operations(network, node.name)
    if kind == "flatten_order":  # the order is the flattening's, the weights are the dense's
        places |= frozenset(node.inputs)
    if kind == "wrong_source" and node.kind in MOVES:  # what reads the moved value computes
        places |= following
    if changed[-1].kind == "identity" or kind in ("bias_missing", "norm_affine_missing"):
        return places, places | following
    logarithm_missing = (node.kind, changed[-1].kind) == ("log_softmax", "softmax")
    logarithm_added = (node.kind, changed[-1].kind) == ("softmax", "log_softmax")
    if added or logarithm_added:
        return places | following, places | added
    return places, places | (following if logarithm_missing else frozenset())


def _next_operations(network: Network, name: str) -> frozenset[str]:
    """What reads a node's value; where nothing does, the model's output is what it read."""
    found: frozenset[str] = frozenset()
    if not network.consumers(name):
        return frozenset(network.node(name).inputs)
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
    axes = (1, 0) if n.kind == "dense" else (2, 3, 1, 0)
    reshaped = kernel.transpose(axes).reshape(kernel.shape)
    orders = permutations(range(kernel.ndim))
    if any(np.array_equal(kernel.transpose(order), reshaped) for order in orders):
        return None  # of a square, say: then reshaping is transposing
    return n.weighing(kernel=reshaped)


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


def _epsilon(kind: str) -> Plant:
    def epsilon(n: Node, net: Network, random: Random) -> Node | None:
        if n.kind != kind:
            return None
        return n.but(epsilon={1e-5: 1e-3, 1e-3: 1e-5}[n.options["epsilon"]])

    return epsilon


def _layernorm_axis(n: Node, net: Network, random: Random) -> Node | None:
    return _other_axis(n, random) if n.kind == "layernorm" else None


def _log_softmax(n: Node, net: Network, random: Random) -> Node | None:
    other = {"softmax": "log_softmax", "log_softmax": "softmax"}
    return n.but(other[n.kind]) if n.kind in other else None


def _activation_kind(n: Node, net: Network, random: Random) -> Node | None:
    if n.kind not in ACTIVATIONS:
        return None
    same_family = {n.kind, *(("gelu", "gelu_tanh") if n.kind.startswith("gelu") else ())}
    return n.but(random.choice([k for k in ACTIVATIONS if k not in same_family]), slope=0.1)


def _activation_missing(n: Node, net: Network, random: Random) -> Node | None:
    return n.but("identity") if n.kind in ACTIVATIONS and n.kind != "tanh" else None


def _gelu_variant(n: Node, net: Network, random: Random) -> Node | None:
    other = {"gelu": "gelu_tanh", "gelu_tanh": "gelu"}
    return n.but(other[n.kind]) if n.kind in other else None


def _leaky_slope(n: Node, net: Network, random: Random) -> Node | None:
    if n.kind != "leaky_relu":
        return None
    return n.but(slope={0.01: 0.2, 0.2: 0.3}[n.options["slope"]])


def _bias_missing(n: Node, net: Network, random: Random) -> Node | None:
    if n.kind not in WITH_KERNELS or "bias" not in n.weights:
        return None
    return n.weighing(bias=None)


def _bias_doubled(n: Node, net: Network, random: Random) -> Node | None:
    return n.weighing(bias=2 * n.weights["bias"]) if "bias" in n.weights else None


def _weight_scale(n: Node, net: Network, random: Random) -> Node | None:
    if n.kind not in WITH_KERNELS:
        return None
    factor = np.float32(random.choice((0.5, 1.1, 2.0)))
    return n.weighing(kernel=factor * n.weights["kernel"])


def _weight_precision(n: Node, net: Network, random: Random) -> Node | None:
    if n.kind not in WITH_KERNELS:
        return None
    return n.weighing(kernel=n.weights["kernel"].astype(np.float16).astype(np.float32))


def _weight_swapped(n: Node, net: Network, random: Random) -> tuple[Node, ...] | None:
    """With the kernel of another node of its kind, or of its keys with that of its values."""
    if n.kind == "attention":
        return (n.weighing(key=n.weights["value"], value=n.weights["key"]),)
    if n.kind not in WITH_KERNELS:
        return None
    mine = n.weights["kernel"]
    others = [
        other
        for other in net.nodes
        if other.kind == n.kind and other is not n and other.weights["kernel"].shape == mine.shape
    ]
    if not others:
        return None
    other = random.choice(others)
    return other.weighing(kernel=mine), n.weighing(kernel=other.weights["kernel"])


def _one_weight_off(n: Node, net: Network, random: Random) -> Node | None:
    if not n.weights:
        return None
    name = random.choice(sorted(n.weights))
    weight = n.weights[name].copy()
    weight.flat[random.randrange(weight.size)] *= 1.01
    return n.weighing(**{name: weight})


def _gate_order(n: Node, net: Network, random: Random) -> Node | None:
    if n.family not in GATED:
        return None
    order = random.choice(GATED[n.family])
    return n.weighing(**{name: weight[order] for name, weight in n.weights.items()})


def _forget_bias(n: Node, net: Network, random: Random) -> Node | None:
    if n.family != "lstm":
        return None
    one = np.float32([0, 1, 0, 0])[:, None]
    return n.weighing(bias=n.weights["bias"] + one)


def _direction(n: Node, net: Network, random: Random) -> Node | None:
    return n.but(reverse=not n.options["reverse"]) if n.kind in GATED else None


def _sequence_mask(n: Node, net: Network, random: Random) -> Node | None:
    if n.kind != "lstm_masked":
        return None
    options = {name: value for name, value in n.options.items() if name != "lengths"}
    return replace(n, kind="lstm", options=options)


def _reset_after(n: Node, net: Network, random: Random) -> Node | None:
    return n.but(reset_after=not n.options["reset_after"]) if n.kind == "gru" else None


def _concat_order(n: Node, net: Network, random: Random) -> Node | None:
    return replace(n, inputs=n.inputs[::-1]) if n.kind == "concat" else None


def _branch_missing(n: Node, net: Network, random: Random) -> Node | None:
    if n.kind != "add":
        return None
    return replace(n, kind="identity", inputs=(random.choice(n.inputs),))


def _wrong_source(n: Node, net: Network, random: Random) -> Node | None:
    """Another value of the same shape is read."""
    k = random.randrange(len(n.inputs))
    source = net.node(n.inputs[k])
    before = net.nodes[: [node.name for node in net.nodes].index(n.name)]
    # Past one operation only, the fault would be that operation's, missing.
    known = {*n.inputs, *source.inputs}
    others = [o.name for o in before if o.shape == source.shape and o.name not in known]
    if not others:
        return None
    return replace(n, inputs=(*n.inputs[:k], random.choice(others), *n.inputs[k + 1 :]))


def _op_missing(n: Node, net: Network, random: Random) -> Node | None:
    first = n.inputs[0] == net.nodes[0].name
    return n.but("identity") if n.kind in OMITTED and not first else None


def _op_extra(n: Node, net: Network, random: Random) -> tuple[Node, ...] | None:
    """The node, and a further operation on its result."""
    if len(n.shape) == 3:
        return _followed(n, "scale", factor=0.5)
    kind = random.choice(("scale", "centre_mean", "layernorm_bare"))
    return _followed(n, kind, factor=0.5, axis=len(n.shape), epsilon=1e-5)


def _followed(n: Node, kind: str, **options: Any) -> tuple[Node, ...]:
    """The node under a new name, and, under its own, what reads it."""
    before = replace(n, name=f"pre_{n.name}")
    return before, Node(n.name, kind, (before.name,), n.shape, options)


def _preceded(n: Node, kind: str, **options: Any) -> tuple[Node, ...]:
    """What reads the node's source, and the node, reading that."""
    before = Node(f"pre_{n.name}", kind, n.inputs[:1], n.shape, options)
    return before, replace(n, inputs=(before.name,))


def _softmax_temperature(n: Node, net: Network, random: Random) -> tuple[Node, ...] | None:
    if n.kind not in ("softmax", "log_softmax"):
        return None
    return _preceded(n, "scale", factor=random.choice((0.5, 2.0)))


def _double_softmax(n: Node, net: Network, random: Random) -> tuple[Node, ...] | None:
    if n.kind != "softmax":
        return None
    return _preceded(n, "softmax", axis=n.options["axis"])


def _softmax_flattened(n: Node, net: Network, random: Random) -> tuple[Node, ...] | None:
    if n.kind not in ("softmax", "log_softmax") or len(n.shape) == 1:
        return None
    flat, normal = f"flat_{n.name}", f"pre_{n.name}"
    shape = (int(np.prod(n.shape)),)
    return (
        Node(flat, "flatten", n.inputs, shape),
        Node(normal, n.kind, (flat,), shape, {"axis": 1}),
        Node(n.name, "reshape", (normal,), n.shape),
    )


def _activation_extra(n: Node, net: Network, random: Random) -> tuple[Node, ...] | None:
    followed = any(consumer.kind in ACTIVATIONS for consumer in net.consumers(n.name))
    if n.family not in LINEAR or followed:
        return None
    return _followed(n, random.choice(("relu", "tanh", "sigmoid", "elu")))


def _hard_sigmoid_slope(n: Node, net: Network, random: Random) -> Node | None:
    if n.kind != "hard_sigmoid":
        return None
    return n.but(slope=0.2 if n.options["slope"] != 0.2 else 1 / 6)


def _kernel_flipped(n: Node, net: Network, random: Random) -> Node | None:
    if n.family != "conv2d" or n.options["window"] == (1, 1):
        return None
    return n.weighing(kernel=n.weights["kernel"][:, :, ::-1, ::-1])


def _channel_order(n: Node, net: Network, random: Random) -> Node | None:
    if n.family != "conv2d" or n.weights["kernel"].shape[1] == 1:
        return None
    return n.weighing(kernel=n.weights["kernel"][:, ::-1])


def _spatial_swap(n: Node, net: Network, random: Random) -> Node | None:
    if n.family != "conv2d" or n.options["window"] != (3, 3):
        return None
    return n.weighing(kernel=n.weights["kernel"].transpose(0, 1, 3, 2))


def _padding_size(n: Node, net: Network, random: Random) -> Node | None:
    """A line of padding more, or less, at the top and the bottom, the left and the right."""
    if n.kind != "conv2d":
        return None
    pad = n.options["pad"]
    sizes = [tuple(p + more for p in pad) for more in (1, -1)]
    return n.but(pad=random.choice([size for size in sizes if min(size) >= 0]))


def _padding_symmetric(n: Node, net: Network, random: Random) -> Node | None:
    """TensorFlow's 'same' is taken for as much padding on all sides."""
    if n.kind != "conv2d":
        return None
    top, bottom, left, right = n.options["pad"]
    if top == bottom and left == right:
        return None
    return n.but(pad=(bottom, bottom, right, right))


def _padding_value(n: Node, net: Network, random: Random) -> Node | None:
    if not any(n.options.get("pad", ())):
        return None
    if n.kind == "conv2d":
        size = net.node(n.inputs[0]).shape[1:]
        fits = max(n.options["pad"]) < min(size)
        return n.but("conv2d_border", border=random.choice(("ones", *["reflect"] * fits)))
    if n.kind == "conv2d_border":
        options = {name: value for name, value in n.options.items() if name != "border"}
        return replace(n, kind="conv2d", options=options)
    return n.but("maxpool_zeros") if n.kind == "maxpool" else None


def _stride(n: Node, net: Network, random: Random) -> Node | None:
    if n.kind != "conv2d" or n.options["dilation"] != 1:
        return None
    return n.but(stride=3 - n.options["stride"])


def _dilation(n: Node, net: Network, random: Random) -> Node | None:
    """Another dilation; where the size was kept, the padding keeps it again."""
    if n.kind != "conv2d" or n.options["stride"] != 1 or n.options["window"] == (1, 1):
        return None
    size = net.node(n.inputs[0]).shape[1:]
    dilation, kept = 3 - n.options["dilation"], n.shape[1:] == size
    pad, _ = padding_of(size, extent(n.options["window"], dilation), 1, same=kept)
    return n.but(dilation=dilation, pad=pad)


def _groups(n: Node, net: Network, random: Random) -> Node | None:
    """One group for two, the kernel repeated to fit, or two for one, the kernel cut."""
    if n.kind != "conv2d":
        return None
    kernel = n.weights["kernel"]
    if n.options["groups"] == 2:
        return n.but(groups=1).weighing(kernel=np.concatenate([kernel, kernel], 1))
    if kernel.shape[0] % 2 or kernel.shape[1] % 2:
        return None
    return n.but(groups=2).weighing(kernel=kernel[:, : kernel.shape[1] // 2])


def _pool_ceil(n: Node, net: Network, random: Random) -> Node | None:
    if n.kind != "maxpool" or any(n.options["pad"]) != n.options["ceil"]:
        return None
    if n.options["ceil"]:
        return n.but(ceil=False, pad=(0, 0, 0, 0))
    size = net.node(n.inputs[0]).shape[1:]
    pad, _ = ceiling_of(size, n.options["window"], n.options["stride"])
    return n.but(ceil=True, pad=pad) if any(pad) else None


def _depthwise_layout(n: Node, net: Network, random: Random) -> Node | None:
    """Channels and multiples taken for one another in the kernel's memory."""
    if n.kind != "depthwise" or n.options["multiple"] == 1:
        return None
    kernel = n.weights["kernel"]
    swapped = kernel.transpose(1, 0, 2, 3).reshape(kernel.shape)
    return n.weighing(kernel=swapped)


def _crop(n: Node, net: Network, random: Random) -> Node | None:
    """A transposed convolution cut at the other sides, or from both rather than one."""
    if n.kind != "deconv2d" or not any(n.options["crop"]):
        return None
    top, bottom, left, right = n.options["crop"]
    if (top, left) != (bottom, right):
        return n.but(crop=(bottom, top, right, left))
    return n.but(crop=(0, 2 * top, 0, 2 * left))


def _resize_coordinates(n: Node, net: Network, random: Random) -> Node | None:
    if n.kind != "resize" or n.options["method"] != "bilinear":
        return None
    others = {*COORDINATES["bilinear"]} - {n.options["coordinates"]}
    return n.but(coordinates=random.choice(sorted(others)))


def _resize_rounding(n: Node, net: Network, random: Random) -> Node | None:
    if n.kind != "resize" or n.options["method"] != "nearest":
        return None
    if n.shape[1:] == tuple(2 * size for size in n.options["before"]):  # the same by either
        return None
    (other,) = {*COORDINATES["nearest"]} - {n.options["coordinates"]}
    return n.but(coordinates=other)


def _pixel_shuffle_order(n: Node, net: Network, random: Random) -> Node | None:
    if n.kind != "pixel_shuffle":
        return None
    return n.but(blocks_first=not n.options["blocks_first"])


def _lrn_parameters(n: Node, net: Network, random: Random) -> Node | None:
    if n.kind != "lrn":
        return None
    name, factor = random.choice((("alpha", n.options["size"]), ("k", 1.5), ("beta", 2 / 3)))
    return n.but(**{name: n.options[name] * factor})


def _attention_scale(n: Node, net: Network, random: Random) -> Node | None:
    if n.kind != "attention":
        return None
    _, heads, depth = n.weights["query"].shape
    others = {1.0, 1 / depth, *((heads * depth) ** -0.5 for _ in range(heads > 1))}
    return n.but(factor=random.choice(sorted(others)))


def _attention_mask_missing(n: Node, net: Network, random: Random) -> Node | None:
    return n.but(causal=False) if n.kind == "attention" and n.options["causal"] else None


def _attention_mask_value(n: Node, net: Network, random: Random) -> Node | None:
    if n.kind != "attention" or not n.options["causal"]:
        return None
    return n.but(fill=random.choice((-1.0, -5.0)))


def _head_split_order(n: Node, net: Network, random: Random) -> Node | None:
    several = n.kind == "attention" and n.options["heads"] > 1
    return n.but("attention_split") if several else None


def _position_ids(n: Node, net: Network, random: Random) -> Node | None:
    return n.but(offset=abs(n.options["offset"] - 1)) if n.kind == "positions" else None


def _quantile_fractions(n: Node, net: Network, random: Random) -> Node | None:
    return n.but(offset=random.choice((0.0, 1.0))) if n.kind == "quantile" else None


def _input_scale(n: Node, net: Network, random: Random) -> Node | None:
    if n.kind != "scale" or n.inputs[0] != net.nodes[0].name:
        return None
    wrong = n.but(factor=n.options["factor"] * random.choice((0.5, 2.0)))
    return random.choice((wrong, n.but("identity")))


def _input_normalisation(n: Node, net: Network, random: Random) -> Node | None:
    if n.kind != "standardise":
        return None
    mean, deviation = n.weights["mean"], n.weights["deviation"]
    wrong = (
        n.weighing(mean=mean / 2),
        n.weighing(deviation=deviation**2),
        n.weighing(mean=mean[::-1], deviation=deviation[::-1]),
        n.but("identity"),
    )
    return random.choice(wrong)


def _norm_epsilon_placement(n: Node, net: Network, random: Random) -> Node | None:
    if n.kind not in ("layernorm", "batchnorm", "rmsnorm") or n.options["epsilon"] < 1e-4:
        return None
    return n.but(f"{n.kind}_outside")


def _norm_affine_missing(n: Node, net: Network, random: Random) -> Node | None:
    return n.but(f"{n.kind}_bare") if n.kind in ("layernorm", "batchnorm", "rmsnorm") else None


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


def _becomes(before: str, after: str) -> Plant:
    return lambda n, net, random: n.but(after) if n.kind == before else None


FAULTS: dict[str, Plant] = {
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
    "squash_missing": _becomes("tanh", "identity"),
    "gelu_variant": _gelu_variant,
    "leaky_slope": _leaky_slope,
    "bias_missing": _bias_missing,
    "one_weight_off": _one_weight_off,
    "gate_order": _gate_order,
    "concat_order": _concat_order,
    "branch_missing": _branch_missing,
    "padding_side": _padding_side,
    "pool_counts_padding": _pool_counts_padding,
    "scale": _scale,
    "log_softmax": _log_softmax,
    "softmax_temperature": _softmax_temperature,
    "double_softmax": _double_softmax,
    "softmax_flattened": _softmax_flattened,
    "norm_epsilon_placement": _norm_epsilon_placement,
    "norm_affine_missing": _norm_affine_missing,
    "norm_batch_statistics": _becomes("batchnorm", "batchnorm_batch"),
    "variance_ddof": _becomes("layernorm", "layernorm_ddof"),
    "rmsnorm_offset": _becomes("rmsnorm", "rmsnorm_offset"),
    "rmsnorm_epsilon": _epsilon("rmsnorm"),
    "activation_extra": _activation_extra,
    "hard_sigmoid_slope": _hard_sigmoid_slope,
    "bias_doubled": _bias_doubled,
    "weight_scale": _weight_scale,
    "weight_precision": _weight_precision,
    "weight_swapped": _weight_swapped,
    "kernel_flipped": _kernel_flipped,
    "channel_order": _channel_order,
    "spatial_swap": _spatial_swap,
    "padding_size": _padding_size,
    "padding_symmetric": _padding_symmetric,
    "padding_value": _padding_value,
    "stride": _stride,
    "dilation": _dilation,
    "groups": _groups,
    "pool_ceil": _pool_ceil,
    "reset_after": _reset_after,
    "recurrent_activation": _becomes("lstm", "lstm_hard"),
    "forget_bias": _forget_bias,
    "state_not_carried": _becomes("lstm", "lstm_stateless"),
    "direction": _direction,
    "sequence_mask": _sequence_mask,
    "wrong_source": _wrong_source,
    "op_missing": _op_missing,
    "op_extra": _op_extra,
    "depthwise_layout": _depthwise_layout,
    "transposed_conv_crop": _crop,
    "resize_coordinates": _resize_coordinates,
    "resize_rounding": _resize_rounding,
    "pixel_shuffle_order": _pixel_shuffle_order,
    "lrn_parameters": _lrn_parameters,
    "attention_scale": _attention_scale,
    "attention_mask_missing": _attention_mask_missing,
    "attention_mask_value": _attention_mask_value,
    "head_split_order": _head_split_order,
    "position_ids": _position_ids,
    "quantile_fractions": _quantile_fractions,
    "input_scale": _input_scale,
    "input_normalisation": _input_normalisation,
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
    "squash_missing": ("activation-missing", "squash-missing"),
    "gelu_variant": ("gelu-variant",),
    "leaky_slope": ("leaky-slope",),
    "bias_missing": ("bias-missing",),
    "one_weight_off": ("weight-values",),
    "gate_order": ("gate-order",),
    "concat_order": ("concat-order",),
    "branch_missing": ("branch-missing",),
    "padding_side": ("padding-asymmetry",),
    "pool_counts_padding": ("count-include-pad",),
    # A few digits times 1.001 are a few digits more: 1.7 is 1.7017 with fewer.
    "scale": ("weight-scale", "weight-values", "input-scale", "constant-precision"),
    "log_softmax": ("log-softmax-vs-softmax",),
    "softmax_temperature": ("softmax-temperature",),
    "double_softmax": ("double-softmax",),
    "softmax_flattened": ("softmax-flattened",),
    "norm_epsilon_placement": ("norm-epsilon-placement",),
    "norm_affine_missing": ("norm-affine-missing",),
    "norm_batch_statistics": ("norm-batch-statistics",),
    "variance_ddof": ("variance-ddof",),
    "rmsnorm_offset": ("rmsnorm-offset",),
    "rmsnorm_epsilon": ("norm-epsilon",),
    "activation_extra": ("activation-extra",),
    "hard_sigmoid_slope": ("hard-sigmoid-slope",),
    "bias_doubled": ("bias-doubled",),
    "weight_scale": ("weight-scale",),
    "weight_precision": ("weight-precision",),
    "weight_swapped": ("weight-swapped",),
    "kernel_flipped": ("kernel-flipped",),
    "channel_order": ("channel-order", "input-channel-order", "frame-order"),
    "spatial_swap": ("spatial-swap",),
    "padding_size": ("padding-size",),
    "padding_symmetric": ("padding-asymmetry", "padding-size"),
    "padding_value": ("padding-value",),
    "stride": ("stride",),
    "dilation": ("dilation",),
    "groups": ("groups",),
    "pool_ceil": ("pool-ceil",),
    "reset_after": ("reset-after",),
    "recurrent_activation": ("recurrent-activation",),
    "forget_bias": ("forget-bias",),
    "state_not_carried": ("state-not-carried",),
    "direction": ("direction",),
    "sequence_mask": ("sequence-mask",),
    "wrong_source": ("wrong-source",),
    "op_missing": ("op-missing",),
    "op_extra": ("op-extra",),
    "depthwise_layout": ("depthwise-layout",),
    "transposed_conv_crop": ("transposed-conv-crop",),
    "resize_coordinates": ("resize-coordinates",),
    "resize_rounding": ("resize-rounding", "resize-coordinates"),
    "pixel_shuffle_order": ("pixel-shuffle-order",),
    "lrn_parameters": ("lrn-parameters",),
    "attention_scale": ("attention-scale",),
    "attention_mask_missing": ("attention-mask-missing",),
    "attention_mask_value": ("attention-mask-value",),
    "head_split_order": ("head-split-order",),
    "position_ids": ("position-ids",),
    "quantile_fractions": ("quantile-fractions",),
    "input_scale": ("input-scale", "op-missing"),
    # Half a mean is a parameter at another scale.
    "input_normalisation": ("input-normalisation", "op-missing", "weight-scale"),
}

# What else is true when it is the reference that has the fault: what it lacks, the candidate has in
# addition, and the other way round.
CAUSES_IN_REFERENCE: dict[str, tuple[str, ...]] = {
    "activation_missing": ("activation-extra",),
    "squash_missing": ("activation-extra",),
    "activation_extra": ("activation-missing",),
    "bias_missing": ("op-extra",),
    "branch_missing": ("op-extra",),
    "op_missing": ("op-extra",),
    "input_scale": ("op-extra",),
    "input_normalisation": ("op-extra",),
    "dueling_uncentred": ("op-extra",),
    "op_extra": ("op-missing",),
}


def causes(kind: str, in_reference: bool) -> tuple[str, ...]:
    """What a report may call a fault of this kind, in the reference or in the candidate."""
    return CAUSES[kind] + (CAUSES_IN_REFERENCE.get(kind, ()) if in_reference else ())
