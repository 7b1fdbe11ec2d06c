"""Whatever a model holds is as it was after parity has run it: `left_as_it_was`."""

from parity.keeping.kept import (
    left_as_it_was,
    looked_through,
    lost,
    once,
    one_comparison,
    other_generators,
    reporting_losses,
    streams,
    was_built,
)
from parity.keeping.structure import Structure

__all__ = [
    "Structure",
    "left_as_it_was",
    "looked_through",
    "lost",
    "once",
    "one_comparison",
    "other_generators",
    "reporting_losses",
    "streams",
    "was_built",
]
