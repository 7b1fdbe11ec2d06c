"""Tensors that no input is computed with: a variance that is one parameter, a token in front.

One model takes the softplus of it, another its root and its square; which output it becomes, or
which operation on live values reads it, is the same. What is only set beside live values, as a free
log standard deviation is beside the means, is known by what comes after.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from parity.architecture.program import Program
from parity.weights.element_index import Addresses
from parity.weights.operands import Part
from parity.weights.standalone_parameters import Loose, role_of, terms

JOINED = "joined"  # the role of what is only moved


def constants(
    program: Program, addresses: Addresses, outputs: Mapping[int, str]
) -> Iterator[Loose]:
    """Tensors that alone make up an output, or an operand of an operation that is no step or moves.

    Args:
        outputs: names by value id.
    """
    graph, values = program.graph, program.graph.tape.values
    for value, name in outputs.items():
        if graph.is_static(value):
            yield from _loose(addresses, value, "constant", frozenset(), frozenset((name,)))
    before, after = program.flow({number: number for number in range(len(program.steps))})
    for op in (op for op in graph.live.values() if op.index not in graph.owner):
        if op.role == "move":
            for value in filter(graph.is_static, op.inputs):
                if values[value].dtype.startswith(("float", "bfloat")):  # no indices or masks
                    yield from _loose(addresses, value, JOINED, frozenset(), after[op.index])
        role = role_of(op)
        static = [v for v in op.inputs if graph.is_static(v) and values[v].size > 1]
        if role is None or len(static) != 1:
            continue
        if addresses.of(static[0]) is None:  # what is only moved is a part of its own
            yield from _loose(
                addresses, static[0], f"{role} (computed)", before[op.index], after[op.index]
            )


def _loose(
    addresses: Addresses, value: int, role: str, before: frozenset[object], after: frozenset[object]
) -> Iterator[Loose]:
    numbers = _tensors_behind(addresses, value)
    trained = {number for number in numbers if addresses.tensors[number].trainable}
    numbers = trained or numbers  # bounds and the like are buffers beside it
    if len(numbers) == 1:
        own = addresses.own(numbers.pop()).reshape(-1)
        yield Loose(Part(-1, role, terms(own)), before, after)


def _tensors_behind(addresses: Addresses, value: int) -> set[int]:
    """The numbers of all tensors that a value is computed from."""
    if addresses.tape is None:
        return set()
    walk = addresses.tape.graph.backward([value], lambda value, op: True)
    return {addresses.leaves[one] for one, _ in walk if one in addresses.leaves}
