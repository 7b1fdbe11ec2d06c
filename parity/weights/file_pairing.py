"""A file of weights as a source: its layers paired with a model's by names and shapes.

Where several layers have the same shapes, names decide: those that the target has too, then those
that begin as their neighbours' do, then their order, which a note says.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from os.path import commonprefix
from typing import Any

from parity.errors import UsageError
from parity.tape import Array
from parity.weights.cell_weights import Terms
from parity.weights.channel_order import (
    Elements,
    order,
    order_in_file,
    places_in_file,
    unit_order,
)
from parity.weights.contradictions import contradictions
from parity.weights.file_tensors import FileTensors
from parity.weights.mapped import as_given
from parity.weights.operands import NEUTRAL, Part
from parity.weights.pairing import Pair, Pairing, Side, channels, numbered

_MOST_ALIKE = 6  # layers of the same shapes, of which every order is looked at


def pair_file(stored: FileTensors, target: Side, given: Mapping[str, Any] | None = None) -> Pairing:
    """Pairs a file's tensors with what a model does.

    Args:
        given: a user's map, which then decides.

    Raises:
        UsageError: the map names what is not there, or what does not fit together.
    """
    anchors = {n: n + 1 for n in range(len(target.program.steps))}
    inputs = {v: numbered(target.tape.values[v].shape) for v in target.tape.inputs.values()}
    plain = Elements(target.program, anchors, inputs)
    places = places_in_file(plain, len(anchors), stored.channels_last)
    units = {
        anchors[n]: one
        for n, own in target.parts.items()
        if target.program.steps[n].kind == "dense" and "kernel" in own
        if (one := unit_order(places, anchors[n], own["kernel"].shape[0], 1)) is not None
    }
    elements = _Origins(plain, Elements(target.program, anchors, inputs, units), units)
    found = Pairing([], {})
    if given is not None:
        for entry in given["pairs"]:
            found.pairs.append(_of_entry(stored, target, elements, entry))
    else:
        for part, number in _by_names(stored, target, found.notes):
            found.pairs.append(_pair(stored, target, elements, part, number))
    found.note_unpaired(stored, target)
    return found


@dataclass(frozen=True)
class _Origins:
    """Where the channels of a model come from.

    Attributes:
        plain: in its own order.
        as_in_file: in the file's, where a dense layer's units are shaped to images.
        units: the order of those units, by the step's number in both.
    """

    plain: Elements
    as_in_file: Elements
    units: Mapping[int, Array]

    def order(self, part: Part, channels_last: bool) -> Array | None:
        """The order in which the file has the inputs of a part."""
        own = channels(self.plain, part)
        found = order_in_file(own, self.plain, channels_last)
        return order(own, channels(self.as_in_file, part))[0] if found is None else found


def _pair(
    stored: FileTensors, target: Side, elements: _Origins, part: Part, number: int | None
) -> Pair:
    """A part of the target and the file's tensor that belongs there, with the order of its inputs.

    Args:
        number: of the tensor; None where the file has none.
    """
    names = target.names(part)
    if number is None:
        return Pair(part.role, None, part, (), names)
    kind = target.program.steps[part.step].kind

    def find() -> Terms:
        """Worked out when it is asked for: addresses take twice the room of what they address."""
        return [(1.0, stored.ways(number, part, kind)[0])]

    letters = stored.letters(number) if part.role == "kernel" else ""
    source = Part(-1, part.role, find, letters=letters)
    pair = Pair(part.role, source, part, (stored.tensors[number].name,), names)
    pair.order = elements.order(part, stored.channels_last)
    pair.units = elements.units.get(part.step + 1) if part.role in ("kernel", "bias") else None
    return pair


def _by_names(
    stored: FileTensors, target: Side, notes: list[str]
) -> Iterator[tuple[Part, int | None]]:
    """Parts of the target, each with the number of the file's tensor."""
    steps = {n: own for n, own in target.parts.items() if any(map(target.names, own.values()))}
    fits = {n: [layer for layer in stored.layers if _fits(stored, layer, target, n)] for n in steps}
    chosen = _choose(fits, target, notes)
    notes += contradictions(stored, target, chosen)
    for n, layer in chosen.items():
        roles = stored.roles_at(layer, target.program.steps[n].kind)
        for role, part in steps[n].items():
            if target.names(part) and (role in roles or role in NEUTRAL):
                yield part, roles.get(role)


def _of_entry(
    stored: FileTensors, target: Side, elements: _Origins, entry: Mapping[str, Any]
) -> Pair:
    """The pair that an entry of a map says."""
    role, names = entry["role"], entry["source"]
    known = {(part.role, frozenset(target.names(part))): part for part in target.all_parts()}
    part = known.get((role, frozenset(entry["target"])))
    if part is None or part.step < 0 or "axes" in entry:
        ways = as_given(stored, target, entry)
        if len(ways) > 1:
            raise UsageError(
                f"The map: {names[0]} fits {entry['target'][0]} in {len(ways)} orders of its "
                'axes, and a file cannot be run to see which: give one, as "axes": '
                f"{list(ways[-1].axes or ())}."
            )
        return ways[0]
    if len(names) > 1 or not set(names) <= stored.numbers.keys():
        raise UsageError(f"The map: the file has no tensor {' + '.join(names)}.")
    number = stored.numbers[names[0]] if names else None
    if number is not None:
        if not stored.ways(number, part, target.program.steps[part.step].kind):
            shape = stored.tensors[number].shape
            raise UsageError(f"The map: {names[0]} {shape} does not fit {entry['target']}.")
    return _pair(stored, target, elements, part, number)


def _fits(stored: FileTensors, layer: str, target: Side, step: int) -> bool:
    kind = target.program.steps[step].kind
    sizes = target.program.steps[step].parameters.get("kernel")
    parts = {role: part for role, part in target.parts[step].items() if target.names(part)}
    roles = stored.roles_at(layer, kind)
    if not roles or not roles.keys() <= parts.keys() <= roles.keys() | NEUTRAL.keys():
        return False
    if "kernel" in roles and kind != "dense" and sizes is not None:
        if _wide(stored.window(roles["kernel"])) != _wide(sizes):
            return False
    return all(stored.ways(number, parts[role], kind) for role, number in roles.items())


def _wide(sizes: Sequence[int]) -> list[int]:
    """Windows of length 1 say nothing: TensorFlow has one more in convolutions over sequences."""
    return [size for size in sizes if size != 1]


def _choose(fits: Mapping[int, list[str]], target: Side, notes: list[str]) -> dict[int, str]:
    """One layer of the file for each step, the clear ones first."""
    chosen: dict[int, str] = {}
    near = _neighbours(target, list(fits))
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for step, names in fits.items():
        groups[tuple(names)].append(step)
    alike: list[tuple[list[int], list[str]]] = []
    for fitting, members in sorted(groups.items(), key=lambda item: len(item[0])):
        taken = {name for _, names in alike for name in names} | set(chosen.values())
        free = [name for name in fitting if name not in taken]
        if len(free) != len(members):
            if free:
                notes.append(
                    f"ambiguous: {', '.join(free)} of the file fit {len(members)} layers: left over"
                )
        elif len(free) == 1:
            chosen[members[0]] = free[0]
        elif free:
            alike.append((members, free))
    while alike:
        ways = [_likeliest(members, names, target, near, chosen) for members, names in alike]
        at = next((n for n, (_, clear) in enumerate(ways) if clear), 0)
        (members, names), (way, clear) = alike.pop(at), ways[at]
        how = "paired by their names" if clear else "taken in the order of their names"
        notes.append(
            f"ambiguous: {', '.join(names)} have the same shapes: {how}; "
            "give the source's model too, and running both settles it"
        )
        chosen.update(zip(members, way, strict=True))
    return dict(sorted(chosen.items()))


def _likeliest(
    members: Sequence[int],
    names: Sequence[str],
    target: Side,
    near: Mapping[int, set[int]],
    chosen: Mapping[int, str],
) -> tuple[Sequence[str], bool]:
    """The layers for steps that all of them fit, and whether their names leave no other way."""
    own = {_pieces(name): name for name in names}
    names_of_steps = [_pieces(_layer_name(target, step)) for step in members]
    if set(names_of_steps) == set(own) and len(own) == len(names_of_steps):
        return [own[pieces] for pieces in names_of_steps], True
    if len(members) > _MOST_ALIKE:
        return names, False
    scored = [
        (
            sum(
                len(commonprefix([_pieces(name), _pieces(chosen[other])]))
                for step, name in zip(members, way, strict=True)
                for other in near[step]
                if other in chosen
            ),
            -number,
            way,
        )
        for number, way in enumerate(permutations(names))
    ]
    first, second = sorted(scored, reverse=True)[:2]
    return first[2], first[0] > second[0]


def _neighbours(target: Side, steps: Sequence[int]) -> dict[int, set[int]]:
    """The steps with weights that come next, on either side."""
    flow = target.program.flow({n: n for n in steps})
    first = {n: target.program.steps[n].ops[0] for n in steps}
    return {
        n: {one for way in flow for one in way[first[n]] if isinstance(one, int)} for n in steps
    }


def _layer_name(target: Side, step: int) -> str:
    for part in target.parts[step].values():
        for name in target.names(part):
            return name.replace("/", ".").rpartition(".")[0]
    return ""


def _pieces(name: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\d+|[^\W\d_]+", name.split(":")[0]))
