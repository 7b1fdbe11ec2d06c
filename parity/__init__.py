"""Numerical parity between models of different deep-learning frameworks.

The public face, and lazy: importing `parity` imports no framework, and not even NumPy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from parity.frameworks import import_hooks

if TYPE_CHECKING:
    from parity import rl
    from parity.call_sequence import calls
    from parity.comparison import compare, structure
    from parity.errors import ParityError
    from parity.model import Model, wrap
    from parity.observations import observations
    from parity.observations.rollout import rollout
    from parity.report.report import Report
    from parity.result import Structure
    from parity.weights.inventory import inventory
    from parity.weights.sharing import Sharing, sharing
    from parity.weights.transfer import Transfer, transfer

__version__ = "0.1.0"
__all__ = [
    "Model",
    "ParityError",
    "Report",
    "Sharing",
    "Structure",
    "Transfer",
    "calls",
    "compare",
    "inventory",
    "observations",
    "rl",
    "rollout",
    "sharing",
    "structure",
    "transfer",
    "wrap",
]

_HOMES = {
    "calls": "parity.call_sequence",
    "compare": "parity.comparison",
    "Model": "parity.model",
    "ParityError": "parity.errors",
    "Report": "parity.report.report",
    "Sharing": "parity.weights.sharing",
    "Structure": "parity.result",
    "Transfer": "parity.weights.transfer",
    "rollout": "parity.observations.rollout",
    "inventory": "parity.weights.inventory",
    "sharing": "parity.weights.sharing",
    "structure": "parity.comparison",
    "transfer": "parity.weights.transfer",
    "wrap": "parity.model",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in ("observations", "rl"):  # the first can be called; importing puts them here for good
        return importlib.import_module(f"parity.{name}")
    raise AttributeError(f"module 'parity' has no attribute {name!r}")


import_hooks.install()


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
