"""A file of weights as a source: its layers paired with a model's by names and shapes.

Where several layers have the same shapes, names decide: those that the target has too, then those
that begin as their neighbours' do, then their order, which a note says.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import permutations
from typing import Any

from parity.errors import UsageError
from parity.tape import Array
from parity.weights.channel_order import Elements, order_in_file
from parity.weights.contradictions import contradictions
from parity.weights.element_index import Addresses
from parity.weights.file_layers import FileLayer, canonical, layers_of, window
from parity.weights.mapped import as_given
from parity.weights.operands import NEUTRAL, Part
from parity.weights.pairing import Pair, Pairing, Side, numbered
from parity.weights.table import SPACE

_MOST_ALIKE = 6  # layers of the same shapes, of which every order is looked at


# a role, a part of the target, and the file's tensor; or a pair that a map names
Wanted = tuple[str, Part, int | None] | Pair


def pair_stored(
    stored: Addresses, target: Side, last: bool, given: Mapping[str, Any] | None = None
) -> Pairing:
    """Pairs a file's tensors with what a model does.

    Args:
        last: whether the file has channels last.
        given: a user's map, which then decides.

    Raises:
        UsageError: the map names what is not there, or what does not fit together.
    """
    found = Pairing([], {})
    if given is not None:
        wanted = list(_by_map(stored, target, last, given))
    else:
        wanted = list(_by_names(stored, target, last, found.notes))
    _pair(stored, target, last, wanted, found)
    return found


def _by_names(stored: Addresses, target: Side, last: bool, notes: list[str]) -> Iterator[Wanted]:
    layers = layers_of(stored.tensors)
    steps = {n: own for n, own in target.parts.items() if any(map(target.names, own.values()))}
    fits = {
        n: [name for name, layer in layers.items() if _fits(stored, layer, target, n, last)]
        for n in steps
    }
    chosen = _choose(fits, target, notes)
    notes += contradictions(stored, target, layers, chosen, last)
    for n, name in chosen.items():
        roles = layers[name].roles_at(target.program.steps[n].kind)
        for role, part in steps[n].items():
            if target.names(part) and (role in roles or role in NEUTRAL):
                yield role, part, roles.get(role)


def _by_map(
    stored: Addresses, target: Side, last: bool, given: Mapping[str, Any]
) -> Iterator[Wanted]:
    known = {(part.role, frozenset(target.names(part))): part for part in target.all_parts()}
    numbers = {tensor.name: number for number, tensor in enumerate(stored.tensors)}
    for entry in given["pairs"]:
        role, names = entry["role"], entry["source"]
        part = known.get((role, frozenset(entry["target"])))
        if part is None or part.step < 0 or "axes" in entry:
            ways = as_given(stored, target.addresses, entry)
            if len(ways) > 1:
                raise UsageError(
                    f"The map: {names[0]} fits {entry['target'][0]} in {len(ways)} orders of its "
                    'axes, and a file cannot be run to see which: give one, as "axes": '
                    f"{list(ways[-1].axes or ())}."
                )
            yield ways[0]
            continue
        if len(names) > 1 or not set(names) <= set(numbers):
            raise UsageError(f"The map: the file has no tensor {' + '.join(names)}.")
        number = numbers[names[0]] if names else None
        if number is not None and not _ways(stored, number, part, target, last):
            shape = stored.tensors[number].shape
            raise UsageError(f"The map: {names[0]} {shape} does not fit {entry['target']}.")
        yield role, part, number


def _pair(
    stored: Addresses, target: Side, last: bool, wanted: Sequence[Wanted], found: Pairing
) -> None:
    """The pairs, the order of their input channels, and what is left."""
    anchors = {n: n + 1 for n in range(len(target.program.steps))}
    inputs = {v: numbered(target.tape.values[v].shape) for v in target.tape.inputs.values()}
    elements = Elements(target.program, anchors, inputs)
    for one in wanted:
        if isinstance(one, Pair):
            found.pairs.append(one)
            continue
        role, part, number = one
        names = target.names(part)
        if number is None:
            found.pairs.append(Pair(role, None, part, (), names))
            continue
        find = partial(_found, stored, number, part, target, last)
        source = Part(-1, role, find, layout=_layout(stored, number, role, last))
        pair = Pair(role, source, part, (stored.tensors[number].name,), names)
        if part.input is not None:
            origins = elements.channels(part.input, part.axis, part.images)
            pair.order = order_in_file(origins, elements, last)
        found.pairs.append(pair)
    used = {name for pair in found.pairs for name in pair.source_names}
    written = {name for pair in found.pairs for name in pair.target_names}
    read = target.read()
    found.left[0].extend(t.name for t in stored.tensors if t.name not in used and t.shape)
    for tensor in target.addresses.tensors:
        if tensor.name not in written:
            (found.left if tensor.name in read else found.dead)[1].append(tensor.name)


def _found(
    stored: Addresses, number: int, part: Part, target: Side, last: bool
) -> list[tuple[float | Array, Array]] | None:
    """Worked out when it is asked for: addresses take twice the room of what they address."""
    return [(1.0, _ways(stored, number, part, target, last)[0])]


def _ways(stored: Addresses, number: int, part: Part, target: Side, last: bool) -> list[Array]:
    """A file's tensor in the arrangement of a part, in the ways that fit."""
    kind = target.program.steps[part.step].kind
    ways = canonical(stored.own(number), part.role, kind, last)
    return [own for own in ways if own.shape == part.shape]


def _layout(stored: Addresses, number: int, role: str, last: bool) -> str:
    space = SPACE.get(len(stored.tensors[number].shape) - 2, "")
    if role != "kernel":
        return ""
    return f"{space}IO" if last else f"OI{space}"


def _fits(stored: Addresses, layer: FileLayer, target: Side, step: int, last: bool) -> bool:
    kind = target.program.steps[step].kind
    parts = {role: part for role, part in target.parts[step].items() if target.names(part)}
    roles = layer.roles_at(kind)
    if not roles or not set(roles) <= set(parts):
        return False
    for role, part in parts.items():
        if role not in roles and role in NEUTRAL:
            continue
        if role not in roles:
            return False
        own = stored.own(roles[role])
        if all(way.shape != part.shape for way in canonical(own, role, kind, last)):
            return False
        sizes = target.program.steps[step].parameters.get("kernel")
        if role == "kernel" and kind != "dense" and sizes is not None:
            if _wide(window(own.shape, last)) != _wide(sizes):
                return False
    return True


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
                _shared(name, chosen[other])
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


def _shared(one: str, other: str) -> int:
    """How many pieces two names have in common from their start."""
    count = 0
    for left, right in zip(_pieces(one), _pieces(other), strict=False):
        if left != right:
            break
        count += 1
    return count
