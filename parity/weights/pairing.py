"""Which tensor of one model is which of another's, by what each does and never by its shape."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, permutations
from typing import Any

import numpy as np

from parity.architecture.align import align, align_by_products
from parity.architecture.program import Program
from parity.tape import Array, Tape
from parity.weights.attention import projections
from parity.weights.cells import cells, pair_cells, same_biases
from parity.weights.channel_order import Elements, order, unit_order, unlike_places
from parity.weights.element_index import Addresses
from parity.weights.operands import NEUTRAL, Part, parts
from parity.weights.shared_biases import sums, with_one_bias
from parity.weights.stacked import stacks
from parity.weights.standalone_parameters import KNOWN_BY_STEPS, loose_parts, pair_loose
from parity.weights.tensors import Tensor
from parity.weights.unlike_kernels import exchanged_where_unlike

MOST_TRIES = 24  # ways to pair steps that are alike


class Side(Addresses):
    """The tensors of a model, with its steps and what they multiply by.

    Args:
        inputs: by the value id of an input its elements' numbers, as the other model has them.
        run: gives the model's outputs by their names, with what its tensors hold then.
    """

    tape: Tape

    def __init__(
        self,
        tape: Tape,
        tensors: Sequence[Tensor],
        outputs: Mapping[int, str],
        inputs: Mapping[int, Array] | None = None,
        run: Callable[[], Mapping[str, Array]] | None = None,
    ) -> None:
        super().__init__(tape, tensors)
        self.run = run
        self.outputs = {name: value for value, name in outputs.items()}
        own = Addresses(tape, tensors)  # parts that knew the side would keep it, and the tape
        self.inputs = inputs or {}
        self.program = Program(tape, outputs)
        self.cells = cells(self.program, own)
        self.parts: dict[int, dict[str, Part]] = defaultdict(dict)
        in_cells = {number for cell in self.cells for number in cell.tensors}
        taken = set(in_cells)
        for part in (*parts(self.program, own), *projections(self.program, own)):
            numbers = self._tensors(part)
            taken.update(numbers)
            # a cell's gates have an order of their own
            if in_cells.isdisjoint(numbers):
                self.parts[part.step].setdefault(part.role, part)
        self.sums = sums(self.program, own)
        self.loose = [
            one
            for one in loose_parts(self.program, own, outputs)
            # what a step multiplies by is known by that
            if one.part.role not in KNOWN_BY_STEPS or taken.isdisjoint(self._tensors(one.part))
        ]

    def names(self, part: Part) -> tuple[str, ...]:
        """The tensors that a part is made of."""
        return tuple(self.tensors[number].name for number in self._tensors(part))

    def _tensors(self, part: Part) -> dict[int, None]:
        """Their numbers, each once and in order."""
        if part.strided is not None:
            return {part.strided.number: None}
        terms = part.find() or []
        return {n: None for _, own in terms for n in self.tensors_in(own)}

    def all_parts(self) -> Iterator[Part]:
        for own in self.parts.values():
            yield from own.values()
        for cell in self.cells:
            yield from cell.parts.values()
        yield from (one.part for one in self.loose)


@dataclass(eq=False)
class Pair:
    """A part of the target, and the source's that belongs there.

    Attributes:
        source: None where the source has none, and the target's is set to what does nothing.
        order: for each input channel the number of the source's; None where they stand in
            the same order, or where that could not be followed.
        followed: whether it could.
        units: the same of its units, or of a bias; None where they stand in the same order.
        unit_axis: the axis along which they stand.
        shift: what is added to the source's values: a variance may take up another epsilon.
        axes: the order in which a map, and no role, lays the source's axes out.
    """

    role: str
    source: Part | None
    target: Part
    source_names: tuple[str, ...]
    target_names: tuple[str, ...]
    order: Array | None = field(default=None, repr=False)
    followed: bool = True
    units: Array | None = field(default=None, repr=False)
    unit_axis: int = 0
    shift: float = 0.0
    axes: tuple[int, ...] | None = None


@dataclass
class Pairing:
    """How two models' tensors belong together.

    Attributes:
        notes: what is ambiguous, left over or could not be followed, in sentences.
        left: names of the source's tensors, and of the target's, that have no partner.
        dead: those that no output depends on.
        steps: the source's steps and the target's.
        stacked: whether several layers of one model are one of the other's.
    """

    pairs: list[Pair]
    steps: dict[int, int]
    left: tuple[list[str], list[str]] = field(default_factory=lambda: ([], []))
    dead: tuple[list[str], list[str]] = field(default_factory=lambda: ([], []))
    notes: list[str] = field(default_factory=list)
    stacked: bool = False

    def to_map(self) -> dict[str, Any]:
        """What a user may save, edit and pass back."""
        return {
            "pairs": [
                {
                    "role": pair.role,
                    "source": list(pair.source_names),
                    "target": list(pair.target_names),
                    **({"axes": list(pair.axes)} if pair.axes is not None else {}),
                }
                for pair in self.pairs
            ]
        }

    def note_unpaired(self, source: Addresses, target: Addresses) -> None:
        """Finds out what is left, and what is dead."""
        for number, side in enumerate((source, target)):
            used = {n for one in self.pairs for n in (one.source_names, one.target_names)[number]}
            read = side.read()
            for tensor in side.tensors:
                if tensor.name in used:
                    continue
                if tensor.name in read:
                    self.left[number].append(tensor.name)
                elif side.tape is not None:
                    self.dead[number].append(tensor.name)


def pairings(source: Side, target: Side) -> Iterator[Pairing]:
    """The ways in which two models' tensors can be paired: one, but where steps are alike.

    The second goes by the steps that multiply by weights, where that is another.
    """
    first = align(source.program, target.program)
    groups = [group for group in _alike(source.program) if all(a in first for a in group)]
    alike = [names for names in (_names(source, group) for group in groups) if names]
    alternatives = _alternatives(groups, first)
    tried = [next(alternatives)]
    by_products = align_by_products(source.program, target.program)
    if by_products != first:
        tried.append(by_products)
    crossed = exchanged_where_unlike(source.parts, target.parts, tried[0])
    if crossed:
        tried.insert(0, crossed)
    for number, steps in enumerate(chain(tried, alternatives), 1):
        found = _pair(source, target, steps)
        stacked = found.stacked
        found.notes += [
            f"alike by structure: {names}; way {number} to pair them, settled by running both"
            for names in alike
        ]
        yield found
        for way in range(1, MOST_TRIES if number <= len(tried) and stacked else 0):
            found = _pair(source, target, steps, way)
            if not found.stacked:
                break  # there are no more orders
            yield found


def _names(side: Side, group: Sequence[int]) -> str:
    """The kernels of steps that are alike; "" where they have none, or the same one."""
    kernels = [side.parts[step].get("kernel") for step in group]
    names = dict.fromkeys(" + ".join(side.names(part)) for part in kernels if part is not None)
    return " and ".join(names) if len(names) > 1 else ""


def _pair(source: Side, target: Side, steps: dict[int, int], way: int = 0) -> Pairing:
    found = Pairing([], steps)
    own = (source.sums, source.parts), (target.sums, target.parts)
    left, right = with_one_bias(*own, steps)
    for a, b in steps.items():
        found.pairs += _pair_parts(source, target, left.get(a, {}), right.get(b, {}))
    for source_cell, target_cell in pair_cells(source.cells, target.cells, steps, found.notes):
        same_biases(source_cell, target_cell)
        found.pairs += _pair_parts(source, target, source_cell.parts, target_cell.parts)
    sides = (source.program, source.parts), (target.program, target.parts)
    for one_side, other_side in stacks(*sides, steps, way):
        found.pairs += _pair_parts(source, target, one_side, other_side)
        found.stacked = True
    for one, other in pair_loose(source.loose, target.loose, steps):
        found.pairs += _pair_parts(source, target, {one.role: one}, {one.role: other})
    finish(source, target, found)
    return found


def _pair_parts(
    source: Side, target: Side, source_parts: Mapping[str, Part], target_parts: Mapping[str, Part]
) -> Iterator[Pair]:
    for role, right in target_parts.items():
        left = source_parts.get(role)
        names = target.names(right)
        if not names or left is None and role not in NEUTRAL:
            continue
        if left is None or source.names(left):
            given = source.names(left) if left else ()
            yield Pair(role, left, right, given, names)


def finish(source: Side, target: Side, found: Pairing) -> None:
    """Finds out in which order input channels stand, and what is left."""
    once: dict[tuple[Any, ...], Pair] = {}
    for pair in found.pairs:  # a layer that is used twice is written once
        once.setdefault((pair.role, pair.target_names, pair.source_names), pair)
    found.pairs = list(once.values())
    anchors = {a: n for n, a in enumerate(found.steps, 1)}
    partners = {b: anchors[a] for a, b in found.steps.items()}
    source_elements = Elements(source.program, anchors, source.inputs)
    target_elements = Elements(target.program, partners, target.inputs)
    units = _order_units((source, target), (source_elements, target_elements), found, anchors)
    if units:
        target_elements = Elements(target.program, partners, target.inputs, units)
    for pair in found.pairs:
        left, right = pair.source, pair.target
        if left is None:
            continue
        known = left.input is not None and right.input is not None
        if known:
            origins = channels(source_elements, left), channels(target_elements, right)
            pair.order, pair.followed = order(*origins)
        if not known or not pair.followed:
            pair.order = _as_held(left, right)
    found.note_unpaired(source, target)
    _conflicts(found)


def _order_units(
    sides: tuple[Side, Side],
    elements: tuple[Elements, Elements],
    found: Pairing,
    anchors: Mapping[int, int],
) -> dict[int, Array]:
    """Finds out whose units stand in another order, as those of a dense layer before a reshape.

    Args:
        anchors: numbers of the source's steps that have a partner.

    Returns:
        The order of the units of each such step, by its number.
    """
    source, target = elements
    named = [side.outputs for side in sides]
    places = unlike_places(
        ((source.images(a), target.images(b)) for a, b in found.steps.items()),
        ((source.of(named[0][n]), target.of(named[1][n])) for n in named[0] if n in named[1]),
    )
    orders: dict[int, Array] = {}
    for pair in found.pairs if places else ():
        left, right = pair.source, pair.target
        of_units = pair.role.split(" (")[0] in ("kernel", "bias")
        if left is None or not of_units or found.steps.get(left.step) != right.step:
            continue
        step = sides[1].program.steps[right.step]
        if step.parameters.get("groups", 1) != 1:  # whose units are their groups'
            continue
        anchor = anchors[left.step]
        pair.unit_axis = int(step.kind == "transposed_convolution" and pair.role != "bias")
        pixels = math.prod(target.shapes.get(anchor, (1,))[2:])
        pair.units = unit_order(places, anchor, right.shape[pair.unit_axis], pixels)
        if pair.units is not None:
            orders[anchor] = pair.units
    return orders


def channels(elements: Elements, part: Part) -> Array | None:
    """Where the input channels of a part come from."""
    if part.input is None:
        return None
    return elements.channels(part.input, part.axis, part.images)


def _as_held(source: Part, target: Part) -> Array | None:
    """The order of two kernels' inputs as their tensors hold them, which an einsum may change."""
    rows = source.first_row, target.first_row
    if source.role != "kernel" or rows[0] is None or rows[1] is None:
        return None
    left, right = np.argsort(rows[0]), np.argsort(rows[1])
    if left.size != right.size or np.array_equal(left, right):
        return None
    return left[np.argsort(right)]


def _conflicts(found: Pairing) -> None:
    """Notes tensors that two different ones of the source would be written to."""
    targets: dict[tuple[str, ...], list[Pair]] = defaultdict(list)
    for pair in found.pairs:
        targets[pair.target_names].append(pair)
    for names, pairs in targets.items():
        if len({pair.source_names for pair in pairs}) < 2:
            continue
        every = ([own.ravel() for _, own in pair.target.find() or []] for pair in pairs)
        written = [np.unique(np.concatenate(own)) for own in every]
        if np.unique(np.concatenate(written)).size < sum(map(len, written)):
            shown = "; ".join(" + ".join(pair.source_names) for pair in pairs)
            found.notes.append(f"{' + '.join(names)} is shared in the target: it would get {shown}")


# --- what is alike -------------------------------------------------------------------------------


def _alternatives(
    groups: Sequence[Sequence[int]], first: dict[int, int]
) -> Iterator[dict[int, int]]:
    """The pairing of steps, and where steps are alike on all sides the others that are possible."""
    yield first
    sizes = sorted({len(group) for group in groups})
    tries = (
        _permuted(first, [group for group in groups if len(group) == size], way)
        for size in sizes
        for way in islice(permutations(range(size)), 1, MOST_TRIES)
    )
    singly = (
        _permuted(first, [group], way)
        for group in groups
        if len(groups) > 1
        for way in islice(permutations(range(len(group))), 1, MOST_TRIES)
    )
    yield from islice((*tries, *singly), MOST_TRIES)


def _permuted(
    first: dict[int, int], groups: Sequence[Sequence[int]], way: Sequence[int]
) -> dict[int, int]:
    found = dict(first)
    for group in groups:
        found.update({a: first[group[n]] for a, n in zip(group, way, strict=True)})
    return found


def _alike(program: Program) -> list[list[int]]:
    """Groups of steps that nothing around them distinguishes."""
    colours: list[int] = [hash(step.key) for step in program.steps]
    around = list(zip(program.before, program.after, strict=True))
    for _ in range(len(program.steps)):
        new = [hash((colours[n], *(_seen(one, colours) for one in own)))
               for n, own in enumerate(around)]  # fmt: skip
        if len(set(new)) == len(set(colours)):
            break
        colours = new
    groups: dict[int, list[int]] = defaultdict(list)
    for number, colour in enumerate(colours):
        groups[colour].append(number)
    return [group for group in groups.values() if len(group) > 1]


def _seen(around: frozenset[Any], colours: Sequence[int]) -> tuple[str, ...]:
    return tuple(sorted(str(colours[one]) if isinstance(one, int) else str(one) for one in around))


def numbered(shape: tuple[int, ...]) -> Array:
    """The elements of an input, numbered from 1."""
    return np.arange(1, int(np.prod(shape)) + 1, dtype=np.int64).reshape(shape)
