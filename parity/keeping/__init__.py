"""Whatever a model holds is as it was after parity has run it: `left_as_it_was`."""

from parity.keeping.kept import left_as_it_was, lost, one_comparison, other_generators, streams

__all__ = ["left_as_it_was", "lost", "one_comparison", "other_generators", "streams"]
