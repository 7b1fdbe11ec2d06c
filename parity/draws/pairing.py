"""Which of the reference's draws is substituted for which of the candidate's.

A candidate's draw gets the reference's samples in its own layout: the same values where both draw
from one distribution, else those with the same probabilities, which it might have drawn itself.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from parity.draws.draw import Draw, generator
from parity.draws.families import couple, known
from parity.draws.units import Origins, Unit, origins, units
from parity.errors import ReplayError
from parity.matching.axis_order import Order, orders
from parity.matching.fingerprint import fingerprint
from parity.matching.limits import SAME
from parity.numerics.difference import residual
from parity.numerics.limits import U32
from parity.tape import Array, Op, Replay, Tape

if TYPE_CHECKING:
    from parity.matching.match import Match, Side

_ORDERS = 24  # in which a draw's axes may lie in the other's, or draws of one law may be paired
_OPTIONS = 24  # counterparts and layouts that are tried for a draw
_AHEAD = 24  # operations behind a draw that may speak for a pair
_MISSES = 8  # of them that mix it with the model's data, and have no partner
_PIECES = 32  # of a draw that is cut, for each of which as many may
_EACH = 1e-7  # relative, by which each of a kernel's parameters may be off
_ROUNDED = 1e-4  # the same where what they are computed of is rounded
_OF_THE_LARGEST = 2.0**-46  # of them, what cancels in float64
_TRIES = 4  # assignments of draws for which operations behind them do not speak


@dataclass(frozen=True)
class Choice:
    """The reference's draw for one of the candidate's.

    Attributes:
        order: lays its samples out as the candidate's.
        mirrored: whether what is likely to be exceeded there is likely not to be here.
        evidence: 2 if what mixes it with the model's data has a partner then, 1 if only what is
            made of the draw alone has, else 0.
    """

    reference: Unit
    order: Order
    mirrored: bool
    evidence: int


@dataclass
class Drawing:
    """The draws of two tapes, and what was decided of each.

    Attributes:
        chosen: by the candidate's value.
        turn: of the samples: 0 for those that were recorded.
        expected: the counterparts by program order, where only these are to be tried.
        fresh: samples for the candidate's draws that have no counterpart.
        alone: the candidate in float64, of which nothing but the inputs was replaced.
        laws: what many runs of both show of some outputs, by these: as true of other samples.
    """

    reference: list[Unit]
    candidate: dict[int, Unit]
    origins: tuple[Origins, Origins]
    chosen: dict[int, Choice] = field(default_factory=dict)
    turn: int = 0
    expected: dict[int, Unit] = field(default_factory=dict)
    fresh: Mapping[int, Array] = field(default_factory=dict)
    alone: Replay | None = None
    laws: dict[tuple[Any, ...], Any] = field(default_factory=dict)
    _behind: dict[int, set[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, reference: Tape, candidate: Tape) -> Drawing:
        first, second = units(reference, candidate)
        if not first and not second:
            return cls.of_none()
        both = origins(reference), origins(candidate)
        return cls(first, {unit.value: unit for unit in second}, both)

    def in_program_order(self) -> Drawing | None:
        """The same draws, to be paired in the order in which they are drawn; None if one has none.

        Draws of one size and of distributions that can be compared are counted off.
        """
        left = list(self.reference)
        expected = {}
        for value, unit in self.candidate.items():
            fitting = [
                one for one in left if one.size == unit.size and comparable(one.draw, unit.draw)
            ]
            if not fitting:
                return None
            left.remove(fitting[0])
            expected[value] = fitting[0]
        return replace(self, chosen={}, expected=expected)

    @classmethod
    def of_none(cls) -> Drawing:
        nothing = Origins(frozenset(), frozenset())
        return cls([], {}, (nothing, nothing))

    @property
    def free(self) -> list[Unit]:
        """The reference's draws that have no counterpart yet."""
        taken = {choice.reference.value for choice in self.chosen.values()}
        return [unit for unit in self.reference if unit.value not in taken]

    @property
    def unpaired(self) -> list[Unit]:
        """The candidate's draws that have no counterpart."""
        return [unit for unit in self.candidate.values() if unit.value not in self.chosen]

    @cached_property
    def seeds(self) -> dict[int, int]:
        return {value: at for at, value in enumerate(self.candidate)}

    def behind(self, tape: Tape, value: int) -> set[int]:
        """A draw of the reference, and what is computed from it."""
        if value not in self._behind:
            self._behind[value] = tape.graph.forward([value])
        return self._behind[value]


def alike(a: Draw | None, b: Draw | None) -> bool:
    """Whether two draws are from one distribution, but for float32 rounding of its parameters."""
    if a is None or b is None or a.name != b.name or a.parameters.keys() != b.parameters.keys():
        return False
    return all(
        bool(np.isclose(a.parameters[key], b.parameters[key], 4 * U32, 0)) for key in a.parameters
    )


def comparable(a: Draw | None, b: Draw | None) -> bool:
    """Whether samples of one can be substituted for samples of the other."""
    return (known(a) and known(b)) or alike(a, b)


def substitute(found: Match, op: Op, value: int, run: Replay) -> None:
    """Substitutes the reference's samples for a draw of the candidate that has a counterpart."""
    drawing = found.drawing
    unit = drawing.candidate[value]
    choice = drawing.chosen.get(value)
    if choice is None:
        choice = _best(found, unit, op, run)
        if choice is None:
            if value in drawing.fresh:
                run.draw(value, drawing.fresh[value])
                found.draws[value] = drawing.fresh[value]
                found.side.forget(value)
            return
        drawing.chosen[value] = choice
    one = _is_one(found, unit, choice, run)
    if not one and not known(unit.draw):
        return  # a kernel of its own, with other parameters: what it drew says nothing
    array = samples(found, unit, choice, found.reference)
    run.draw(value, array)
    found.side.forget(value)
    found.draws[value] = array
    found.pairs.pop(value, None)
    if one:
        found.settle(value, choice.reference.value, choice.order)


def samples(found: Match, unit: Unit, choice: Choice, reference: Side | Replay) -> Array:
    """The reference's samples as the candidate's draw has them."""
    drawing = found.drawing
    drawn = reference.array(choice.reference.value)
    source, target = choice.reference.draw, unit.draw
    if known(source) and known(target) and (choice.mirrored or not alike(source, target)):
        random = generator(drawing.turn, drawing.seeds[unit.value])
        drawn = couple(drawn, source, target, choice.mirrored, random)
    dtype = found.side.tape.values[unit.value].dtype
    array = choice.order.apply(drawn)
    return array.astype(np.float64 if dtype.startswith(("float", "bfloat")) else dtype)


def _is_one(found: Match, unit: Unit, choice: Choice, run: Replay) -> bool:
    """Whether two draws are from one distribution, parameters that are values included."""
    source, target = choice.reference.draw, unit.draw
    if source is None or target is None or choice.mirrored or not alike(source, target):
        return False
    for name, value in target.reads.items():
        if name not in source.reads:
            return False
        a, b = found.reference.array(source.reads[name]), run.array(value)
        if not _are_one(a, b, choice, unit):
            return False
        if value not in found.drawing.origins[1].noise:  # the reference's may stand for it in `run`
            if found.drawing.alone is None:
                found.drawing.alone = found.side.tape.replay("float64", found.inputs)
            if not _are_one(a, found.drawing.alone.array(value), choice, unit):
                return False
    return True


def _agree(a: Array, b: Array) -> bool:
    """Whether parameters are one, each by its own size: a small rate beside a large one counts."""
    return bool(residual(a, b) <= SAME) and _near(a, b, _EACH)


def _near(a: Array, b: Array, relative: float = _ROUNDED) -> bool:
    """The same where neither model's values were put into the other, and constants are rounded."""
    size = np.abs(a[np.isfinite(a)]).max(initial=0.0)
    return bool(np.isclose(a, b, relative, _OF_THE_LARGEST * size, equal_nan=True).all())


def stays_one(unit: Unit, choice: Choice, reference: Replay, candidate: Replay) -> bool:
    """Whether two draws that were from one distribution are so in other runs of both models."""
    source, target = choice.reference.draw, unit.draw
    if source is None or target is None:
        return True
    return all(
        _are_one(reference.array(source.reads[name]), candidate.array(value), choice, unit, _near)
        for name, value in target.reads.items()
        if name in source.reads
    )


def _are_one(
    a: Array, b: Array, choice: Choice, unit: Unit, agree: Callable[[Array, Array], bool] = _agree
) -> bool:
    """Whether the same parameter stands behind each sample, in the order of the substitution."""
    try:
        a = choice.order.apply(np.broadcast_to(a, choice.reference.shape))
        b = np.broadcast_to(b, unit.shape)
    except ValueError:  # a parameter of all samples together
        return a.shape == b.shape and agree(a, b)
    return agree(a, b)


def _best(found: Match, unit: Unit, op: Op, run: Replay) -> Choice | None:
    """The first counterpart with which what follows has partners; else the first that fits.

    Of a kernel of its own those count whose parameters agree, if there are any.
    """
    best: Choice | None = None
    options = itertools.islice(_options(found.drawing, unit), _OPTIONS)
    choices = [Choice(other, order, mirrored, 0) for other, order, mirrored in options]
    if unit.draw is not None and unit.draw.reads:
        choices = [one for one in choices if _is_one(found, unit, one, run)] or choices
    for choice in choices:
        evidence = _evidence(found, unit, choice, op, run)
        if best is None or evidence > best.evidence:
            best = replace(choice, evidence=evidence)
        if evidence == 2:
            break
    return best


def _options(drawing: Drawing, unit: Unit) -> Iterator[tuple[Unit, Order, bool]]:
    """Counterparts in program order, those of the same distribution first."""
    free = [drawing.expected[unit.value]] if unit.value in drawing.expected else drawing.free
    fitting = [
        other for other in free if other.size == unit.size and comparable(other.draw, unit.draw)
    ]
    fitting.sort(key=lambda other: not alike(other.draw, unit.draw))
    for mirrored in (False, True):
        for other in fitting:
            if mirrored and not known(other.draw):
                continue
            for order in _layouts(other.shape, unit.shape):
                yield other, order, mirrored


def _layouts(reference: tuple[int, ...], candidate: tuple[int, ...]) -> list[Order]:
    size = math.prod(reference)
    found = list(itertools.islice(orders(reference, candidate), _ORDERS))
    found.sort(key=lambda order: not order.stable)
    flat = Order((0,) if size > 1 else (), (size,) if size > 1 else (), False, candidate)
    return found or [flat]


def _evidence(found: Match, unit: Unit, choice: Choice, op: Op, run: Replay) -> int:
    """What follows a draw shows of a counterpart; see `Choice`."""
    tape, drawing = found.side.tape, found.drawing
    branch = run.branch()
    branch.replace(unit.value, samples(found, unit, choice, found.reference))
    behind = drawing.behind(found.reference.tape, choice.reference.value)
    pieces = min(max(1, len(tape.consumers[unit.value])), _PIECES)  # each with readers of its own
    touched, misses, left = {unit.value}, 0, _AHEAD * pieces
    # that the samples are those that were substituted shows nothing
    made = behind - {choice.reference.value}
    best = int(_is_made(found, branch.array(unit.value), made))
    for later in tape.ops[op.index + 1 :]:
        if left <= 0 or misses >= _MISSES * pieces:
            break
        if touched.isdisjoint(later.inputs):
            continue
        touched.update(later.outputs)
        try:
            step_to(tape, later, branch, found)
        except ReplayError:
            return best
        if later.role == "move" and len(later.inputs) == 1:
            continue
        left -= 1
        for value in later.outputs:
            array = branch.array(value)
            if not array.size:
                continue
            print_ = fingerprint(array)
            partner = found.reference.partner(array, print_)
            if partner is None or isinstance(partner, int) or partner.reference not in behind:
                misses += drawing.origins[1].mixed(value)
            else:
                if drawing.origins[1].mixed(value) and print_.informative:
                    return 2
                best = max(best, int(print_.informative))
    return best


def _is_made(found: Match, array: Array, behind: set[int]) -> bool:
    """Whether the reference makes of its draw what the candidate draws, or its negative."""
    if array.dtype.kind != "f":
        return False
    for one in (array, -array):
        print_ = fingerprint(one)
        partner = found.reference.partner(one, print_) if print_.informative else None
        if not (partner is None or isinstance(partner, int)) and partner.reference in behind:
            return True
    return False


def step_to(tape: Tape, op: Op, run: Replay, found: Match) -> None:
    """Runs an operation, and before it whatever it needs that has not been run."""
    for value in op.inputs:
        producer = tape.producer(value)
        if producer is not None and value not in run:
            step_to(tape, producer, run, found)
    run.step(op, found.injected)


def mirrors(drawing: Drawing) -> Iterator[dict[int, Choice]]:
    """The same counterparts, and of one draw after another what is likely to be exceeded not.

    What is made of squares speaks for either.
    """
    for value, choice in itertools.islice(drawing.chosen.items(), _TRIES):
        if known(choice.reference.draw) and known(drawing.candidate[value].draw):
            yield {**drawing.chosen, value: replace(choice, mirrored=not choice.mirrored)}


def assignments(drawing: Drawing, of_all: bool = False) -> Iterator[dict[int, Choice]]:
    """Other assignments of those draws for which what follows does not speak, or of all."""
    chosen = drawing.chosen.items()
    unsure = [value for value, choice in chosen if of_all or choice.evidence < 2]
    groups: dict[int, list[int]] = {}
    for value in unsure:
        groups.setdefault(drawing.candidate[value].size, []).append(value)
    several = [group for group in groups.values() if len(group) > 1]
    if not several:
        return
    most = 1 + (_ORDERS if of_all else _TRIES)
    # a product holds all of what it is made of, and a dozen draws have 479 million orders
    orders = (itertools.islice(itertools.permutations(group), most) for group in several)
    for others in itertools.islice(itertools.product(*orders), 1, most):
        changed = dict(drawing.chosen)
        for group, order in zip(several, others, strict=True):
            for value, other in zip(group, order, strict=True):
                source = drawing.chosen[other].reference
                layout = _layouts(source.shape, drawing.candidate[value].shape)[0]
                if comparable(source.draw, drawing.candidate[value].draw):
                    changed[value] = Choice(source, layout, False, 1)
        yield changed
