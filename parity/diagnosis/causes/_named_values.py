"""What the values that two regions read are called in formulas: the same on both sides."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from string import ascii_lowercase

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._sources import named
from parity.format import shape_text
from parity.matching.axis_order import Order, orders
from parity.matching.limits import SAME
from parity.numerics.difference import residual
from parity.tape import Array

_FEW = 6  # numbers of a constant
_OTHERWISE = "'"  # what lies otherwise in the candidate
_MOVES = re.compile(r"\b(reshape|transpose|broadcast)\b|(, )?\([\d, ]+\)|[()]")
_FIRST = 0xE000  # characters that no formula has: each stands for a value until it gets a letter


class NamedValues:
    """Names for what is not written out in a formula of either side.

    That is what both sides read, what they compute and have in common on all inputs, and what no
    input reaches. A single number stands for itself.
    """

    def __init__(self, case: Case) -> None:
        self._case = case
        self._own, self._other = sides(case)
        self._meant: list[tuple[CaseSide, int]] = []
        self._constants: set[str] = set()
        self._names: dict[bool, dict[int, str]] = {False: {}, True: {}}
        self._name_inputs()
        self._name_constants()
        self._name_common()

    def of(self, side: CaseSide) -> Mapping[int, str]:
        """The names of one side's values."""
        return self._names[side.is_candidate]

    def in_letters(self, texts: Sequence[str]) -> tuple[list[str], list[str]]:
        """Formulas with letters in the order of their appearance, and what each letter is."""
        used = dict.fromkeys(one for text in texts for one in text if ord(one) >= _FIRST)
        letters = dict(zip(used, ascii_lowercase, strict=False))
        table = str.maketrans(letters)
        spelled = [text.translate(table) for text in texts]
        legend = []
        for name, letter in letters.items():
            legend.append(f"{letter}: {self._described(name)}")
            if any(f"{name}{_OTHERWISE}" in text for text in texts):
                legend.append(f"{letter}{_OTHERWISE}: the same, laid out otherwise")
        return spelled, legend

    def differ(self, texts: Sequence[str]) -> bool:
        """Whether formulas differ by more than constants, and than moves of what lies otherwise."""
        if any(text in self._constants for text in texts):
            return False  # a value of its own: nothing is said of how it is made
        plain = [self._plain(text) for text in texts]
        if any(_OTHERWISE in text for text in texts):
            plain = [_MOVES.sub("", text) for text in plain]
        return plain[0] != plain[1]

    def _plain(self, text: str) -> str:
        spelled = text.replace(_OTHERWISE, "")
        return "".join("#" if one in self._constants else one for one in spelled)

    def apart(self, texts: Sequence[str]) -> list[str]:
        """What constants are that may differ, and not the formula.

        Where each side has some that the other has not, it is the candidate's; and what either
        side computes of numbers alone, as the host may have done of its inputs. One that is the
        other's repeated along axes is the same.
        """
        own, other = ({one for one in text if one in self._constants} for text in texts)
        own, other = self._without_repeated(own, other)
        own, other = ({name for name in side if not self._counts(name)} for side in (own, other))
        found = other - own if own - other else set()
        found |= {name for name in own ^ other if self._is_computed(name)}
        return [self._described(name) for name in sorted(found)]

    def _without_repeated(self, own: set[str], other: set[str]) -> tuple[set[str], set[str]]:
        """Names of constants less those that are one of the other side but for repetitions."""
        once = {name: self._once(name) for name in own ^ other}
        same = {
            name
            for pair in itertools.product(own - other, other - own)
            if np.array_equal(once[pair[0]], once[pair[1]])
            for name in pair
        }
        return own - same, other - same

    def _counts(self, name: str) -> bool:
        """Whether a constant is 0, 1, 2, ...: the index of all rows, which nobody gets wrong."""
        counted = self._once(name)
        return counted.ndim == 1 and np.array_equal(counted, np.arange(len(counted)))

    def _once(self, name: str) -> Array:
        """A constant without the axes along which it only repeats itself."""
        side, value = self._meant[ord(name) - _FIRST]
        array = side.values(self._case.first.given, [value])[0]
        for axis in reversed(range(array.ndim if array.size else 0)):
            first = array.take([0], axis)
            if (array == first).all():
                array = first.squeeze(axis)
        return array

    def hide_weights(self, texts: Sequence[str]) -> bool:
        """Whether each side reads something of its own that it made of weights: it may differ."""
        own, other = ({one for one in text if one in self._constants} for text in texts)
        return all(any(map(self._is_of_weights, lone)) for lone in (own - other, other - own))

    def _is_of_weights(self, name: str) -> bool:
        side, value = self._meant[ord(name) - _FIRST]
        leaves = side.view.tape.graph.leaves([value])
        weights = any(side.view.tape.values[leaf].kind == "parameter" for leaf in leaves)
        return weights and self._is_computed(name)

    def _is_computed(self, name: str) -> bool:
        """Whether numbers were made by the program, or by the host, which gave them no name."""
        side, value = self._meant[ord(name) - _FIRST]
        tape = side.view.tape
        of = tape.values[tape.before_moves(value)]
        if of.kind == "constant" and not of.name and of.size > _FEW:
            return True
        return any(tape.ops[index].role == "compute" for index in tape.graph.ancestors([value]))

    def _described(self, name: str) -> str:
        side, value = self._meant[ord(name) - _FIRST]
        tape = side.view.tape
        said = f"{named(tape, value)}, {shape_text(tape.values[value].shape)}"
        if tape.values[tape.before_moves(value)].kind == "constant":  # it has no name to look for
            said += f", of {_contents(side.model.run.array(value))}"
        if side.is_candidate and value in self._case.repaired.injected:
            said += ", as in the reference: it differs here"
        return said

    def _new(self, side: CaseSide, value: int) -> str:
        self._meant.append((side, value))
        return chr(_FIRST + len(self._meant) - 1)

    # --- what both read ---------------------------------------------------------------------------

    def _name_inputs(self) -> None:
        inputs, names = self._case.inputs, self._names
        tapes = self._own.view.tape, self._other.view.tape
        for value, partner in inputs.read.items():
            if partner not in names[False]:
                names[False][partner] = self._new(self._other, value)
            pair = inputs.pairs.get(value)
            lies = _OTHERWISE * (pair is not None and _turns(pair.order))
            names[True][value] = names[False][partner] + lies
        for name in tapes[0].inputs.keys() & tapes[1].inputs.keys():
            if tapes[0].inputs[name] not in names[False]:
                other = tapes[1].inputs[name]
                names[False][tapes[0].inputs[name]] = names[True][other] = self._new(
                    self._other, other
                )
        for side in (self._own, self._other):
            for value in _read(side, live=True):
                if not self._is_moved(side, value):
                    names[side.is_candidate][value] = self._new(side, value)

    def _is_moved(self, side: CaseSide, value: int) -> bool:
        """Whether a value has a name, or is one that has moved: it is written out."""
        tape, known = side.view.tape, self.of(side)
        while value not in known:
            op = tape.producer(value)
            if op is None or op.role != "move" or len(op.inputs) != 1:
                return False
            value = op.inputs[0]
        return True

    def _name_constants(self) -> None:
        """What no input reaches: a number, or one name for equal arrays, however they lie.

        The host of one side may have made what the other side computes of its inputs.
        """
        given = self._case.first.given
        known = [
            (names[value], array)
            for side, names in ((self._own, self._names[False]), (self._other, self._names[True]))
            for value, array in zip(names, side.values(given, names), strict=True)
        ]
        live = len(known)
        for side in (self._own, self._other):
            names = self._names[side.is_candidate]
            read = [*_read(side, live=False), *(leaf.id for leaf in side.view.leaves)]
            values = [value for value in dict.fromkeys(read) if value not in names]
            for value, array in zip(values, side.values(given, values), strict=True):
                if array.size and (array == array.flat[0]).all() and _is_literal(side, value):
                    names[value] = f"{array.flat[0]:.6g}"
                    continue
                equal = (at for at, (_, one) in enumerate(known) if _order([(one, array)]))
                at = next(equal, len(known))
                names[value] = known[at][0] if at < len(known) else self._new(side, value)
                known.append((names[value], array))
                if at >= live:
                    self._constants.add(names[value])

    # --- what both compute ------------------------------------------------------------------------

    def _name_common(self) -> None:
        """Values inside both regions that are one on all inputs."""
        made = [_made(self._own), _made(self._other)]
        runs = [
            [side.values(trial.given, values) for trial in self._case.trials()]
            for side, values in zip((self._own, self._other), made, strict=True)
        ]
        for (i, value), (j, other) in itertools.product(*map(enumerate, made)):
            if value in self._names[False] or other in self._names[True]:
                continue
            order = _order([(a[i], b[j]) for a, b in zip(*runs, strict=True)])
            if order is not None:
                name = self._names[False][value] = self._new(self._other, other)
                self._names[True][other] = name + _OTHERWISE * _turns(order)


def _contents(array: Array) -> str:
    """The numbers that an array holds if they are few, or its first ones."""
    numbers = list(dict.fromkeys(array.ravel().tolist()))
    few = numbers if len(numbers) <= _FEW else array.ravel()[:_FEW].tolist()
    return ", ".join(f"{one:.6g}" for one in few) + ", ..." * (len(numbers) > _FEW)


def _is_literal(side: CaseSide, value: int) -> bool:
    """Whether a value that no input reaches is made of numbers that the code states."""
    values = side.view.tape.values
    return all(values[leaf].kind == "constant" for leaf in side.view.sources(value))


def _read(side: CaseSide, live: bool) -> Iterator[int]:
    """What a region's operations read that none of them gives, and its end if it has none."""
    view = side.view
    inside = {op.index for op in view.ops}
    read = dict.fromkeys([*(value for op in view.ops for value in op.inputs), view.end])
    for value in read:
        if view.tape.values[value].op not in inside and view.tape.is_live(value) == live:
            yield value


def _made(side: CaseSide) -> list[int]:
    """What a region's operations compute of the inputs, but for its end."""
    values = (value for op in side.view.ops if not op.static for value in op.outputs)
    return [value for value in values if value != side.view.end]


def _order(pairs: Sequence[tuple[Array, Array]]) -> Order | None:
    """The order in which the second of each pair holds the first."""
    first, second = pairs[0]
    if first.size != second.size or first.size < 2 or first.dtype.kind != second.dtype.kind:
        return None
    for order in itertools.islice(orders(first.shape, second.shape), 6):
        if all(a.size == b.size and _equal(order.apply(a), b) for a, b in pairs):
            return order
    return None


def _equal(one: Array, other: Array) -> bool:
    if one.dtype.kind != "f":
        return bool((one == other).all())
    return residual(one, other) <= SAME


def _turns(order: Order) -> bool:
    """Whether what it lays out lies otherwise afterwards, but for axes of length 1."""
    return order.axes != tuple(sorted(order.axes))
