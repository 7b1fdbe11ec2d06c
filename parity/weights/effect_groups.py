"""Which tensors of two models may be each other, one for one or several for one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations, islice

from parity.tape import Array
from parity.weights.known_pairs import Effect, Start
from parity.weights.pairing import Side
from parity.weights.units import Unit, lengths, shape_of, size_of

_TOGETHER = 4  # tensors of one model that are one of the other's
_GROUPS = 300  # of those that are looked at for one tensor
_DRAWN_GROUPS = 3  # where no effect says which they may be
_COMBINED = 20000  # combinations whose sizes are added up
_ADDED = 0.5  # of an effect: how far those that make it up may add up to something else

Group = tuple[tuple[Unit, ...], tuple[Unit, ...]]  # of the source's tensors, of the target's
Effects = tuple[dict[Unit, Effect], dict[Unit, Effect]]
Found = tuple[Unit, Array]  # of the target, and the addresses of what goes there
_Units = tuple[list[Unit], list[Unit]]


def several(sides: tuple[Side, Side], start: Start, effects: Effects) -> Iterator[Group]:
    """One whose effect is about that of several of the other model together.

    One of several may have none, as a bias of keys that a softmax does not show.
    """
    for whole, parts in ((1, 0), (0, 1)):
        sizes = {unit: size_of(sides[parts], unit) for unit in start.free[parts]}
        for unit, wanted in effects[whole].items():
            size = size_of(sides[whole], unit)
            for group in islice(_sums(sizes, size), _GROUPS):
                shown = [effects[parts][n] for n in group if n in effects[parts]]
                together = [sum(one) for one in zip(*shown, strict=True)]
                if shown and start.agrees(wanted, together, _ADDED):
                    yield (group, (unit,)) if whole else ((unit,), group)


def _sums(sizes: dict[Unit, int], whole: int) -> Iterator[tuple[Unit, ...]]:
    """The groups of tensors whose elements are as many as another's."""
    places = {unit: place for place, unit in enumerate(sizes)}
    fitting = [unit for unit, size in sizes.items() if size < whole]
    for count in range(2, _TOGETHER + 1):
        groups = [
            group
            for group in islice(combinations(fitting, count), _COMBINED)
            if sum(sizes[n] for n in group) == whole
        ]
        # what is read together stands together
        yield from sorted(groups, key=lambda group: places[group[-1]] - places[group[0]])


def of_one_size(sides: tuple[Side, Side], units: _Units) -> Iterator[Group]:
    """Those of as many elements: what has axes of the same lengths first, in their order."""
    places = [{unit: n for n, unit in enumerate(own)} for own in units]
    pairs = [
        (left, right)
        for left in units[0]
        for right in units[1]
        if size_of(sides[0], left) == size_of(sides[1], right) > 1
    ]

    def unlike(pair: tuple[Unit, Unit]) -> tuple[bool, int]:
        shapes = [shape_of(side, unit) for side, unit in zip(sides, pair, strict=True)]
        apart = abs(places[0][pair[0]] - places[1][pair[1]])
        return lengths(shapes[0]) != lengths(shapes[1]), apart

    yield from (((left,), (right,)) for left, right in sorted(pairs, key=unlike))
    for whole, parts in ((0, 1), (1, 0)):
        sizes = {unit: size_of(sides[parts], unit) for unit in units[parts]}
        for unit in units[whole]:
            for group in islice(_sums(sizes, size_of(sides[whole], unit)), _DRAWN_GROUPS):
                yield (group, (unit,)) if whole else ((unit,), group)


def in_their_order(sides: tuple[Side, Side], units: _Units) -> list[Group]:
    """Those of one size that are as many on both sides; then several that are one."""
    sizes: list[dict[int, list[Unit]]] = [defaultdict(list), defaultdict(list)]
    for side, own, by_size in zip(sides, units, sizes, strict=True):
        for unit in own:
            by_size[size_of(side, unit)].append(unit)
    found: list[Group] = []
    left: _Units = ([], [])
    for size in dict.fromkeys((*sizes[0], *sizes[1])):
        both = sizes[0][size], sizes[1][size]
        if len(both[0]) == len(both[1]):
            found += [((a,), (b,)) for a, b in zip(*both, strict=True)]
        else:
            for rest, own in zip(left, both, strict=True):
                rest.extend(own)
    for whole, parts in ((0, 1), (1, 0)):
        free = {unit: size_of(sides[parts], unit) for unit in left[parts]}
        for unit in left[whole]:
            group = next(_sums(free, size_of(sides[whole], unit)), None)
            if group is not None:
                found.append((group, (unit,)) if whole else ((unit,), group))
                free = {one: size for one, size in free.items() if one not in group}
    return found


def in_order_of_members(
    sides: tuple[Side, Side], units: Sequence[Unit], known: Sequence[Found]
) -> list[Unit]:
    """Slices in the order in which the source reads what is known of the other members.

    A member that no output depends on has no effects of its own; the others show which of its
    tensors is which.
    """
    place = {n: at for at, n in enumerate(dict.fromkeys(sides[0].leaves.values()))}
    partners = {
        unit: place[sides[0].tensors_in(own)[0]] for unit, own in known if unit.place is not None
    }
    first: dict[int, int] = {}  # of each tensor of the target, in one member
    for unit, at in partners.items():
        first[unit.number] = min(at, first.get(unit.number, at))

    def by_member(unit: Unit) -> tuple[int, int]:
        return unit.place or 0, first.get(unit.number, -1)

    def by_tensor(unit: Unit) -> tuple[int, int]:
        return first.get(unit.number, -1), unit.place or 0

    slices = [unit for unit in units if unit.place is not None and unit.number in first]
    for key in (by_member, by_tensor):
        read = [partners[unit] for unit in sorted(partners, key=key)]
        if slices and read == sorted(read):
            return [*(unit for unit in units if unit not in slices), *sorted(slices, key=key)]
    return list(units)
