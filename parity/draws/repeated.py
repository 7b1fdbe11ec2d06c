"""Draws that are one: a run that draws the same samples twice has drawn them once.

So where one seed is used twice, where a key is not folded in, or where the state of a generator is
put back. Whoever gives each of them samples of its own takes noise for independent that is not.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from parity.draws.draw import Array, Draw, Gave, Transform
from parity.draws.families import can_be_moved, known, standard, stretched
from parity.draws.settled import BITS, bits_of, state_of
from parity.tape import Op, Replay, Tape

_HEAD = 64  # samples by which draws are distinguished at first
_SHIFTED = 65_536  # samples in which one may begin among those of another
_ROUNDING = 1e-5  # of a standardised sample that was stretched in float32


def joined(tape: Tape) -> Tape:
    """The tape, in which a draw that gives samples again is made of the one that gave them first.

    A draw that repeats another in some other way is lost: no fresh samples belong together so.
    """
    ops, firsts, lost = list(tape.ops), list[_Drawn](), list[str]()
    for op in tape.ops:
        if not _may_repeat(tape, op):
            continue
        drawn = _Drawn(tape, op)
        first = next((one for one in firsts if drawn.repeats(one)), None)
        how = "from the same state of a generator"
        if first is None:
            first = next((one for one in firsts if drawn.overlaps(one)), None)
            how = "from a state a few numbers further on"
            if first is None:
                firsts.append(drawn)
                continue
        else:
            again = drawn.made_of(first)
            if again is not None and _gives_the_same(tape, again):
                ops[op.index] = again
                continue
        lost.append(
            f"random numbers are drawn at {first.op.site.source or first.op.kind} and again {how} "
            f"at {op.site.source or op.kind}: they go together in a way that fresh samples have "
            "not. Draw once and use it twice, or draw from two seeds"
        )
        firsts.append(drawn)
    if ops == tape.ops and not lost:
        return tape
    return replace(tape, ops=ops, lost_draws=[*tape.lost_draws, *dict.fromkeys(lost)])


def _may_repeat(tape: Tape, op: Op) -> bool:
    """Whether an operation draws what is computed with, and no seed for others to draw by."""
    if op.role != "random" or op.index not in tape.used or len(op.outputs) != 1:
        return False
    made = tape.values[op.outputs[0]]
    return made.size > 0 and (op.draw is not None or _is_real(made.dtype))


class _Drawn:
    def __init__(self, tape: Tape, op: Op) -> None:
        self.op = op
        made = tape.values[op.outputs[0]]
        self.shape, self.real = made.shape, _is_real(made.dtype)
        noise = tape.adapter.to_numpy(tape.recorded[made.id]).ravel()
        moved = op.draw is not None and can_be_moved(op.draw)
        self.noise = standard(noise, op.draw) if moved and op.draw else noise
        self.head = self.noise[:_HEAD]
        given = op.call.result if isinstance(op.call, Gave) else noise
        # what has more information than the result that it was made of was made up beside it
        self.made_up = bits_of(noise) > bits_of(given)
        # what has but one outcome may leave a generator as it was
        self.state = state_of(op) if bits_of(given) > 0 else b""
        # where a law hangs on values it may leave no choice, and equal samples show nothing
        orders = op.draw is not None and op.draw.name == "permutation"
        self.informative = not self.made_up and (self.real or known(op.draw) or orders)

    def repeats(self, first: _Drawn) -> bool:
        """Whether these are no other samples: by a generator's state, or by themselves."""
        if self.state and self.state == first.state:
            return True
        if not (self.informative and first.informative and self._is_of_one_law(first)):
            return False
        shorter = min(self.noise, first.noise, key=len)
        return self._begins_as(first) and bits_of(shorter) >= BITS

    def overlaps(self, first: _Drawn) -> bool:
        """Whether one of them begins among the samples of the other, as of one stream."""
        both = self.informative and first.informative
        if not (self.real and both and self._is_of_one_law(first)):
            return False
        if len(np.unique(self.head)) < len(self.head):  # masks have few values
            return False
        sides = self.noise[:_SHIFTED], first.noise[:_SHIFTED]
        for inner, outer in (sides, sides[::-1]):
            for at in np.flatnonzero(np.abs(outer - inner[0]) <= _ROUNDING * abs(inner[0])):
                shared = outer[at : at + inner.size]
                if bits_of(shared) >= BITS and np.allclose(
                    inner[: shared.size], shared, _ROUNDING, _ROUNDING
                ):
                    return True
        return False

    def made_of(self, first: _Drawn) -> Op | None:
        """The operation as one that takes its samples from an earlier draw; None if it cannot."""
        if not self._is_of_one_law(first) or self.noise.size > first.noise.size:
            return None
        if not (self.made_up and first.made_up) and not self._begins_as(first):
            return None
        again = functools.partial(_again, self.shape, first.op.draw, self.op.draw)
        inputs, call = first.op.outputs, Transform(again)
        return replace(self.op, role="compute", inputs=inputs, call=call, draw=None)

    def _begins_as(self, first: _Drawn) -> bool:
        """Whether the shorter of both is how the longer begins."""
        for one, other in ((self.head, first.head), (self.noise, first.noise)):
            size = min(one.size, other.size)
            if not np.allclose(one[:size], other[:size], _ROUNDING, _ROUNDING):
                return False
        return True

    def _is_of_one_law(self, first: _Drawn) -> bool:
        """Whether equal samples, standardised where they can be, are equal draws."""
        a, b = self.op.draw, first.op.draw
        if a is None or b is None:
            return a is b and self.op.kind == first.op.kind
        return a.name == b.name and (can_be_moved(a) or a.parameters == b.parameters)


def _is_real(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))


def _again(
    shape: tuple[int, ...], source: Draw | None, target: Draw | None, noise: Array
) -> Sequence[Array]:
    """The first samples of a draw, as those of another of its family."""
    taken = noise.ravel()[: math.prod(shape)].reshape(shape)
    if source is None or target is None or source == target or not can_be_moved(source):
        return [taken]
    return [stretched(standard(taken, source), target)]


def _gives_the_same(tape: Tape, again: Op) -> bool:
    """Whether what reads a draw gives what it gave."""
    recorded = tape.adapter.to_numpy
    run = Replay(tape, None, dict(tape.recorded))
    for op in (again, *(tape.ops[index] for index in tape.consumers[again.outputs[0]])):
        run.step(op)
        for value in op.outputs:
            a, b = run.array(value), recorded(tape.recorded[value])
            made_up = value in again.outputs
            if not made_up and not np.allclose(a, b, _ROUNDING, _ROUNDING, equal_nan=True):
                return False
    return True
