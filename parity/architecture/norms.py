"""Norms in small operations, in a layer of their own or in the middle of a larger one.

Whatever their spelling they are `x / sqrt(variance + epsilon)`, with a mean taken off, a scale and
a shift. What is computed from that root on is multiplied out into terms, and the terms say what
each tensor is: a factor beside x is the scale, one of the term that is taken off the mean, and a
term without the root is the shift.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from parity.architecture.graph import Graph
from parity.architecture.step import ADDITIONS, STEPS, Step, axes_of
from parity.tape import Op, Tape
from parity.walk_once import Once

_QUOTIENTS = frozenset(("divide", "divide_from", "reciprocal"))
_OPERANDS = {  # of what is multiplied out
    **dict.fromkeys((*ADDITIONS, "subtract", "multiply"), 2),
    **{"negate": 1, "multiply_add": 3},
}
_ONE = frozenset(("batch_norm", "layer_norm"))

_X, _ROOT = -1, -2  # in a term, beside the values that are its other factors
# Signs and factors of a value that is multiplied out; none where it is no sum of a few products.
_Terms = list[tuple[int, tuple[int, ...]]]


@dataclass
class _Statistic:
    """What a variance is of.

    Attributes:
        x: None where the variance is a weight.
        width: how many features are scaled; None where that is not known.
        centred: whether the mean is taken off.
        start: x before it was reshaped into groups; None where it was not.
    """

    kind: str
    x: int | None
    width: int | None
    centred: bool
    parameters: dict[str, Any] = field(default_factory=dict)
    start: int | None = None


def norms(graph: Graph) -> Iterator[Step]:
    """Norms by their roots, which nothing else has: `sqrt(variance + epsilon)`."""
    for root in graph.tape.ops:
        power = _power(graph.tape, root)
        added = graph.tape.producer(root.inputs[0]) if power else None
        if added is None or added.word not in ADDITIONS or root.index in graph.owner:
            continue
        epsilon, values = graph.scalar(added), graph.tape.values
        # a variance of one channel is a single number, too
        variance = [v for v in added.inputs if values[v].size > 1 or values[v].kind != "constant"]
        if epsilon is None or not 0 < epsilon < 0.1 or len(variance) != 1:
            continue
        statistic = _statistic(graph, variance[0])
        step = _Norm(graph, root, power < 0, statistic).step() if statistic is not None else None
        if step is not None:
            step.parameters["epsilon"] = epsilon
            if statistic is not None and statistic.x is None:
                step.operands["running variance"] = variance[0]
            yield step


def absorb_affine(graph: Graph, step: Step) -> None:
    """A scale and a shift right behind a norm of one operation that has none belong to it."""
    tape, values = graph.tape, graph.tape.values
    one = [op for op in map(tape.ops.__getitem__, step.ops) if op.word in _ONE]
    own = [values[tape.before_moves(v)] for op in one for v in op.inputs[1:]]
    if not one or step.kind not in _ONE or any(value.kind == "parameter" for value in own):
        return
    width = step.parameters.get("normalised", max((value.size for value in own), default=0))
    at = tape.ops[step.ops[-1]].outputs[0]
    for role, words in (("gamma", {"multiply"}), ("beta", ADDITIONS)):
        op = graph.only_reader(at)
        scaled = [v for v in op.inputs if graph.is_static(v)] if op is not None else []
        if op is None or op.index in graph.owner or op.word not in words or len(scaled) != 1:
            continue
        leaf = values[tape.before_moves(scaled[0])]
        if leaf.size == width and (leaf.size > 1 or leaf.kind != "constant"):
            graph.owner[op.index] = step
            step.ops = (*step.ops, op.index)
            step.operands[role] = scaled[0]
            at = op.outputs[0]


def _power(tape: Tape, op: Op) -> float:
    """Of a root 0.5 or -0.5; 0 where it is none."""
    if op.word in ("sqrt", "rsqrt"):
        return 0.5 if op.word == "sqrt" else -0.5
    given = tape.setting(op, "scalar")
    return given if op.word == "power" and given in (0.5, -0.5) else 0.0


def _statistic(graph: Graph, variance: int) -> _Statistic | None:
    values, tape = graph.tape.values, graph.tape
    if graph.is_static(variance):
        leaf = values[tape.before_moves(variance)]
        return _Statistic("batch_norm", None, leaf.size, False) if leaf.op < 0 else None
    found = _mean_of_squares(graph, variance)
    if found is None:
        return None
    mean, x, centred = found
    shape = values[x].shape
    axes = axes_of(tape, mean, len(shape))
    if not axes:
        return None
    if 0 in axes:
        width = math.prod(n for axis, n in enumerate(shape) if axis not in axes)
        return _Statistic("batch_norm", x, width, True) if centred else None
    move = next(graph.moves_before(x), None)
    if (
        move is not None
        and centred
        and _splits_channels(move.word, values[move.inputs[0]].shape, shape)
    ):
        kept = [n for axis, n in enumerate(shape) if axis and axis not in axes]
        groups = {"groups": kept[0]} if len(kept) == 1 else {}
        return _Statistic("group_norm", x, None, True, groups, move.inputs[0])
    if axes != tuple(range(len(shape) - len(axes), len(shape))):
        return None
    width = math.prod(shape[a] for a in axes)
    kind = "layer_norm" if centred else "rms_norm"
    return _Statistic(kind, x, width, centred, {"normalised": width})


def _splits_channels(word: str, before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    """Whether an operation splits channels into groups, and no rows that had been put together."""
    return word == "reshape" and len(after) > len(before) and after[:1] == before[:1]


def _mean_of_squares(graph: Graph, variance: int) -> tuple[Op, int, bool] | None:
    """What takes the mean, of the squares of what, and whether its own mean is taken off."""
    op = graph.source(variance)
    if op is None:
        return None
    if op.word in ("variance", "variance_and_mean"):
        return op, op.inputs[0], True
    if op.word == "mean":
        squared = _squared_there(graph, op.inputs[0])
        return None if squared is None else (op, *squared)
    # the mean of squares, less the square of the mean
    mean = graph.source(op.inputs[0]) if op.word == "subtract" and len(op.inputs) == 2 else None
    if mean is None or mean.word != "mean":
        return None
    x, other = _squared(graph, mean.inputs[0]), _squared(graph, op.inputs[1])
    own = graph.source(other) if other is not None else None
    if x is None or own is None or own.word != "mean" or own.inputs[0] != x:
        return None
    return mean, x, True


def _squared(graph: Graph, value: int) -> int | None:
    op = graph.source(value)
    if op is None:
        return None
    twice = op.word == "multiply" and len(op.inputs) == 2 and op.inputs[0] == op.inputs[1]
    two = op.word == "power" and graph.scalar(op) == 2
    return op.inputs[0] if op.word == "square" or twice or two else None


def _squared_there(graph: Graph, value: int) -> tuple[int, bool] | None:
    """Of what the square is, and whether a mean was taken off before."""
    op = graph.tape.producer(value)
    if op is not None and op.word == "squared_difference":
        return op.inputs[0], True
    squared = _squared(graph, value)
    if squared is None:
        return None
    inner = graph.tape.producer(squared)
    if inner is not None and inner.word == "subtract" and len(inner.inputs) == 2:
        mean = graph.source(inner.inputs[1])
        if mean is not None and mean.word in ("mean", "variance_and_mean"):
            return inner.inputs[0], True
    return squared, False


class _Norm:
    """What is computed from one root on."""

    def __init__(self, graph: Graph, root: Op, inverse: bool, statistic: _Statistic) -> None:
        self._graph, self._tape = graph, graph.tape
        self._root, self._inverse, self._of = root, inverse, statistic
        self._x = statistic.x
        self._after = set(root.outputs)
        self._known: dict[int, _Terms] = {}

    def step(self) -> Step | None:
        """The norm as far as it goes; None where what follows is none."""
        found: tuple[Op, dict[str, int]] | None = None
        for op in self._following():
            if found is not None and self._graph.only_reader(found[0].outputs[0]) is not op:
                continue
            roles = self._roles(self._terms(op.outputs[0]))
            if roles is not None:
                found = op, roles
        if found is None or self._x is None:
            return None
        ops = self._between(found[0])
        if ops is None:
            return None
        first = self._tape.ops[ops[0]]
        return Step(self._of.kind, first.site, ops, dict(self._of.parameters), operands=found[1])

    def _following(self) -> list[Op]:
        """The live operations that compute with the root, in the order of the tape."""
        todo, found = Once(self._root.outputs), dict[int, Op]()
        for value in todo:
            for op in (self._tape.ops[index] for index in self._tape.consumers[value]):
                found[op.index] = op
                if op.role == "move" or op.word in _QUOTIENTS or op.word in _OPERANDS:
                    self._after.update(op.outputs)
                    todo.add(op.outputs)
        live = (found[index] for index in sorted(found) if index in self._graph.live)
        return [op for op in live if op.role != "move"]

    def _between(self, last: Op) -> tuple[int, ...] | None:
        """The live operations from x to the last one; None where they read more than x."""
        start = self._x if self._of.start is None else self._of.start
        found, todo = set[int](), Once(last.outputs)
        for value in todo:
            op = self._tape.producer(value)
            if value == start or self._graph.is_static(value):
                continue
            if op is None or op.index in self._graph.owner or op.word in STEPS:
                return None
            found.add(op.index)
            todo.add(op.inputs)
        return tuple(sorted(found))

    # --- terms -----------------------------------------------------------------------------------

    def _terms(self, value: int) -> _Terms:
        if value not in self._known:
            self._known[value] = self._found(value)
        return self._known[value]

    def _found(self, value: int) -> _Terms:
        if value == self._x:
            return [(1, (_X,))]
        if value in self._root.outputs:
            return [(1, (_ROOT,))] if self._inverse else []
        before_root, static = value not in self._after, self._graph.is_static(value)
        if self._x is None and before_root and not static:
            return self._input(value)
        op = self._tape.producer(value)
        if op is not None and op.role == "move":
            own = self._graph.live_inputs(op) or op.inputs
            inside = self._after.isdisjoint(op.outputs) and static
            if len(own) == 1 and not inside:
                return self._terms(own[0])
        if static and before_root:
            moved = self._tape.before_moves(value)
            made, leaf = self._tape.producer(moved), self._tape.values[moved]
            if made is not None and made.word == "negate":
                return _negative(self._terms(made.inputs[0]))
            return [(1, (value,))] if leaf.size > 1 or leaf.kind != "constant" else []
        made = self._tape.producer(self._x) if self._x is not None else None
        later = op is not None and (made is None or op.index > made.index)
        found = self._multiplied_out(op) if op is not None and later else []
        if not found and before_root:
            return [(1, (value,))]
        return found if len(found) <= 3 else []

    def _input(self, value: int) -> _Terms:
        """Where only weights show the norm: x is what they are taken off, and multiplied with.

        What was only moved before, as by a flatten, is left before it.
        """
        op = self._graph.source(value)
        own = self._graph.live_inputs(op) if op is not None else []
        if op is not None and len(op.inputs) == 2 and len(own) == 1:
            (other,) = set(op.inputs) - set(own)
            sign = next((sign for sign, _ in self._terms(other)), 1)
            first = op.word == "subtract" and own[0] == op.inputs[0]
            if first or (op.word in ADDITIONS and sign < 0):
                self._x = own[0]
                return self._multiplied_out(op)
            if op.word == "multiply":
                return self._multiplied_out(op)
        self._x = value
        return [(1, (_X,))]

    def _multiplied_out(self, op: Op) -> _Terms:
        word = op.word
        if self._tape.setting(op, "factor", 1) not in (1, None):
            return []
        if word in _QUOTIENTS:
            return self._divided(op)
        if len(op.inputs) != _OPERANDS.get(word):
            return []
        terms = [self._terms(value) for value in op.inputs]
        if word == "negate":
            return _negative(terms[0])
        if word == "multiply":
            return _product(*terms)
        if word == "multiply_add":
            return _sum(terms[0], _product(terms[1], terms[2]))
        return _sum(terms[0], _negative(terms[1]) if word == "subtract" else terms[1])

    def _divided(self, op: Op) -> _Terms:
        if self._inverse or self._graph.source(op.inputs[-1]) is not self._root:
            return []
        if len(op.inputs) == 2 and self._tape.values[op.inputs[0]].size > 1:
            return _product(self._terms(op.inputs[0]), [(1, (_ROOT,))])
        is_of_one = op.word == "reciprocal" or self._graph.scalar(op) == 1
        return [(1, (_ROOT,))] if is_of_one else []

    def _roles(self, terms: _Terms) -> dict[str, int] | None:
        """What each tensor is; None where the terms are no norm, or not all of one."""
        signed = [(sign, set(own)) for sign, own in terms]
        scaled = [(sign, one) for sign, one in signed if _X in one]
        means = [(sign, one) for sign, one in signed if _ROOT in one and _X not in one]
        shifts = [(sign, one) for sign, one in signed if not one & {_X, _ROOT}]
        once = all(len(own) == len(set(own)) for _, own in terms)
        if not once or len(scaled) != 1 or len(means) > 1 or len(shifts) > 1:
            return None
        ((sign, whole),) = scaled
        scale = whole - {_X, _ROOT}
        if sign < 0 or _ROOT not in whole or len(scale) > 1:
            return None
        found = dict.fromkeys(("gamma",), min(scale)) if scale else {}
        for sign, one in means:
            mean = one - {_ROOT} - scale
            if sign > 0 or not scale <= one or len(mean) != 1:
                return None
            if self._of.x is None and self._graph.is_static(min(mean)):
                found["running mean"] = min(mean)
        if self._of.x is not None and bool(means) != self._of.centred:
            return None
        for sign, one in shifts:
            if sign < 0 or len(one) != 1:
                return None
            found["beta"] = min(one)
        sizes = {self._tape.values[self._tape.before_moves(v)].size for v in found.values()}
        fitting = self._of.width is None or sizes <= {self._of.width}
        return found if fitting and all(map(self._graph.is_static, found.values())) else None


def _negative(terms: _Terms) -> _Terms:
    return [(-sign, own) for sign, own in terms]


def _sum(one: _Terms, other: _Terms) -> _Terms:
    return one + other if one and other else []


def _product(one: _Terms, other: _Terms) -> _Terms:
    return [(a * b, (*left, *right)) for a, left in one for b, right in other]
