"""Tensors of operations that are no step: a learned scale, a shift, a table that is added.

They are identified by what they do and by the steps around them. Of tensors that no input is
computed with, one model takes the softplus, another the root and the square; which output that
becomes, or which operation on live values reads it, is the same. What is only set beside live
values, as a free log standard deviation is beside the means, is known by what comes after. Products
in a loop or an attention that are none of its cell's or its projections' are identified by the loop
that they are in.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from parity.architecture.align import partners
from parity.architecture.program import Program
from parity.tape import Array
from parity.weights.attention import products
from parity.weights.element_index import Addresses, varying, without_repeats
from parity.weights.operands import Find, Part, Term
from parity.weights.stacked import concatenated

_ROLES = {
    **dict.fromkeys(("multiply", "divide"), "scale"),
    **dict.fromkeys(("add", "bias_add", "subtract"), "shift"),
}
_INNER = ("inner kernel", "inner bias")
_JOINED = "joined"  # of what is only moved
KNOWN_BY_STEPS = (_JOINED, *_INNER)  # roles of what a step may multiply by as well
_Around = frozenset[Any]


@dataclass(frozen=True)
class Loose:
    """A part of no step, and the steps next to it, or "input" and the names of outputs.

    Attributes:
        product: of a kernel in an opaque step, and its bias: which of the products there it is.
        read: the value that this product reads.
    """

    part: Part
    before: _Around
    after: _Around
    product: int = -1
    read: int = -1


def loose_parts(
    program: Program, addresses: Addresses, outputs: Mapping[int, str]
) -> Iterator[Loose]:
    """All of a model, of each kind in the order of the tape: what is only moved comes first.

    Args:
        outputs: names by value id.
    """
    graph, values = program.graph, program.graph.tape.values
    computed: list[Loose] = []

    def add(value: int, role: str, before: _Around, after: _Around) -> None:
        part = _computed_from(program, addresses, value, role)
        computed.extend([Loose(part, before, after)] if part is not None else [])

    for value, name in outputs.items():
        if graph.is_static(value):
            add(value, "constant", frozenset(), frozenset((name,)))
    before, after = program.flow({number: number for number in range(len(program.steps))})
    for op in (op for op in graph.live.values() if op.index not in graph.owner):
        around = before[op.index], after[op.index]
        if op.role == "move":
            for value in filter(graph.is_static, op.inputs):
                if values[value].dtype.startswith(("float", "bfloat")):  # no indices or masks
                    add(value, _JOINED, frozenset(), around[1])
        role = _ROLES.get(op.word)
        static = [v for v in op.inputs if graph.is_static(v) and values[v].size > 1]
        if role is None or len(static) != 1:
            continue
        own = addresses.of(static[0])
        live = [v for v in op.inputs if not graph.is_static(v)]
        if own is None:
            add(static[0], f"{role} (computed)", *around)
        elif len(live) == 1:
            long = varying(own)
            channels = live[0] if len(long) == 1 else None
            find = terms(without_repeats(own))
            yield Loose(Part(-1, role, find, channels, max(long, default=-1)), *around)
    yield from computed
    yield from _inner(program, addresses)


def _computed_from(program: Program, addresses: Addresses, value: int, role: str) -> Part | None:
    """The one tensor that a value is computed from."""
    walk = program.graph.tape.graph.backward([value], lambda value, op: True)
    numbers = {addresses.leaves[one] for one, _ in walk if one in addresses.leaves}
    trained = {number for number in numbers if addresses.tensors[number].trainable}
    numbers = trained or numbers  # bounds and the like are buffers beside it
    if len(numbers) != 1:
        return None
    return Part(-1, role, terms(addresses.own(numbers.pop()).reshape(-1)))


def _inner(program: Program, addresses: Addresses) -> Iterator[Loose]:
    """Kernels and biases of the products in opaque steps, in the order of their first use."""
    places = itertools.count()
    for number, step in enumerate(program.steps):
        within = frozenset((number,))
        made = products(program.graph, addresses, -1, step.ops) if step.opaque else ()
        for place, one in zip(places, made, strict=False):
            read = -1 if one.kernel.input is None else program.graph.root(one.kernel.input)
            yield Loose(replace(one.kernel, role=_INNER[0]), within, within, place, read)
            if one.bias is not None:
                bias = Part(-1, _INNER[1], Term(addresses, one.bias, flat=True))
                yield Loose(bias, within, within, place, read)


def terms(own: Array) -> Find:
    return lambda: [(1.0, own)]


def pair_loose(
    source: Iterable[Loose], target: Iterable[Loose], steps: Mapping[int, int]
) -> Iterator[tuple[Part, Part]]:
    """Those of one role and shape between the same steps, in their order.

    What is left then, as where more steps read it in one model, by the steps before alone.
    """
    ones, others = list(_once(source)), list(_once(target))
    ones, others = _joined_as(ones, others), _joined_as(others, ones)
    for count in (2, 1):
        left: dict[Any, list[Loose]] = defaultdict(list)
        right: dict[Any, list[Loose]] = defaultdict(list)
        for one in ones:
            around = partners(one.before, steps), partners(one.after, steps)
            key = (one.part.role, one.part.shape, *around[:count])
            left[key].append(one)
        for one in others:
            around = one.before, one.after
            key = (one.part.role, one.part.shape, *around[:count])
            right[key].append(one)
        alike = [key for key in left if len(left[key]) == len(right[key])]
        for key in alike:
            yield from ((a.part, b.part) for a, b in zip(left[key], right[key], strict=True))
        taken = {id(one) for key in alike for one in (*left[key], *right[key])}
        ones, others = ([one for one in own if id(one) not in taken] for own in (ones, others))


def _joined_as(several: Sequence[Loose], others: Sequence[Loose]) -> list[Loose]:
    """The parts of one model, those joined that are one product in the other: heads of one value.

    In the order in which they run, and where there is but one choice.
    """
    own, other = (_by_what_they_read(side) for side in (several, others))
    found = list(several)
    for (*_, features), group in own.items():
        lengths = [one.part.shape[0] for one in group]
        wanted = [
            [one.part.shape[0] for one in those]
            for (*_, read), those in other.items()
            if read == features and len(those) < len(group)
        ]
        fitting = [one for one in wanted if sum(one) == sum(lengths)]
        if len(fitting) != 1:
            continue
        places = iter(group)
        for count in next(_runs(lengths, Counter(fitting[0])), ()):
            run = [one.product for one in itertools.islice(places, count)]
            found = _with_joined(found, run) if count > 1 else found
    return found


def _by_what_they_read(found: Sequence[Loose]) -> dict[Any, list[Loose]]:
    """The kernels of products that read one value, and how many features it has."""
    groups: dict[Any, list[Loose]] = defaultdict(list)
    for one in found:
        if one.part.role == _INNER[0] and one.part.shape:
            groups[one.before, one.read, one.part.shape[1:]].append(one)
    return groups


def _runs(lengths: Sequence[int], wanted: Counter[int]) -> Iterator[tuple[int, ...]]:
    """How many of some lengths in a row make up each of the wanted ones, whatever their order."""
    if not lengths and not +wanted:
        yield ()
    for count, total in enumerate(itertools.accumulate(lengths), 1):
        if wanted[total] > 0:
            for rest in _runs(lengths[count:], wanted - Counter((total,))):
                yield count, *rest


def _with_joined(found: Sequence[Loose], places: Sequence[int]) -> list[Loose]:
    """The parts with some products' kernels as one, and their biases."""
    made = list[Loose]()
    for role in _INNER:
        own = [one for one in found if one.part.role == role and one.product in places]
        if len(own) == len(places):
            made.append(replace(own[0], part=concatenated([one.part for one in own])))
    kept = [one for one in found if one.part.role not in _INNER or one.product not in places]
    return [*kept, *made]


def _once(found: Iterable[Loose]) -> Iterator[Loose]:
    """A loop reads the same values at each turn."""
    seen: set[Any] = set()
    for one in found:
        key: Any = one.part.strided  # of a kernel: its addresses may be many
        if key is None and one.part.role in _INNER:
            key = tuple(own.tobytes() for _, own in one.part.find() or ())
        if key is None or one.part.role not in _INNER or (one.part.role, key) not in seen:
            seen.add((one.part.role, key))
            yield one
