"""What a pair states of itself, and the table of all pairs. Nothing here imports a framework."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any


@dataclass(frozen=True)
class Fault:
    """What is different in the candidate.

    Attributes:
        what: what was changed, in words.
        causes: the kinds of causes that are right.
        places: parts of a layer's path or of a line in either model, or an operation's word; the
            first divergence is at one of them.
    """

    what: str
    causes: tuple[str, ...]
    places: tuple[str, ...]


@dataclass(frozen=True)
class Built:
    """Both models, as `parity.compare` takes them, and the inputs for the reference."""

    reference: Any
    candidate: Any
    inputs: Any


@dataclass(frozen=True)
class Pair:
    """Two models that compute the same, or with a fault would.

    Attributes:
        package: where the models are from, as the tables say it.
        needs: modules without which it is skipped.
        build: makes both, with the same weights.
        keras_2: whether TensorFlow has to run with Keras 2.
    """

    name: str
    package: str
    needs: tuple[str, ...]
    build: Callable[[], Built]
    fault: Fault | None = None
    keras_2: bool = False

    @property
    def missing(self) -> tuple[str, ...]:
        """The modules that are not installed."""
        return tuple(name for name in self.needs if find_spec(name) is None)


def pairs() -> dict[str, Pair]:
    """All pairs, by name."""
    from benchmarks.strangers import agents, text, vision, zoo

    found: dict[str, Pair] = {}
    for module in (agents, zoo, vision, text):
        for pair in module.PAIRS:
            if pair.name in found:
                raise ValueError(f"there are two pairs {pair.name}")
            found[pair.name] = pair
    return found
