"""A small network without a framework: its nodes, what shapes they give, and how one is drawn.

Shapes leave out the batch. Images are (channels, *space), series (time, features), words (time,),
all else (features,), whatever the layout of the framework that builds them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from hypothesis import strategies as st

Shape = tuple[int, ...]
FRAMEWORKS = ("torch", "keras", "chainer")
MOST_LAYERS = 8
GLUE = frozenset("input flatten last mean_over_time as_image as_series add concat".split())


@dataclass(frozen=True)
class Node:
    """One operation.

    Attributes:
        inputs: numbers of the nodes that it reads.
        layer: whose weights it has; nodes of one layer share them.
        sizes: of what it gives, and its settings.
        by_hand: the frameworks in which it is written from functions.
    """

    kind: str
    inputs: tuple[int, ...]
    layer: int
    sizes: Mapping[str, Any] = field(default_factory=dict)
    by_hand: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Net:
    """Nodes in the order in which they run; the first is the input.

    Attributes:
        outputs: numbers of the nodes whose results it returns, in their order.
        made: the order in which frameworks make its layers.
    """

    form: str
    shape: Shape
    nodes: tuple[Node, ...]
    outputs: tuple[int, ...]
    made: int = 0

    @property
    def shapes(self) -> list[Shape]:
        """What each node gives.

        Raises:
            ValueError: a node does not fit what it reads.
        """
        found = [self.shape]
        for node in self.nodes[1:]:
            given = [found[number] for number in node.inputs]
            found.append(SHAPES[node.kind](given, node.sizes))
            if min(found[-1]) < 1:
                raise ValueError(f"{node.kind} leaves nothing of {given}")
        return found

    @property
    def layers(self) -> dict[int, tuple[Node, Shape]]:
        """The nodes that are first to use a layer, with the shape that enters."""
        found: dict[int, tuple[Node, Shape]] = {}
        shapes = self.shapes
        for node in self.nodes:
            if node.kind in WEIGHTED:
                entering = shapes[node.inputs[0]]
                if found.setdefault(node.layer, (node, entering))[1][0] != entering[0]:
                    raise ValueError("a layer cannot be shared between other sizes")
        return found

    @property
    def kinds(self) -> frozenset[str]:
        """Of its layers, and in what ways they are joined."""
        shapes, found = self.shapes, set()
        for number, node in enumerate(self.nodes):
            found |= {f"{node.kind} by hand"} if node.by_hand else set()
            found |= {"grouped"} if "groups" in node.sizes and node.kind == "conv" else set()
            found |= {"shared layer"} if node.layer != number and node.inputs else set()
            spatial = node.kind in ("conv", "depthwise", "transposed")
            rank = f" {len(shapes[number]) - 1}d" if spatial else ""
            found |= {f"{node.kind}{rank}"} if node.kind not in GLUE else set()
            found |= {"residual"} if node.kind == "add" else set()
            found |= {"flatten of images"} if self._flattens_image(node) else set()
        ends = {self.nodes[number].inputs for number in self.outputs}
        found |= {"two heads"} if len(self.outputs) > 1 else set()
        trunks = len(ends) > 1 or any(node.kind == "concat" for node in self.nodes)
        return frozenset(found | ({"separate trunks"} if trunks else set()))

    def _flattens_image(self, node: Node) -> bool:
        return node.kind == "flatten" and self.form == "image"

    def __str__(self) -> str:
        lines = [
            f"{number}: {node.kind}{list(node.inputs)}{_layer(number, node)} {dict(node.sizes)}"
            f"{' by hand in ' + ', '.join(sorted(node.by_hand)) if node.by_hand else ''}"
            f" -> {shape}"
            for number, (node, shape) in enumerate(zip(self.nodes, self.shapes, strict=True))
        ]
        return "\n".join([*lines, f"outputs {list(self.outputs)}"])


def _layer(number: int, node: Node) -> str:
    return f" as {node.layer}" if node.layer != number else ""


# --- shapes --------------------------------------------------------------------------------------


def _same(given: Sequence[Shape], sizes: Mapping[str, Any]) -> Shape:
    if len(set(given)) != 1:
        raise ValueError("shapes differ")
    return given[0]


def _windowed(given: Sequence[Shape], sizes: Mapping[str, Any]) -> Shape:
    """A convolution's or pool's; space by space."""
    channels, *space = given[0]
    if channels % sizes.get("groups", 1):
        raise ValueError("channels do not divide into the groups")
    reach = sizes.get("dilation", 1) * (sizes["kernel"] - 1)
    pad = reach if sizes.get("same") else 0
    out = sizes.get("filters", channels * sizes.get("multiplier", 1))
    return (out, *((size + pad - reach - 1) // sizes["stride"] + 1 for size in space))


def _widened(given: Sequence[Shape], sizes: Mapping[str, Any]) -> Shape:
    _, *space = given[0]
    return (sizes["filters"], *((n - 1) * sizes["stride"] + sizes["kernel"] for n in space))


def _divided(given: Sequence[Shape], sizes: Mapping[str, Any]) -> Shape:
    if given[0][0] % sizes["groups"]:
        raise ValueError("channels do not divide into the groups")
    return given[0]


def _attended(given: Sequence[Shape], sizes: Mapping[str, Any]) -> Shape:
    if given[0][-1] % sizes["heads"]:
        raise ValueError("features do not divide into the heads")
    return given[0]


SHAPES: dict[str, Callable[[Sequence[Shape], Mapping[str, Any]], Shape]] = {
    **dict.fromkeys("batch_norm layer_norm add".split(), _same),
    **dict.fromkeys("relu tanh sigmoid elu".split(), _same),
    **dict.fromkeys("conv depthwise max_pool average_pool".split(), _windowed),
    "group_norm": _divided,
    "transposed": _widened,
    "dense": lambda given, sizes: (*given[0][:-1], sizes["units"]),
    **dict.fromkeys(
        "lstm gru gru_before".split(), lambda given, sizes: (given[0][0], sizes["units"])
    ),
    "attention": _attended,
    "embedding": lambda given, sizes: (*given[0], sizes["units"]),
    "flatten": lambda given, sizes: (math.prod(given[0]),),
    **dict.fromkeys(("last", "mean_over_time"), lambda given, sizes: given[0][1:]),
    **dict.fromkeys(("as_image", "as_series"), lambda given, sizes: given[0][::-1]),
    "concat": lambda given, sizes: (sum(shape[0] for shape in given),),
}
WEIGHTED = frozenset(
    "dense conv depthwise transposed batch_norm layer_norm group_norm embedding lstm gru "
    "gru_before attention".split()
)
_ACTIVATIONS = ("relu", "tanh", "sigmoid", "elu")
_LAYERS = {
    "image": "conv grouped depthwise transposed batch_norm group_norm pool activation residual "
    "shared".split(),
    "series": "dense conv lstm gru gru_before attention layer_norm activation residual".split(),
    "flat": "dense batch_norm layer_norm activation residual shared trunks".split(),
}
_BY_HAND = {
    "batch_norm": ("torch", "keras", "chainer"),
    "layer_norm": ("torch", "keras", "chainer"),
    "lstm": ("torch", "chainer"),
    "gru_before": ("chainer",),
    "attention": ("torch", "keras"),
}


# --- drawing -------------------------------------------------------------------------------------


@st.composite
def nets(draw: st.DrawFn) -> Net:
    """Networks; they shrink to few layers, all of the frameworks' own."""
    return draw_net(draw(st.randoms(use_true_random=False)))


def net_of_seed(seed: int) -> Net:
    return draw_net(Random(seed))


def draw_net(random: Random) -> Net:
    """A network of one layer to eight; every choice is `random`'s."""
    return _Drawing(random).net()


class _Drawing:
    """Nodes as they are drawn, the last one with its shape and form."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.form = self._one_of("flat image series words image".split())
        some = [random.randint(2, 5), *(random.randint(7, 9) for _ in range(3))]
        rank = {"image": self._one_of((2, 1, 3, 2)), "words": 0, "series": 1}.get(self.form, 0)
        self.shape: Shape = {"flat": (some[1] - 3,), "words": (6,), "series": (5, some[0] + 1)}.get(
            self.form, tuple(some[: rank + 1])
        )
        self.entering = self.form, self.shape
        self.permuted = False  # flattened in another order by some frameworks
        self.heads, self.most = 1, 0  # layers at the end, and before them
        self.nodes = [Node("input", (), 0)]
        self.shapes = [self.shape]

    def net(self) -> Net:
        if self.form == "words":
            self._add("embedding", rows=11, units=self._width(4, 6))
            self.form = "series"
        self.heads = self.random.randint(1, 2)
        most = max(self.random.randint(self.heads, MOST_LAYERS) for _ in range(2))
        self.most = most - self.heads
        trunks: tuple[int, ...] | None = None
        if self.form != "flat":
            while self._count() < self.most and self._one_of((*[True] * 6, False)):
                self._layer()
            self._flatten()
        while self._count() < self.most and trunks is None:
            trunks = self._layer()
        ends = trunks or (len(self.nodes) - 1,)
        outputs = tuple(
            self._node("dense", (ends[n % len(ends)],), units=self.random.randint(1, 4), bias=True)
            for n in range(self.heads)
        )
        made = self.random.randint(0, 99)
        return Net(*self.entering, tuple(self.nodes), outputs, made)

    def _count(self) -> int:
        return sum(node.kind not in GLUE for node in self.nodes)

    def _one_of(self, choices: Sequence[Any]) -> Any:
        return choices[self.random.randrange(len(choices))]

    def _width(self, low: int, high: int) -> int:
        """Of a layer: as often as not what enters it, so that its matrix is square."""
        return self._one_of((min(self.shape[-1], 12), self.random.randint(low, high)))

    def _node(self, kind: str, inputs: tuple[int, ...], **sizes: Any) -> int:
        layer = sizes.pop("layer", len(self.nodes))
        hands = [name for name in _BY_HAND.get(kind, ()) if self.random.randrange(4) == 3]
        shape = SHAPES[kind]([self.shapes[number] for number in inputs], sizes)
        if min(shape) < 1:
            raise ValueError(f"{kind} leaves nothing")
        self.nodes.append(Node(kind, inputs, layer, sizes, frozenset(hands)))
        self.shapes.append(shape)
        return len(self.nodes) - 1

    def _add(self, kind: str, *inputs: int, **sizes: Any) -> int:
        number = self._node(kind, inputs or (len(self.nodes) - 1,), **sizes)
        self.shape = self.shapes[number]
        return number

    def _layer(self) -> tuple[int, ...] | None:
        """Adds a layer; where it is separate trunks, gives their ends, if those stay separate."""
        kind = self._one_of(_LAYERS[self.form])
        before = len(self.nodes), self.shape
        try:
            ends = getattr(self, f"_{kind}", lambda: self._plain(kind))()
            if self._count() > self.most:
                raise ValueError("too many layers")
            self.permuted = self.permuted and all(n.kind != "dense" for n in self.nodes)
            return ends
        except ValueError:  # it does not fit what is there
            del self.nodes[before[0] :], self.shapes[before[0] :]
            self.shape = before[1]
            return None

    def _plain(self, kind: str) -> None:
        sizes = {
            "dense": {"units": self._width(3, 8), "bias": self._one_of((True, True, False))},
            "lstm": {"units": self._width(3, 6), "bias": True},
            "gru": {"units": self._width(3, 6), "bias": True},
            "gru_before": {"units": self._width(3, 6), "bias": True},
            "attention": {"heads": self._one_of((2, 1, 3)), "bias": self._one_of((True, False))},
            "group_norm": {"groups": self._one_of((2, 3))},
        }
        self._add(kind, **sizes.get(kind, {}))

    def _conv(self) -> None:
        self._as_images(lambda: self._add("conv", **self._window(3), filters=self._filters()))

    def _grouped(self) -> None:
        self._not_in_3d()
        groups = self._one_of((2, 3))
        filters = groups * self.random.randint(1, 2)
        self._add("conv", **self._window(3), filters=filters, groups=groups)

    def _not_in_3d(self) -> None:
        if len(self.shape) > 3:
            raise ValueError("TensorFlow has no groups in 3d on a CPU")

    def _depthwise(self) -> None:
        self._not_in_3d()
        self._add("depthwise", **self._window(3), multiplier=self.random.randint(1, 2))

    def _transposed(self) -> None:
        kernel = self.random.randint(1, 3)
        sizes = {"kernel": kernel, "stride": self.random.randint(1, min(kernel, 2))}
        bias = self._one_of((True, False))
        if self.shape[1] < 8:
            self._add("transposed", filters=self._filters(), bias=bias, **sizes)

    def _filters(self) -> int:
        return self._one_of((self.shape[0], self.random.randint(2, 6)))

    def _window(self, most: int) -> dict[str, Any]:
        kernel, same = self.random.randint(1, most), self._one_of((False, True))
        same = same and kernel % 2 == 1
        stride = 1 if same else self._one_of((1, 2))
        dilation = 1 if stride > 1 else self._one_of((1, 1, 1, 2))
        bias = self._one_of((True, True, False))
        return {"kernel": kernel, "stride": stride, "same": same,
                "dilation": dilation, "bias": bias}  # fmt: skip

    def _as_images(self, layer: Callable[[], Any]) -> None:
        """A layer over images, in a series of which one is made for it."""
        if self.form == "image":
            layer()
            return
        self._add("as_image")
        layer()
        self._add("as_series")

    def _pool(self) -> None:
        self._add(self._one_of(("max_pool", "average_pool")), kernel=2, stride=2)

    def _activation(self) -> None:
        if self.nodes[-1].kind not in _ACTIVATIONS:
            self._add(self._one_of(_ACTIVATIONS))

    def _square(self, **sizes: Any) -> int:
        """A layer that gives what shape and order it takes."""
        if self.permuted:
            raise ValueError("a product has an order of its own")
        if self.form == "image":
            window = {"kernel": 3, "stride": 1, "same": True, "dilation": 1, "bias": True}
            return self._add("conv", filters=self.shape[0], **window, **sizes)
        return self._add("dense", units=self.shape[-1], bias=True, **sizes)

    def _residual(self) -> None:
        begin = len(self.nodes) - 1
        self._square()
        self._add("add", begin, self._add(self._one_of(_ACTIVATIONS)))

    def _shared(self) -> None:
        layer = self._square()
        self._add(self._one_of(_ACTIVATIONS))
        self._square(layer=layer)

    def _trunks(self) -> tuple[int, ...] | None:
        """Two of the same shapes; joined, or each with a head of its own."""
        begin, units = len(self.nodes) - 1, self._width(3, 8)
        ends = []
        for _ in range(2):
            first = self._add("dense", begin, units=units, bias=True)
            self._add("tanh", first)
            ends.append(self._add("dense", units=units, bias=True))
        if self.heads > 1 and self._one_of((True, False)):
            return tuple(ends)
        self._add("concat", *ends)
        return None

    def _flatten(self) -> None:
        ways = ("flatten", "last", "mean_over_time") if self.form == "series" else ("flatten",)
        self.permuted = self.form == "image"
        self._add(self._one_of(ways))
        self.form = "flat"


# --- what differs --------------------------------------------------------------------------------


def other_net(net: Net, random: Random) -> Net | None:
    """The same except for a layer's size, or without one of its layers; None where none can be.

    A layer is only left out where another output is certain: one that has weights.
    """
    numbers = [n for n, node in enumerate(net.nodes) if node.kind in WEIGHTED]
    random.shuffle(numbers)
    for number in numbers:
        ways = [_resized, _without]
        random.shuffle(ways)
        for way in ways:
            try:
                changed = way(net, number)
                if changed.shapes and changed.layers and changed != net:
                    return changed
            except (ValueError, IndexError):  # nothing fits after it
                continue
    return None


def _resized(net: Net, number: int) -> Net:
    node = net.nodes[number]
    name = "units" if "units" in node.sizes else "filters"
    if name not in node.sizes or number in net.outputs:
        raise ValueError("has no size of its own")
    more = node.sizes[name] + node.sizes.get("groups", 1)
    nodes = [
        replace(one, sizes={**one.sizes, name: more}) if one.layer == node.layer else one
        for one in net.nodes
    ]
    return replace(net, nodes=tuple(nodes))


def _without(net: Net, number: int) -> Net:
    """Without one node; what read it reads what it read."""
    instead = net.nodes[number].inputs[0]
    if number in net.outputs or net.shapes[number] != net.shapes[instead]:
        raise ValueError("cannot be left out")
    if sum(node.layer == number for node in net.nodes) > 1:
        raise ValueError("is shared")

    def moved(one: int) -> int:
        one = instead if one == number else one
        return one - (one > number)

    nodes = [
        replace(node, inputs=tuple(map(moved, node.inputs)), layer=moved(node.layer))
        for n, node in enumerate(net.nodes)
        if n != number
    ]
    return replace(net, nodes=tuple(nodes), outputs=tuple(map(moved, net.outputs)))
