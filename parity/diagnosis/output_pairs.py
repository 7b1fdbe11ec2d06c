"""Which output of one model is which of the other's: by name, or by place where no name says it.

Frameworks hold one thing in containers of their own: a state is an array, a list of one array, a
tuple of h and c, or an object that names them. So two structures are laid beside each other from
the top: parts of one name belong together, a container that holds one thing alone is that thing,
and as many parts of other names are paired in their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from parity.code_owners import is_users_class
from parity.diagnosis import limits
from parity.diagnosis.other_outputs import described
from parity.diagnosis.region import OutputPair
from parity.numerics.difference import residual
from parity.outputs.gradients import of_input
from parity.outputs.objects import Private, Setting
from parity.tape import Array, Tape


@dataclass
class NamedOutputs:
    """What of the candidate is what of the reference.

    Attributes:
        names: of leaves, the reference's by the candidate's.
        holders: of what holds them likewise.
        placed: leaves that are paired by their place, by names in the reference.
        in_order: whether no name of an output is common to both, and all go in their order.
    """

    names: dict[str, str] = field(default_factory=dict)
    holders: dict[str, str] = field(default_factory=dict)
    placed: set[str] = field(default_factory=set)
    in_order: bool = False

    def own(self, name: str) -> str:
        """The candidate's own name of what the reference calls so."""
        return next((one for one, other in self.names.items() if other == name), name)

    def reported(self, reference: Tape, candidate: Tape) -> list[str]:
        """That outputs of other names were paired, where others have their names in common."""
        pairs = [
            f"{other!r} of {reference.model} is {name!r} of {candidate.model}"
            for name, other in self.names.items()
            if name != other and name in candidate.outputs and not self.in_order
        ]
        return [f"outputs are paired by their places: {', '.join(pairs)}"] if pairs else []

    def of(self, candidate: Tape) -> Tape:
        """The candidate, in which all that has a counterpart is named as that is."""
        return replace(
            candidate,
            outputs=_renamed(candidate.outputs, self.names),
            other_outputs=_renamed(candidate.other_outputs, self.names),
            classes=_renamed(candidate.classes, self.holders),
        )


def _renamed(found: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    renamed = {names[name]: item for name, item in found.items() if name in names}
    for name, item in found.items():
        if name not in names:  # and may be what the reference calls something else
            renamed[f"{name} alone" if name in renamed else name] = item
    return renamed


def pair_outputs(reference: Tape, candidate: Tape) -> tuple[list[OutputPair], list[str]]:
    """Outputs by name, or by place where names share nothing; and what does not fit."""
    values, others = reference.outputs, candidate.outputs
    found = paired_names(reference, candidate)
    other = {found.names[name]: name for name in others if found.names.get(name) in values}
    left = [name for name in values if name not in other]
    problems = [
        missing(name, reference, candidate) for name in left if _counts(name, reference, candidate)
    ]
    rest = [
        name
        for name in others
        if name not in other.values() and _counts(name, candidate, reference)
    ]
    placed = {name: other[name] for name in values if name in other and name in found.placed}
    other |= _by_contents(reference, candidate, placed)
    if problems and rest:
        problems += [missing(name, candidate, reference) for name in rest]
        problems.append(
            "outputs are paired by name, or by place where no name is common to both: return them "
            "in the same places, or name them alike in a dict"
        )
    else:
        problems += [missing(name, candidate, reference) for name in rest]
    pairs = [
        OutputPair(name, value, others[other[name]], other[name])
        for name, value in values.items()
        if name in other
    ]
    return pairs, problems


def _counts(name: str, holder: Tape, other: Tape) -> bool:
    """Whether it says something that the other model lacks an output.

    A model that takes an input as an array has no gradient with respect to it.
    """
    lacks = name not in other.other_outputs and name not in other.outputs
    return not (other.gradients and lacks and name in map(of_input, holder.given))


def paired_names(reference: Tape, candidate: Tape) -> NamedOutputs:
    """The names by which both models call what is one thing."""
    found = NamedOutputs()
    _pair(_tree(reference), _tree(candidate), found, placed=False)
    first, second = reference.outputs, candidate.outputs
    for name, other in list(found.names.items()):
        alike = reference.numbers.get(other) == candidate.numbers.get(name) or name == other
        if not alike or (name in second) != (other in first):
            del found.names[name]
    found.in_order = in_order(reference, candidate, first, second)
    if found.in_order and not all(name in found.names for name in second):
        found.names = {name: other for name, other in found.names.items() if name not in second}
        found.names |= dict(zip(second, first, strict=True))
        found.placed |= set(first)
    return found


def in_order(
    reference: Tape, candidate: Tape, first: Mapping[str, Any], second: Mapping[str, Any]
) -> bool:
    """Whether outputs may be paired in their order: as many, of other names and equal numbers.

    A key that is a number is data, as an item's id: an item of another id is another item.
    """
    if first.keys() & second.keys() or len(first) != len(second):
        return False
    keys = zip(first, second, strict=True)
    return all(reference.numbers.get(a) == candidate.numbers.get(b) for a, b in keys)


def missing(name: str, holder: Tape, other: Tape) -> str:
    """What is said of an output that only one model has."""
    leaf = other.other_outputs.get(name, other)
    if name in holder.gradients:
        why = "nothing leads back to it there" if leaf is None else "it is not trained there"
        return f"{holder.model} has a {name}, {other.model} has none: {why}, or is not its pair"
    if leaf is other:
        return f"output {name!r} of {holder.model} is missing in {other.model}"
    return (
        f"output {name!r} is a tensor of shape {holder.values[holder.outputs[name]].shape} in "
        f"{holder.model} and {described(leaf)} in {other.model}"
    )


# --- two structures beside each other ------------------------------------------------------------


@dataclass
class _Node:
    """What a model returned at a path.

    Attributes:
        kind: of what is there itself: "number", "none", or "other"; "" of a container.
        counts: whether it says something: settings of an object and None do not.
        is_data: whether a key of a dict that leads to a leaf is a number.
        is_librarys: whether it is an object of a library's class, as a distribution.
        below: what it holds, by key.
    """

    path: str
    kind: str = ""
    counts: bool = False
    is_data: bool = False
    is_librarys: bool = False
    below: dict[str, _Node] = field(default_factory=dict)

    @property
    def parts(self) -> list[_Node]:
        return [node for node in self.below.values() if node.counts]

    @property
    def only(self) -> _Node | None:
        """The one thing that a container holds; an object of a library's says more than that."""
        parts = self.parts
        return parts[0] if len(parts) == 1 and not (self.kind or self.is_librarys) else None

    def leaves(self) -> Iterator[_Node]:
        """What it holds, in order: texts and None as well, and no settings."""
        if self.counts and self.kind or self.kind == "none":
            yield self
        by_place = all(map(str.isdecimal, self.below))
        for key in sorted(self.below, key=int) if by_place else self.below:
            yield from self.below[key].leaves()

    @property
    def is_sequence(self) -> bool:
        """Whether it is a tuple or a list: a key of a dict that is a number is data."""
        places = not self.kind and all(map(str.isdecimal, self.below))
        return places and not any(node.is_data for node in self.leaves())

    @property
    def is_all_sequences(self) -> bool:
        return bool(self.kind) or (
            self.is_sequence and all(node.is_all_sequences for node in self.below.values())
        )


def _tree(tape: Tape) -> _Node:
    root = _Node("")
    for name in (*tape.outputs, *tape.other_outputs):
        leaf = tape.other_outputs.get(name)
        number = name in tape.outputs
        counts = number or not (leaf is None or isinstance(leaf, (Setting, Private)))
        node, path = root, ""
        root.counts |= counts
        for key in name.split("/"):
            path = f"{path}/{key}" if path else key
            cls = tape.classes.get(node.path)
            node.is_librarys = cls is not None and not is_users_class(cls)
            node = node.below.setdefault(key, _Node(path))
            node.counts |= counts
        node.kind = "number" if number else "none" if leaf is None else "other"
        node.is_data = name in tape.numbers
    return root


def _pair(reference: _Node, candidate: _Node, found: NamedOutputs, placed: bool) -> None:
    """Pairs what two nodes hold; `placed` if these were paired by their place."""
    found.holders[candidate.path] = reference.path
    leaves = reference.kind and candidate.kind
    if leaves:
        found.names[candidate.path] = reference.path
        found.placed |= {reference.path} if placed else set()
    if _are_in_one_order(reference, candidate):
        for one, other in zip(reference.leaves(), candidate.leaves(), strict=True):
            found.names[other.path] = one.path
            if not (reference.is_all_sequences and candidate.is_all_sequences):
                found.placed.add(one.path)
        return
    common = [key for key in reference.below if key in candidate.below]
    parts = reference.parts, candidate.parts
    if leaves or any(_count(reference, candidate, key) for key in common):
        for key in common:
            _pair(reference.below[key], candidate.below[key], found, placed)
        _pair_rest(reference, candidate, set(common), found)
    elif reference.only is not None or candidate.only is not None:
        _pair(reference.only or reference, candidate.only or candidate, found, placed)
    elif not reference.kind and not candidate.kind and len(parts[0]) == len(parts[1]):
        for one, other in zip(*parts, strict=True):
            _pair(one, other, found, placed=True)


def _are_in_one_order(reference: _Node, candidate: _Node) -> bool:
    """Whether two tuples hold the same in another nesting: (y, h, c) and (y, (h, c))."""
    if not (reference.is_sequence and candidate.is_sequence):
        return False
    if [node.kind for node in reference.leaves()] != [node.kind for node in candidate.leaves()]:
        return False
    plain = reference.is_all_sequences and candidate.is_all_sequences
    return plain or reference.below.keys() != candidate.below.keys()


def _pair_rest(reference: _Node, candidate: _Node, common: set[str], found: NamedOutputs) -> None:
    """Pairs by name what one model has in a container of its own, and the other beside the rest."""
    rest = [
        _Node(node.path, below={key: one for key, one in node.below.items() if key not in common})
        for node in (reference, candidate)
    ]
    one, other = (node.only or node for node in rest)
    if any(_count(one, other, key) for key in one.below if key in other.below):
        _pair(one, other, found, placed=False)


def _count(reference: _Node, candidate: _Node, key: str) -> bool:
    return reference.below[key].counts and candidate.below[key].counts


# --- what places do not say ----------------------------------------------------------------------


def _by_contents(reference: Tape, candidate: Tape, placed: Mapping[str, str]) -> Mapping[str, str]:
    """The candidate's names by the reference's: in order, or in the one in which values agree."""
    others = list(placed.values())
    a = [reference.recorded_array(reference.outputs[name]) for name in placed]
    b = [candidate.recorded_array(candidate.outputs[name]) for name in others]
    if all(map(_is_near, a, b)) or len(a) > limits.REORDERED_OUTPUTS:
        return placed
    fits = [[j for j, other in enumerate(b) if _is_near(one, other)] for one in a]
    if all(len(one) == 1 for one in fits) and len({j for [j] in fits}) == len(b):
        return {name: others[j] for name, [j] in zip(placed, fits, strict=True)}
    return placed


def recorded(tape: Tape, value: int) -> Array:
    return tape.adapter.to_numpy(tape.recorded[value])


def wide(array: Array) -> Array:
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def _is_near(a: Array, b: Array) -> bool:
    return a.shape == b.shape and residual(wide(a), wide(b)) <= limits.SAME_NAME_NEAR
