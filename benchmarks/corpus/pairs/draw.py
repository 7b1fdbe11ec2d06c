"""Draws small networks: from a seed, or from hypothesis, whose `randoms` shrink like any value.

Sizes are all distinct, the batch included, but where a motif needs equals (a residual branch, a
square table); weights are random, distinct and signed.
"""

from __future__ import annotations

import math
from random import Random
from typing import Any

import numpy as np

from .network import NEVER, Network, Node, ceiling_of, extent, padding_of

ACTIVATIONS = (
    "relu", "tanh", "sigmoid", "gelu", "gelu_tanh", "leaky_relu", "softplus", "elu", "silu",
    "hard_sigmoid",
)  # fmt: skip
COORDINATES = {
    "nearest": ("half-pixel", "asymmetric"),
    "bilinear": ("half-pixel", "half-pixel", "align-corners", "asymmetric"),
}
SLOPES = {"leaky_relu": (0.01, 0.2), "hard_sigmoid": (0.2, 1 / 6)}


def draw_network(random: Random) -> Network:
    """A body (image, table or vector) of a few blocks, then one or two heads."""
    draft = _Draft(random)
    x = draft.input()
    if random.random() < 0.3:
        x = draft.prepared(x)
    for _ in range(random.randint(1, 2)):
        x = draft.block(x)
    if len(x.shape) == 3:
        x = draft.leave_image(x)
    if len(x.shape) == 2:
        x = draft.table_block(x)
        x = draft.leave_table(x)
    for _ in range(random.randint(0, 2)):
        x = draft.vector_block(x)
    heads = random.sample(HEADS, random.randint(1, 2))
    outputs = {}
    for head in heads:
        outputs.update(head(draft, x))
    return Network(draft.batch, tuple(draft.nodes), outputs, random.random() < 0.5)


def clear(before: int, size: int) -> bool:
    """Whether no row resized to is halfway between two old ones, where rounding would decide."""
    return size == 2 * before or (math.gcd(before, size) == 1 and not (size % 2 > before % 2))


class _Draft:
    """A network while it grows: each method adds a motif after `x` and gives its last node."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.weights = np.random.default_rng(random.getrandbits(32))
        self.nodes: list[Node] = []
        self.used: set[int] = set()
        self.batch = self.size(4, 7)

    # sizes, nodes, weights

    def size(self, low: int, high: int) -> int:
        """A size that nothing else has, if one is left."""
        free = [n for n in range(low, high + 1) if n not in self.used]
        size = self.random.choice(free or range(low, high + 1))
        self.used.add(size)
        return size

    def add(
        self,
        kind: str,
        *inputs: Node,
        shape: tuple[int, ...] | None = None,
        weights: dict[str, np.ndarray] | None = None,
        **options: Any,
    ) -> Node:
        count = sum(node.name.rstrip("0123456789") == kind for node in self.nodes)
        name = f"{kind}{count + 1}" if inputs else "x"
        names = tuple(node.name for node in inputs)
        shape = inputs[0].shape if shape is None else shape
        self.used.update(shape)
        self.nodes.append(Node(name, kind, names, shape, options, weights or {}))
        return self.nodes[-1]

    def normal(self, *shape: int, scale: float = 1.0) -> np.ndarray:
        return (scale * self.weights.standard_normal(shape)).astype(np.float32)

    def positive(self, *shape: int) -> np.ndarray:
        return self.weights.uniform(0.5, 1.5, shape).astype(np.float32)

    # motifs

    def input(self) -> Node:
        form = self.random.choice(("image", "image", "table", "vector"))
        if form == "image":
            shape = (self.size(2, 4), self.size(8, 12), self.size(8, 13))
        elif form == "table":
            shape = (self.size(3, 6), self.size(7, 12))
        else:
            shape = (self.size(8, 16),)
        return self.add("input", shape=shape)

    def prepared(self, x: Node) -> Node:
        """Inputs scaled, as pixels are, or standardised."""
        if self.random.random() < 0.5:
            return self.add("scale", x, factor=self.random.choice((1 / 255, 0.1)))
        n = x.shape[0] if len(x.shape) == 3 else x.shape[-1]
        weights = {"mean": self.normal(n, scale=0.5), "deviation": self.positive(n)}
        return self.add("standardise", x, weights=weights)

    def block(self, x: Node) -> Node:
        blocks = {3: self.image_block, 2: self.table_block, 1: self.vector_block}
        return blocks[len(x.shape)](x)

    def image_block(self, x: Node) -> Node:
        motif = self.random.choice(
            (
                "conv",
                "conv",
                "conv bn",
                "pool",
                "residual",
                "branches",
                "depthwise",
                "larger",
                "lrn",
            )
        )
        if motif == "depthwise":
            return self.activation(self.depthwise(x))
        if motif == "larger":
            return self.larger(x)
        if motif == "lrn":
            return self.lrn(self.activation(self.conv(x)))
        if motif in ("conv", "conv bn"):
            x = self.conv(x)
            x = self.batchnorm(x) if motif == "conv bn" else x
            return self.activation(x)
        if motif == "pool":
            return self.pool(x)
        if motif == "residual":
            y = self.activation(self.conv(x, filters=x.shape[0], keep=True))
            return self.add("add", x, y)
        branches = [self.conv(x, keep=True), self.activation(self.conv(x, keep=True))]
        return self.concat(branches)

    def vector_block(self, x: Node) -> Node:
        motif = self.random.choice(
            ("dense", "dense", "norm", "residual", "branches", "scale", "centre", "softmax")
        )
        if motif == "dense":
            return self.activation(self.dense(x, self.size(8, 24)))
        if motif == "norm":
            x = self.dense(x, self.size(8, 24))
            return self.activation(
                self.random.choice((self.batchnorm, self.layernorm, self.rmsnorm))(x)
            )
        if motif == "residual":
            return self.add("add", x, self.activation(self.dense(x, x.shape[-1])))
        if motif == "branches":
            other = self.activation(self.dense(x, self.size(5, 15)))
            return self.concat([x, other] if self.random.random() < 0.5 else [other, x])
        return self.elementwise(motif, x)

    def table_block(self, x: Node) -> Node:
        motif = self.random.choice(
            ("dense", "lstm", "norm", "transpose", "scale", "centre", "softmax", "residual")
            + ("attention", "attention")
        )
        if motif == "attention" and x.shape[0] <= 40:
            return self.attended(x)
        if motif == "lstm" and x.shape[0] <= 12:
            return self.random.choice((self.lstm, self.gru))(x, sequence=True)
        if motif == "norm":
            return self.random.choice((self.layernorm, self.rmsnorm))(x)
        if motif == "transpose":
            return self.add("transpose", x, shape=x.shape[::-1])
        if motif == "residual":
            return self.add("add", x, self.activation(self.dense(x, x.shape[-1])))
        if motif in ("dense", "lstm", "attention"):
            return self.activation(self.dense(x, self.size(6, 16)))
        return self.elementwise(motif, x)

    def elementwise(self, motif: str, x: Node) -> Node:
        axis = len(x.shape)
        if motif == "scale":
            return self.add("scale", x, factor=self.random.choice((0.125, 0.3, 1.7, -2.0)))
        if motif == "centre":
            axis = self.random.randint(1, axis)
            return self.add(self.random.choice(("centre_mean", "centre_max")), x, axis=axis)
        return self.add(self.random.choice(("softmax", "log_softmax")), x, axis=axis)

    def leave_image(self, x: Node) -> Node:
        channels, height, width = x.shape
        how = self.random.choice(("flatten", "flatten", "reduce", "tokens"))
        if how == "flatten":
            return self.flatten(x)
        if how == "reduce":
            return self.reduce(x, axis=(2, 3), shape=(channels,))
        return self.add("tokens", x, shape=(height * width, channels))

    def leave_table(self, x: Node) -> Node:
        ways = ("lstm", "reduce", "flatten") if x.shape[0] <= 8 else ("reduce", "flatten")
        how = self.random.choice(ways)
        if how == "lstm":
            return self.random.choice((self.lstm, self.gru))(x, sequence=False)
        if how == "flatten":
            return self.flatten(x)
        axis = self.random.choice((1, 2))
        return self.reduce(x, axis=axis, shape=(x.shape[2 - axis],))

    # single nodes

    def dense(self, x: Node, units: int) -> Node:
        fan_in = x.shape[-1]
        weights = {"kernel": self.normal(fan_in, units, scale=fan_in**-0.5)}
        if self.random.random() < 0.8:
            weights["bias"] = self.normal(units, scale=0.3)
        return self.add("dense", x, shape=(*x.shape[:-1], units), weights=weights)

    def conv(self, x: Node, filters: int | None = None, keep: bool = False) -> Node:
        """A convolution; `keep` keeps height and width."""
        channels, height, width = x.shape
        filters = filters or self.size(3, 11)
        kernel = self.random.choice(((3, 3), (3, 2), (2, 3), (1, 1), (4, 3)))
        stride = 1 if keep else self.random.choice((1, 1, 2))
        dilation = self.random.choice((1, 1, 2)) if stride == 1 else 1
        groups = self.random.choice((1, 1, 2)) if channels % 2 == filters % 2 == 0 else 1
        small = min(height, width) <= max(5, *extent(kernel, dilation))
        same = keep or small or self.random.random() < 0.5
        pad, size = padding_of((height, width), extent(kernel, dilation), stride, same)
        fan_in = channels // groups
        scale = (fan_in * kernel[0] * kernel[1]) ** -0.5
        weights = {"kernel": self.normal(filters, fan_in, *kernel, scale=scale)}
        if self.random.random() < 0.8:
            weights["bias"] = self.normal(filters, scale=0.3)
        options: dict[str, Any] = {"window": kernel, "stride": stride, "pad": pad}
        options |= {"dilation": dilation, "groups": groups}
        kind = "conv2d"
        if 0 < max(pad) < min(height, width) and self.random.random() < 0.15:
            kind, options = "conv2d_border", {**options, "border": "reflect"}
        return self.add(kind, x, shape=(filters, *size), weights=weights, **options)

    def pool(self, x: Node) -> Node:
        channels, height, width = x.shape
        kind = self.random.choice(("maxpool", "avgpool", "avgpool"))
        extra = {"counts_padding": False} if kind == "avgpool" else {"ceil": False}
        same = min(height, width) <= 4 or self.random.random() < 0.5
        kernel = (3, 3) if same else self.random.choice(((2, 2), (3, 2), (2, 3)))
        stride = 1 if same and kind == "avgpool" else 2
        pad, size = padding_of((height, width), kernel, stride, same)
        if kind == "maxpool" and not same and self.random.random() < 0.3:
            pad, size = ceiling_of((height, width), kernel, stride)
            extra = {"ceil": True}
        options = {"window": kernel, "stride": stride, "pad": pad, **extra}
        return self.add(kind, x, shape=(channels, *size), **options)

    def depthwise(self, x: Node) -> Node:
        channels, height, width = x.shape
        multiple = self.random.choice((1, 2, 2))
        window = self.random.choice(((3, 3), (2, 3)))
        stride = self.random.choice((1, 2))
        same = min(height, width) <= 5 or self.random.random() < 0.5
        pad, size = padding_of((height, width), window, stride, same)
        weights = {"kernel": self.normal(channels, multiple, *window, scale=0.4)}
        if self.random.random() < 0.8:
            weights["bias"] = self.normal(channels * multiple, scale=0.3)
        options = {"window": window, "stride": stride, "pad": pad, "multiple": multiple}
        return self.add(
            "depthwise", x, shape=(channels * multiple, *size), weights=weights, **options
        )

    def larger(self, x: Node) -> Node:
        """A smaller image, then a larger one: resized, shuffled, or convolved transposed."""
        while min(x.shape[1:]) > 7:
            x = self.activation(self.conv(x)) if self.random.random() < 0.5 else self.pool(x)
        how = self.random.choice((self.resize, self.pixel_shuffle, self.deconv))
        return how(x)

    def resize(self, x: Node) -> Node:
        channels, height, width = x.shape
        method = self.random.choice(("nearest", "bilinear"))
        coordinates = self.random.choice(COORDINATES[method])
        sizes = [range(n + 1, 2 * n + 1) for n in (height, width)]
        if method == "nearest":
            sizes = [
                [size for size in some if clear(n, size)]
                for n, some in zip((height, width), sizes, strict=True)
            ]
        size = tuple(self.random.choice(some) for some in sizes)
        options = {"method": method, "coordinates": coordinates, "before": (height, width)}
        return self.add("resize", x, shape=(channels, *size), **options)

    def pixel_shuffle(self, x: Node) -> Node:
        x = self.conv(x, filters=4 * self.random.randint(2, 3), keep=True)
        channels, height, width = x.shape
        shape = (channels // 4, 2 * height, 2 * width)
        blocks_first = self.random.random() < 0.5
        return self.add("pixel_shuffle", x, shape=shape, blocks_first=blocks_first)

    def deconv(self, x: Node) -> Node:
        channels, height, width = x.shape
        filters = self.size(3, 7)
        window = self.random.choice(((3, 3), (4, 4), (2, 3)))
        weights = {"kernel": self.normal(channels, filters, *window, scale=(2 * channels) ** -0.5)}
        if self.random.random() < 0.8:
            weights["bias"] = self.normal(filters, scale=0.3)
        crop, size = (0, 0, 0, 0), (2 * height - 2 + window[0], 2 * width - 2 + window[1])
        if self.random.random() < 0.7:
            size = (2 * height, 2 * width)
            crop, _ = padding_of(size, window, 2, same=True)
            if self.random.random() < 0.4:  # as torch's padding and output_padding would
                crop = (crop[1], crop[0], crop[3], crop[2])
        options = {"window": window, "stride": 2, "crop": crop}
        return self.add("deconv2d", x, shape=(filters, *size), weights=weights, **options)

    def lrn(self, x: Node) -> Node:
        size = self.random.choice((3, 5))
        options = {"alpha": self.random.choice((1e-2, 0.1)), "beta": 0.75}
        return self.add("lrn", x, size=size, k=self.random.choice((1.0, 2.0)), **options)

    def attended(self, x: Node) -> Node:
        """Positions now and then, self-attention, its residual branch, a norm now and then."""
        if self.random.random() < 0.5:
            steps, features = x.shape
            table = {"table": self.normal(steps + 2, features, scale=0.5)}
            x = self.add("positions", x, weights=table, offset=self.random.choice((0, 0, 2)))
        y = self.attention(x)
        if self.random.random() < 0.7:
            y = self.add("add", x, y)
        return self.random.choice((self.layernorm, self.rmsnorm, lambda y: y))(y)

    def attention(self, x: Node) -> Node:
        steps, features = x.shape
        heads = self.random.choice((1, 2, 3))
        fits = features % heads == 0 and self.random.random() < 0.6
        depth = features // heads if fits else self.random.randint(3, 5)
        weights = {
            name: self.normal(features, heads, depth, scale=features**-0.5)
            for name in ("query", "key", "value")
        }
        weights["output"] = self.normal(heads, depth, features, scale=(heads * depth) ** -0.5)
        options: dict[str, Any] = {"heads": heads, "factor": depth**-0.5, "fill": NEVER}
        options["causal"] = self.random.random() < 0.5
        return self.add("attention", x, weights=weights, **options)

    def quantile(self, x: Node) -> Node:
        quantiles, cosines = self.size(5, 9), self.size(4, 8)
        weights = {
            "kernel": self.normal(cosines, x.shape[0], scale=cosines**-0.5),
            "bias": self.normal(x.shape[0], scale=0.3),
        }
        return self.add("quantile", x, shape=(quantiles, *x.shape), weights=weights, offset=0.5)

    def batchnorm(self, x: Node) -> Node:
        n = x.shape[0]
        weights = {
            "gamma": self.positive(n),
            "beta": self.normal(n, scale=0.3),
            "mean": self.normal(n, scale=0.3),
            "variance": self.positive(n) / 2,
        }
        return self.add("batchnorm", x, weights=weights, epsilon=self.random.choice((1e-5, 1e-3)))

    def layernorm(self, x: Node) -> Node:
        n = x.shape[-1]
        weights = {"gamma": self.positive(n), "beta": self.normal(n, scale=0.3)}
        epsilon = self.random.choice((1e-5, 1e-3))
        return self.add("layernorm", x, weights=weights, epsilon=epsilon, axis=len(x.shape))

    def rmsnorm(self, x: Node) -> Node:
        weights = {"gamma": self.positive(x.shape[-1])}
        epsilon = self.random.choice((1e-5, 1e-3))
        return self.add("rmsnorm", x, weights=weights, epsilon=epsilon, axis=len(x.shape))

    def activation(self, x: Node) -> Node:
        kind = self.random.choice(ACTIVATIONS)
        options = {"slope": self.random.choice(SLOPES[kind])} if kind in SLOPES else {}
        return self.add(kind, x, **options)

    def concat(self, branches: list[Node]) -> Node:
        size = sum(node.shape[0] for node in branches)
        return self.add("concat", *branches, shape=(size, *branches[0].shape[1:]))

    def flatten(self, x: Node) -> Node:
        return self.add("flatten", x, shape=(int(np.prod(x.shape)),))

    def reduce(self, x: Node, axis: int | tuple[int, ...], shape: tuple[int, ...]) -> Node:
        kind = self.random.choice(("reduce_mean", "reduce_max", "reduce_sum"))
        return self.add(kind, x, shape=shape, axis=axis)

    def lstm(self, x: Node, sequence: bool) -> Node:
        steps, features = x.shape
        units = self.size(5, 10)
        weights = {
            "kernel": self.normal(4, features, units, scale=features**-0.5),
            "recurrent": self.normal(4, units, units, scale=units**-0.5),
            # Short mantissas: torch keeps two biases, whose sum is then exact in float32.
            "bias": self.normal(4, units, scale=0.3).astype(np.float16).astype(np.float32),
        }
        options: dict[str, Any] = {"sequence": sequence, "reverse": self.random.random() < 0.2}
        kind = "lstm"
        if not sequence and self.random.random() < 0.3:
            lengths = [steps, *(self.random.randint(1, steps) for _ in range(self.batch - 1))]
            kind, options["reverse"], options["lengths"] = "lstm_masked", False, lengths
        shape = (steps, units) if sequence else (units,)
        return self.add(kind, x, shape=shape, weights=weights, **options)

    def gru(self, x: Node, sequence: bool) -> Node:
        steps, features = x.shape
        units = self.size(5, 10)

        def bias() -> np.ndarray:  # short mantissas: sums of two are exact in float32
            return self.normal(3, units, scale=0.3).astype(np.float16).astype(np.float32)

        weights = {
            "kernel": self.normal(3, features, units, scale=features**-0.5),
            "recurrent": self.normal(3, units, units, scale=units**-0.5),
            "bias": bias(),
            "recurrent_bias": bias(),
        }
        options = {"sequence": sequence, "reverse": self.random.random() < 0.2}
        options["reset_after"] = self.random.random() < 0.6
        shape = (steps, units) if sequence else (units,)
        return self.add("gru", x, shape=shape, weights=weights, **options)

    def table(self, x: Node, rows: int, columns: int) -> Node:
        return self.add("reshape", self.dense(x, rows * columns), shape=(rows, columns))

    def table_sizes(self) -> tuple[int, int]:
        """Actions and atoms; now and then as many of one as of the other."""
        atoms = self.size(7, 15)
        return (atoms if self.random.random() < 0.2 else self.size(3, 9)), atoms


def _q_head(d: _Draft, x: Node) -> dict[str, str]:
    return {"q": d.dense(x, d.size(4, 9)).name}


def _policy_head(d: _Draft, x: Node) -> dict[str, str]:
    logits = d.dense(x, d.size(4, 12))
    kind = d.random.choice(("softmax", "log_softmax"))
    return {"policy": d.add(kind, logits, axis=1).name}


def _continuous_head(d: _Draft, x: Node) -> dict[str, str]:
    action = d.activation(d.dense(x, d.size(4, 12)))
    return {"action": d.add("scale", action, factor=d.random.choice((2.0, 0.4))).name}


def _dueling_head(d: _Draft, x: Node) -> dict[str, str]:
    advantage = d.dense(x, d.size(4, 9))
    value = d.dense(x, 1)
    return {"dueling_q": d.add("dueling", advantage, value, axis=1).name}


def _c51_head(d: _Draft, x: Node) -> dict[str, str]:
    actions, atoms = d.table_sizes()
    logits = d.table(x, actions, atoms)
    if d.random.random() < 0.6:
        logits = d.add("dueling", logits, d.dense(x, atoms), axis=1)
    probabilities = d.add("softmax", logits, axis=2)
    reach = d.random.choice((1.0, 3.0, 10.0))
    options = {"axis": 2, "low": -reach, "high": 2 * reach, "atoms": atoms}
    q = d.add("expectation", probabilities, shape=(actions,), **options)
    if d.random.random() < 0.3:
        return {"atoms_q": q.name, "atoms": probabilities.name}
    return {"atoms_q": q.name}


def _quantile_head(d: _Draft, x: Node) -> dict[str, str]:
    quantiles = d.dense(d.quantile(x), d.size(4, 9))
    if d.random.random() < 0.3:
        return {"quantiles": quantiles.name}
    return {"quantile_q": d.add("reduce_mean", quantiles, shape=quantiles.shape[1:], axis=1).name}


def _table_head(d: _Draft, x: Node) -> dict[str, str]:
    table = d.table_block(d.table(x, *d.table_sizes()))
    if d.random.random() < 0.5:
        axis = d.random.choice((1, 2))
        table = d.reduce(table, axis=axis, shape=(table.shape[2 - axis],))
    return {"table": table.name}


HEADS = (
    *(_q_head, _policy_head, _continuous_head),
    *(_dueling_head, _c51_head, _quantile_head, _table_head),
)
