"""Models among what a model returns, as of a meta-learner: known by what they offer."""

from __future__ import annotations

import dataclasses
from typing import Any

from parity.frameworks import traits


@dataclasses.dataclass(frozen=True)
class Returned:
    """What a model that was returned is beside its parameters: its layers and their settings."""

    model: Any


def parameters(thing: Any) -> dict[str, Any] | None:
    """The parameters and buffers of a model by name; None for what is no model."""
    if isinstance(thing, type):
        return None
    return next((found for one in traits() if (found := one.parameters(thing)) is not None), None)
