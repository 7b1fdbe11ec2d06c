"""Biases of products that are added up: whose each of them is makes no difference.

`tanh(W x + U h + b)` and `tanh(linear(x) + linear(h))` are one layer, with one bias and with two.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from parity.architecture.graph import Graph
from parity.architecture.program import Program
from parity.architecture.step import ADDITIONS
from parity.tape import Op
from parity.weights.element_index import Addresses
from parity.weights.operands import Part, Term, added

Parts = Mapping[int, Mapping[str, Part]]
_MANY = ("dense", "convolution", "transposed_convolution")


@dataclass(frozen=True)
class Sum:
    """Steps whose results are added up.

    Attributes:
        behind: biases that are added to the sum.
    """

    steps: frozenset[int]
    behind: tuple[Part, ...]


def sums(program: Program, addresses: Addresses) -> list[Sum]:
    """The sums of two steps or more."""
    graph = program.graph
    members: dict[int, set[int]] = defaultdict(set)
    behind: dict[int, dict[int, Part]] = defaultdict(dict)
    for number, step in enumerate(program.steps):
        if step.kind in _MANY:
            value = graph.tape.ops[step.ops[-1]].outputs[0]
            additions = list(_additions(graph, value))
            last = additions[-1].outputs[0] if additions else value
            members[last].add(number)
            for op in additions:
                static = [v for v in op.inputs if graph.is_static(v)]
                for value in static[:1]:
                    part = Part(number, "bias", Term(addresses, value, flat=True))
                    if part.shape == (step.width,):
                        behind[last][op.index] = part
    return [
        Sum(frozenset(steps), tuple(behind[last].values()))
        for last, steps in members.items()
        if len(steps) > 1
    ]


def _additions(graph: Graph, value: int) -> Iterator[Op]:
    """The additions that a value goes through, and nothing else."""
    reader = graph.only_reader(value)
    while reader is not None and reader.word in ADDITIONS and reader.index not in graph.owner:
        yield reader
        reader = graph.only_reader(reader.outputs[0])


def with_one_bias(
    source: tuple[list[Sum], Parts], target: tuple[list[Sum], Parts], steps: Mapping[int, int]
) -> tuple[Parts, Parts]:
    """The parts of both models; of sums that have other biases, all of them as one."""
    left, right = dict(source[1]), dict(target[1])
    for one in source[0]:
        partners = frozenset(steps.get(step, -1) for step in one.steps)
        other = next((other for other in target[0] if other.steps == partners), None)
        if other is None:
            continue
        first = min(one.steps)
        have = {steps[step] for step in one.steps if "bias" in left.get(step, ())}
        want = {step for step in other.steps if "bias" in right.get(step, ())}
        if have != want or len(one.behind) != len(other.behind):
            _merge(left, one, first)
            _merge(right, other, steps[first])
    return left, right


def _merge(parts: dict[int, Mapping[str, Part]], own: Sum, home: int) -> None:
    biases = [part for step in sorted(own.steps) if (part := parts[step].get("bias"))]
    for step in own.steps:
        parts[step] = {role: part for role, part in parts[step].items() if role != "bias"}
    every = [*biases, *own.behind]
    if every:
        parts[home] = {**parts[home], "bias": replace(every[0], find=added(every))}
