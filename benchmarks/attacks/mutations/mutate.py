"""One change to a program at random, such as a port's author might make."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.attacks.mutations.in_numpy import NumPy
from benchmarks.attacks.mutations.program import Node, Program, evaluate


@dataclass(frozen=True)
class Mutation:
    """A changed program: the kind of the change, and what was changed where."""

    program: Program
    kind: str
    about: str


@dataclass
class _At:
    """A node that is to be changed, with what is known of the program's values."""

    program: Program
    node: Node
    values: Mapping[int, Any]
    random: np.random.Generator

    def off(self) -> float:
        """A factor off by 1e-6 to 1, up or down."""
        amount = float(np.exp(self.random.uniform(np.log(1e-6), 0)))
        return 1 + amount * float(self.random.choice([-0.5, 1]))

    def with_p(self, **p: Any) -> Program:
        return self.program.with_node(replace(self.node, p={**self.node.p, **p}))

    def with_reads(self, *reads: int) -> Program:
        return self.program.with_node(replace(self.node, reads=reads))

    def followed_by(self, op: str, p: Mapping[str, Any]) -> Program:
        """The program with an operation between a node and all that read it."""
        new = Node(max(node.id for node in self.program.nodes) + 1, op, (self.node.id,), p)
        nodes: list[Node] = []
        for node in self.program.nodes:
            reads = tuple(new.id if one == self.node.id else one for one in node.reads)
            nodes.append(replace(node, reads=reads))
            if node.id == self.node.id:
                nodes.append(new)
        outputs = tuple(new.id if one == self.node.id else one for one in self.program.outputs)
        return replace(self.program, nodes=tuple(nodes), outputs=outputs)

    def pick(self, things: Any) -> Any:
        things = list(things)
        return things[int(self.random.integers(len(things)))] if things else None


Change = tuple[Program, str] | None
_KINDS: dict[str, Callable[[_At], Change]] = {}


def _kind(change: Callable[[_At], Change]) -> Callable[[_At], Change]:
    _KINDS[change.__name__.strip("_").replace("_", "-")] = change
    return change


_NUMBERS = (
    "slope",
    "alpha",
    "by",
    "low",
    "high",
    "at",
    "rate",
    "bound",
    "factor",
    "share",
    "scale",
)
_WEIGHTS = ("w", "b", "gain", "bias", "mean", "var", "table", "wq", "wk", "wv")


@_kind
def _constant(at: _At) -> Change:
    key = at.pick(key for key in _NUMBERS if key in at.node.p)
    if key is None:
        return None
    before, after = at.node.p[key], at.node.p[key] * at.off()
    return at.with_p(**{key: after}), f"{key} {before:g} -> {after:.9g}"


@_kind
def _epsilon(at: _At) -> Change:
    if "eps" not in at.node.p:
        return None
    after = at.node.p["eps"] * float(at.pick([0, 0.1, 0.5, 2, 10, 100]))
    return at.with_p(eps=after), f"eps {at.node.p['eps']:g} -> {after:g}"


@_kind
def _axis(at: _At) -> Change:
    if "axis" not in at.node.p:
        return None
    rank = at.values[at.node.reads[0]].ndim
    axis = at.pick(i for i in range(rank) if i != at.node.p["axis"])
    return (at.with_p(axis=axis), f"axis {at.node.p['axis']} -> {axis}") if rank > 1 else None


@_kind
def _index(at: _At) -> Change:
    p = at.node.p
    if "start" in p:
        by = at.pick([-1, 1])
        moved = {"start": p["start"] + by, "stop": p["stop"] + by}
        length = at.values[at.node.reads[0]].shape[p["axis"]]
        if moved["start"] < 0 or moved["stop"] > length:
            return None
        return at.with_p(**moved), f"cut from {moved['start']}"
    if "index" in p:
        index, place = list(p["index"]), int(at.random.integers(len(p["index"])))
        length = at.values[at.node.reads[0]].shape[p["axis"]]
        index[place] = (index[place] + 1) % length
        return at.with_p(index=index), f"index {p['index']} -> {index}"
    if "shift" in p:
        return at.with_p(shift=p["shift"] + 1), "shifted by one more"
    if "before" in p:
        return at.with_p(before=p["after"], after=p["before"]), "padded on the other side"
    if "ddof" in p:
        return at.with_p(ddof=1 - p["ddof"]), f"ddof {1 - p['ddof']}"
    return None


def _weight_of(at: _At) -> tuple[str, Any] | None:
    key = at.pick(key for key in _WEIGHTS if at.node.p.get(key) is not None)
    return None if key is None else (key, at.node.p[key])


@_kind
def _one_weight(at: _At) -> Change:
    found = _weight_of(at)
    if found is None:
        return None
    key, array = found
    place, factor = int(at.random.integers(array.size)), at.off()
    changed = array.copy()
    changed.flat[place] *= np.float32(factor)
    return at.with_p(**{key: changed}), f"{key}[{place}] times {factor:.9g}"


@_kind
def _all_weights(at: _At) -> Change:
    found = _weight_of(at)
    if found is None:
        return None
    factor = at.off()
    return at.with_p(**{found[0]: found[1] * np.float32(factor)}), f"{found[0]} times {factor:.9g}"


@_kind
def _weight_transposed(at: _At) -> Change:
    keys = [
        key
        for key in ("w", "wq", "wk", "wv")
        if np.ndim(at.node.p.get(key)) == 2 and len(set(at.node.p[key].shape)) == 1
    ]
    key = at.pick(keys)
    if key is None:
        return None
    return at.with_p(**{key: np.ascontiguousarray(at.node.p[key].T)}), f"{key} transposed"


@_kind
def _weight_order(at: _At) -> Change:
    found = _weight_of(at)
    if found is None:
        return None
    key, array = found
    axis = int(at.random.integers(array.ndim))
    two = at.random.permutation(array.shape[axis])[:2]
    order = np.arange(array.shape[axis])
    order[two] = order[two[::-1]]
    return at.with_p(**{key: np.take(array, order, axis)}), f"{key}: {two} exchanged, axis {axis}"


@_kind
def _weight_rounded(at: _At) -> Change:
    found = _weight_of(at)
    if found is None:
        return None
    key, array = found
    half = array.astype(np.float16).astype(np.float32)
    return at.with_p(**{key: half}), f"{key} rounded to float16 beforehand"


@_kind
def _bias_missing(at: _At) -> Change:
    if at.node.op != "linear" or at.node.p["b"] is None:
        return None
    return at.with_p(b=None), "no bias"


@_kind
def _weights_swapped(at: _At) -> Change:
    pairs = [
        (a, b)
        for a in _WEIGHTS
        for b in _WEIGHTS
        if a < b and np.shape(at.node.p.get(a)) == np.shape(at.node.p.get(b)) != ()
    ]
    two = at.pick(pairs)
    if two is None or two in (("bias", "var"), ("gain", "var"), ("mean", "var")):
        return None
    a, b = two
    return at.with_p(**{a: at.node.p[b], b: at.node.p[a]}), f"{a} and {b} exchanged"


@_kind
def _swapped_operands(at: _At) -> Change:
    if len(at.node.reads) != 2:
        return None
    return at.with_reads(*reversed(at.node.reads)), "operands exchanged"


@_kind
def _wrong_source(at: _At) -> Change:
    place = int(at.random.integers(len(at.node.reads)))
    now = at.node.reads[place]
    earlier = []
    for node in at.program.nodes:
        if node.id == at.node.id:
            break
        if node.id != now and at.values[node.id].shape == at.values[now].shape:
            earlier.append(node.id)
    other = at.pick(earlier)
    if other is None or at.values[other].dtype.kind != at.values[now].dtype.kind:
        return None
    reads = tuple(other if i == place else one for i, one in enumerate(at.node.reads))
    return at.with_reads(*reads), f"reads {other} instead of {now}"


@_kind
def _dropped(at: _At) -> Change:
    same = [one for one in at.node.reads if at.values[one].shape == at.values[at.node.id].shape]
    if not same or at.values[same[0]].dtype.kind != "f":
        return None
    node = Node(at.node.id, "same", (at.pick(same),))
    return at.program.with_node(node), f"without {at.node.op}"


_SIBLINGS = (
    *(("gelu", "gelu_tanh"), ("relu", "silu"), ("silu", "gelu"), ("tanh", "sigmoid")),
    *(("max", "mean"), ("sum", "mean"), ("softmax", "log_softmax"), ("add", "sub")),
    *(("max2", "min2"), ("max", "min"), ("mul", "gate"), ("softplus", "relu"), ("sin", "tanh")),
    *(("mean", "logsumexp"), ("max", "logsumexp"), ("abs", "relu"), ("add", "max2")),
)


@_kind
def _other_operation(at: _At) -> Change:
    names = [b if at.node.op == a else a for a, b in _SIBLINGS if at.node.op in (a, b)]
    name = at.pick(names)
    if name is None:
        return None
    return at.program.with_node(replace(at.node, op=name)), f"{at.node.op} -> {name}"


@_kind
def _rounded(at: _At) -> Change:
    if at.values[at.node.id].dtype.kind != "f" or at.node.op == "input":
        return None
    kind = at.pick(["float16", "bfloat16"])
    return at.followed_by("rounded", {"kind": kind}), f"rounded to {kind} and back"


@_kind
def _one_element(at: _At) -> Change:
    value = at.values[at.node.id]
    if value.dtype.kind != "f":
        return None
    factor, off = np.ones(value.shape, np.float32), at.off()
    place = int(at.random.integers(value.size))
    factor.flat[place] = off
    return at.followed_by("touched", {"factor": factor}), f"element {place} times {off:.9g}"


@_kind
def _clipped(at: _At) -> Change:
    value = at.values[at.node.id]
    if value.dtype.kind != "f":
        return None
    most = float(np.abs(value).max()) * float(at.random.uniform(0.8, 0.99999))
    return at.followed_by("clip", {"low": -most, "high": most}), f"clipped at {most:g}"


@_kind
def _turned(at: _At) -> Change:
    value = at.values[at.node.id]
    axes = [i for i in range(1, value.ndim) if value.shape[i] > 1]
    if not axes or value.dtype.kind != "f":
        return None
    axis = at.pick(axes)
    return at.followed_by("flip", {"axis": axis}), f"axis {axis} reversed"


@_kind
def _axes_exchanged(at: _At) -> Change:
    if at.node.id not in at.program.outputs or at.values[at.node.id].ndim != 3:
        return None
    return at.followed_by("transpose", {"axes": (0, 2, 1)}), "output with axes exchanged"


@_kind
def _mask(at: _At) -> Change:
    if "mask" not in at.node.p:
        return None
    if at.random.random() < 0.5:
        return at.with_p(fill=float(at.pick([-1.0, -10.0, 0.0]))), "a mask that is not low enough"
    return at.with_p(mask=np.roll(at.node.p["mask"], 1)), "another element is hidden"


def mutate(
    program: Program, values: Mapping[int, Any], random: np.random.Generator
) -> Mutation | None:
    """A change of a random kind at a random node; None if none was found.

    Args:
        values: of the program's nodes, for their shapes and sizes.
    """
    nodes = [node for node in program.nodes if node.op != "input" and node.id in program.used]
    for name in random.permutation(list(_KINDS)):
        for place in random.permutation(len(nodes)):
            node = nodes[place]
            changed = _KINDS[name](_At(program, node, values, random))
            if changed is not None and _runs(changed[0]):
                about = f"node {node.id}, {node.op}: {changed[1]}"
                return Mutation(changed[0], str(name), about)
    return None


def _runs(program: Program) -> bool:
    try:
        with np.errstate(all="ignore"):
            evaluate(program, NumPy(), program.inputs)
    except (ValueError, IndexError, ZeroDivisionError):  # shapes that do not fit any more
        return False
    return True
