"""Programs drawn at random: a graph of operations with parameters of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from benchmarks.attacks.mutations.vocabulary import WAYS

_LARGEST = 1e4
_SMALLEST = 1e-4


@dataclass(frozen=True)
class Node:
    """An operation; an input of the program where `op` is `"input"`.

    Attributes:
        id: stays the same in a mutated program.
        reads: ids of other nodes.
        p: its parameters: numbers, axes, and arrays of weights.
    """

    id: int
    op: str
    reads: tuple[int, ...] = ()
    p: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Program:
    """Nodes in an order in which they can run, inputs first."""

    nodes: tuple[Node, ...]
    outputs: tuple[int, ...]
    inputs: tuple[Any, ...]

    def with_node(self, node: Node) -> Program:
        """The program with another node in the place of the one with its id."""
        nodes = tuple(node if one.id == node.id else one for one in self.nodes)
        return replace(self, nodes=nodes)

    @property
    def used(self) -> set[int]:
        """Ids of the nodes that lead to an output."""
        found = set(self.outputs)
        for node in reversed(self.nodes):
            if node.id in found:
                found.update(node.reads)
        return found


Layouts = Mapping[int, Sequence[int]]
Ways = Callable[[Node], int]


def evaluate(
    program: Program,
    xp: Any,
    inputs: Sequence[Any],
    way: Ways = lambda node: 0,
    layouts: Layouts | None = None,
) -> dict[int, Any]:
    """The values of all nodes in a backend.

    Args:
        way: which of an operation's ways a node is written in.
        layouts: for some nodes the order of axes in which their value is kept.
    """
    values: dict[int, Any] = {}
    kept = layouts or {}

    def read(one: int) -> Any:
        axes = kept.get(one)
        if axes is None:
            return values[one]
        return xp.transpose(values[one], tuple(int(i) for i in np.argsort(axes)))

    given = iter(inputs)
    for node in program.nodes:
        if node.op == "input":
            values[node.id] = next(given)
            continue
        ways = WAYS[node.op]
        value = ways[way(node) % len(ways)](xp, [read(one) for one in node.reads], node.p)
        axes = kept.get(node.id)
        values[node.id] = value if axes is None else xp.transpose(value, tuple(axes))
    return {one: read(one) for one in values}


# --- drawing --------------------------------------------------------------------------------------


class Draw:
    """Draws one program; values are computed on the way, so that every number stays sensible."""

    def __init__(self, random: np.random.Generator, xp: Any) -> None:
        self._random, self._xp = random, xp
        self.nodes: list[Node] = []
        self.values: list[Any] = []
        self._inputs: list[Any] = []

    def program(self) -> Program:
        random = self._random
        sizes = [int(one) for one in random.permutation(np.arange(2, 8))]
        rank = int(random.choice([2, 3, 3]))
        self._input(random.standard_normal(sizes[:rank]).astype(np.float32))
        if random.random() < 0.15:
            self._input(random.integers(0, sizes[4], sizes[:2]))
        count = (
            int(random.integers(5, 26)) if random.random() < 0.8 else int(random.integers(26, 41))
        )
        tries = 0
        while len(self.nodes) < count and tries < 20 * count:
            tries += 1
            self._grow(sizes)
        floats = [
            i
            for i, n in enumerate(self.nodes)
            if n.op != "input" and self.values[i].dtype.kind == "f"
        ]
        extra = [int(i) for i in random.choice(floats, int(random.integers(0, 3)))]
        outputs = tuple(dict.fromkeys([*extra, floats[-1]]))
        whole = Program(tuple(self.nodes), outputs, tuple(self._inputs))
        used = whole.used
        nodes = tuple(n for n in self.nodes if n.id in used or n.op == "input")
        return replace(whole, nodes=nodes)

    def _input(self, array: Any) -> None:
        self.nodes.append(Node(len(self.nodes), "input"))
        self.values.append(array.astype(np.float64) if array.dtype.kind == "f" else array)
        self._inputs.append(array)

    def _grow(self, sizes: Sequence[int]) -> None:
        names, shares = _NAMES
        name = str(self._random.choice(names, p=shares))
        made = _MAKERS[name](self, name, sizes)
        if made is None:
            return
        reads, p = made
        with np.errstate(all="ignore"):
            value = WAYS[name][0](self._xp, [self.values[i] for i in reads], p)
        if not np.isfinite(value).all() or value.size < 2 or value.size > 3000:
            return
        size = float(np.abs(value).max())
        if not _SMALLEST < size < _LARGEST or float(np.ptp(value)) < 1e-3 * size:
            return
        self.nodes.append(Node(len(self.nodes), name, tuple(reads), p))
        self.values.append(value)

    # what the makers below ask for

    def floating(self, *ranks: int) -> int | None:
        """A node with floating-point values, the last ones more often."""
        known = [
            i
            for i, value in enumerate(self.values)
            if value.dtype.kind == "f" and (not ranks or value.ndim in ranks)
        ]
        if not known:
            return None
        late = known[-3:] if self._random.random() < 0.75 else known
        return int(self._random.choice(late))

    def alike(self, one: int) -> int | None:
        """Another node of the same shape."""
        known = [
            i
            for i, value in enumerate(self.values)
            if i != one and value.shape == self.values[one].shape and value.dtype.kind == "f"
        ]
        return int(self._random.choice(known)) if known else None

    def axis(self, one: int, least: int = 1) -> int | None:
        """An axis behind the batch's with at least two elements."""
        shape = self.values[one].shape
        axes = [i for i in range(least, len(shape)) if shape[i] > 1]
        return int(self._random.choice(axes)) if axes else None

    def number(self, low: float, high: float) -> float:
        """A number of few digits, evenly on a logarithmic scale."""
        drawn = float(np.exp(self._random.uniform(np.log(low), np.log(high))))
        return float(f"{drawn:.3g}")

    def normal(self, *shape: int, scale: float = 1.0) -> Any:
        return (scale * self._random.standard_normal(shape)).astype(np.float32)

    def whole(self, low: int, high: int) -> int:
        return int(self._random.integers(low, high))

    def chance(self, share: float) -> bool:
        return bool(self._random.random() < share)


Made = tuple[list[int], dict[str, Any]] | None


def _unary(draw: Draw, name: str, sizes: Sequence[int]) -> Made:
    one = draw.floating()
    assert one is not None
    spread = float(np.abs(draw.values[one]).max())
    p: dict[str, Any] = {
        "leaky": lambda: {"slope": draw.number(0.01, 0.4)},
        "elu": lambda: {"alpha": draw.number(0.3, 2)},
        "scale": lambda: {"by": draw.number(0.1, 5)},
        "shift": lambda: {"by": draw.number(0.01, 3)},
        "clip": lambda: {"low": -spread * draw.number(0.3, 0.9), "high": spread * 0.8},
        "log_eps": lambda: {"eps": draw.number(1e-8, 1e-1)},
        "rsqrt_eps": lambda: {"eps": draw.number(1e-3, 1)},
        "softsign": lambda: {"by": draw.number(0.3, 3)},
        "softcap": lambda: {"at": draw.number(1, 10)},
        "exp_neg": lambda: {"rate": draw.number(0.05, 0.5)},
        "above": lambda: {"bound": draw.number(0.05, 0.8), "factor": draw.number(0.2, 0.9)},
    }.get(name, dict)()
    return [one], p


def _binary(draw: Draw, name: str, sizes: Sequence[int]) -> Made:
    one = draw.floating()
    other = None if one is None else draw.alike(one)
    if one is None or other is None:
        return None
    p: dict[str, Any] = {}
    if name == "div":
        p = {"by": draw.number(0.2, 2)}
    if name == "mix":
        p = {"share": draw.number(0.05, 0.95)}
    return [one, other], p


def _concat(draw: Draw, name: str, sizes: Sequence[int]) -> Made:
    one = draw.floating()
    other = None if one is None else draw.alike(one)
    axis = None if one is None else draw.axis(one)
    if other is None or axis is None:
        return None
    return [one, other], {"axis": axis}


def _linear(draw: Draw, name: str, sizes: Sequence[int]) -> Made:
    one = draw.floating()
    assert one is not None
    if draw.values[one].ndim < 2:
        return None
    rows = draw.values[one].shape[-1]
    columns = rows if draw.chance(0.35) else int(sizes[draw.whole(1, 6)])
    bias = draw.normal(columns) if draw.chance(0.6) else None
    return [one], {"w": draw.normal(rows, columns, scale=rows**-0.5), "b": bias}


def _norm(draw: Draw, name: str, sizes: Sequence[int]) -> Made:
    one = draw.floating()
    assert one is not None
    width = draw.values[one].shape[-1]
    p: dict[str, Any] = {"gain": draw.normal(width), "bias": draw.normal(width)}
    p["eps"] = draw.number(1e-6, 1e-2)
    if name == "norm":
        p |= {"mean": draw.normal(width), "var": np.abs(draw.normal(width)) + np.float32(0.05)}
    return ([one], p) if width > 2 else None


def _over_axis(draw: Draw, name: str, sizes: Sequence[int]) -> Made:
    one = draw.floating()
    axis = None if one is None else draw.axis(one)
    if one is None or axis is None:
        return None
    p: dict[str, Any] = {"axis": axis}
    length = draw.values[one].shape[axis]
    if name in ("variance", "standardise"):
        p["ddof"] = draw.whole(0, 2)
    if name in ("standardise", "l2norm"):
        p["eps"] = draw.number(1e-8, 1e-3)
    if name == "cut":
        if length < 3:
            return None
        p["start"] = draw.whole(0, length - 2)
        p["stop"] = draw.whole(p["start"] + 2, length + 1)
    if name == "take":
        p["index"] = [draw.whole(0, length) for _ in range(draw.whole(2, length + 1))]
    if name == "pad":
        p |= {"before": draw.whole(0, 2), "after": 1, "value": float(draw.whole(0, 2))}
    if name == "roll":
        p["shift"] = draw.whole(1, length)
    return [one], p


def _masked_softmax(draw: Draw, name: str, sizes: Sequence[int]) -> Made:
    one = draw.floating()
    assert one is not None
    width = draw.values[one].shape[-1]
    if width < 3:
        return None
    mask = np.ones(width, bool)
    mask[draw.whole(0, width)] = False
    return [one], {"mask": mask, "fill": float([-1e9, -1e4, -np.inf][draw.whole(0, 3)])}


def _attention(draw: Draw, name: str, sizes: Sequence[int]) -> Made:
    one = draw.floating(3)
    if one is None:
        return None
    width, inner = draw.values[one].shape[-1], int(sizes[5])
    p: dict[str, Any] = {
        key: draw.normal(width, inner, scale=width**-0.5) for key in ("wq", "wk", "wv")
    }
    return [one], {**p, "scale": draw.number(0.2, 1)}


def _conv1d(draw: Draw, name: str, sizes: Sequence[int]) -> Made:
    one = draw.floating(3)
    if one is None or draw.values[one].shape[1] < 3:
        return None
    width = draw.values[one].shape[-1]
    return [one], {"w": draw.normal(2, width, int(sizes[4]), scale=(2 * width) ** -0.5)}


def _embed(draw: Draw, name: str, sizes: Sequence[int]) -> Made:
    known = [i for i, value in enumerate(draw.values) if value.dtype.kind == "i"]
    return (known[:1], {"table": draw.normal(int(sizes[4]), int(sizes[2]))}) if known else None


def _transpose(draw: Draw, name: str, sizes: Sequence[int]) -> Made:
    one = draw.floating(3)
    return None if one is None else ([one], {"axes": (0, 2, 1)})


def _flatten(draw: Draw, name: str, sizes: Sequence[int]) -> Made:
    one = draw.floating(3)
    return None if one is None or draw.values[one].size > 300 else ([one], {})


Maker = Callable[[Draw, str, Sequence[int]], Made]
_VOCABULARY: dict[Maker, tuple[float, str]] = {
    _unary: (
        1.0,
        "tanh sigmoid abs sin neg square relu silu gelu gelu_tanh softplus leaky elu scale shift "
        "clip log_eps rsqrt_eps softsign softcap exp_neg above",
    ),
    _binary: (2.0, "add sub mul div max2 min2 mix gate"),
    _concat: (2.0, "concat"),
    _linear: (12.0, "linear"),
    _norm: (3.0, "norm layer_norm"),
    _over_axis: (
        1.5,
        "standardise l2norm softmax log_softmax logsumexp mean sum max min cumsum variance cut "
        "take flip pad roll",
    ),
    _masked_softmax: (1.5, "masked_softmax"),
    _attention: (3.0, "attention"),
    _conv1d: (3.0, "conv1d"),
    _embed: (3.0, "embed"),
    _transpose: (1.5, "transpose"),
    _flatten: (0.7, "flatten"),
}
_MAKERS = {name: make for make, (_, names) in _VOCABULARY.items() for name in names.split()}
_SHARES = [share for share, names in _VOCABULARY.values() for _ in names.split()]
_NAMES = (list(_MAKERS), [share / sum(_SHARES) for share in _SHARES])
