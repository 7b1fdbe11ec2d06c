"""Hypothesis strategies for what networks of reinforcement learning take.

`parity.observations(space)` is the first of them, so this package can be called.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from hypothesis import strategies as st

from parity.observations.distributions import distributions
from parity.observations.edges import EDGES
from parity.observations.recorded import recorded
from parity.observations.rollout import rollout, windows
from parity.observations.spaces import Batch, arrays, batch_sizes, observations
from parity.observations.structured import PADDINGS, action_masks, sequences

__all__ = [
    "EDGES",
    "PADDINGS",
    "action_masks",
    "arrays",
    "batch_sizes",
    "distributions",
    "observations",
    "recorded",
    "rollout",
    "sequences",
    "windows",
]


class _Called(ModuleType):
    """This module, which is `observations` when called."""

    def __call__(
        self, space: Any, batch: Batch = None, *, edges: Iterable[str] = (), max_length: int = 5
    ) -> st.SearchStrategy[Any]:
        return observations(space, batch, edges=edges, max_length=max_length)

    __call__.__doc__ = observations.__doc__


sys.modules[__name__].__class__ = _Called
