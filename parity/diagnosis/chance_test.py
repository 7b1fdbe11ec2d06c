"""Do models differ where chance cannot be why? Asked where draws cannot be followed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parity.diagnosis import limits
from parity.diagnosis.outputs import in_reference_layout
from parity.diagnosis.region import OutputPair
from parity.diagnosis.replay_check import PlainRun
from parity.errors import ParityError
from parity.matching.match import Match
from parity.tape import Array


def chance_may_be_why(
    matched: Match, pairs: Sequence[OutputPair], plain: tuple[PlainRun, PlainRun]
) -> bool:
    """Whether all in which the outputs differ may be other random numbers.

    Each model runs several times, on others each time. It is not chance where some element is
    always larger in one model than it ever is in the other.
    """
    try:
        reference, candidate = (
            [side.redrawn(turn) for turn in range(limits.CHANCE_TURNS)] for side in plain
        )
    except ParityError:  # one does not take the numbers that it may draw: its runs tell nothing
        return True
    for pair in pairs:
        name, other = pair.names
        laid_out = [
            in_reference_layout(matched, pair, one[other]) for one in candidate if other in one
        ]
        a, b = _ends([one[name] for one in reference if name in one]), _ends(laid_out)
        if a is None or b is None:
            continue  # other shapes in each run
        (low, high), (least, largest) = a, b
        gap = np.fmax(least - high, low - largest)
        if (gap > limits.CHANCE_APART * np.fmax(abs(low), abs(high))).any():
            return False
    return True


def _ends(runs: Sequence[Array | None]) -> tuple[Array, Array] | None:
    """The least and the largest that each element was; None where shapes changed."""
    arrays = [one for one in runs if one is not None and one.dtype.kind in "biuf"]
    if len({one.shape for one in arrays}) != 1 or len(arrays) < len(runs):
        return None
    together = np.stack(arrays).astype(np.float64)
    return together.min(0), together.max(0)
