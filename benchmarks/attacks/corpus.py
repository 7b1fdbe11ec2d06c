"""What an attack is, and the list of all of them.

An attack is a function that builds a reference, a candidate with a real fault that one rule of
`parity` might hide, and a correct twin of that candidate. It is built anew whenever it is needed,
so that no run leaves a trace in another.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.attacks import rules


@dataclass(frozen=True)
class Side:
    """A model as it is handed to `parity.wrap`.

    Attributes:
        options: of `parity.wrap`.
        dtype: in which a user gives it floating inputs.
    """

    model: Any
    framework: str
    options: Mapping[str, Any] = field(default_factory=dict)
    dtype: str = "float32"


@dataclass(frozen=True)
class Case:
    """An attack as it was built.

    Attributes:
        inputs: an array, a tuple or a dict, for all sides.
        read: turns what a model returns into a list of arrays, where that takes more than walking
            through tuples and dicts.
        exact: whether the inputs are exact as they are, such as whole numbers in float32; then
            they are not moved where rounding is measured.
        unit: of the largest element, what the models' own precision leaves, if it is not float32.
        elsewhere: inputs on which the fault shows, where it does not on `inputs`.
    """

    reference: Side
    faulty: Side
    twin: Side
    inputs: Any
    read: Callable[[Any], list[Any]] | None = None
    elsewhere: Any = None
    exact: bool = False
    unit: float = 0.0


@dataclass(frozen=True)
class Attack:
    """One attack.

    Attributes:
        rule: that it is to break.
        round: 1 for what was known to break, 2 for what was invented afterwards, 3 for what is
            to break the rules that fix those, 4 and 5 for what was written with all rules read,
            read.
        about: what differs, in a line.
    """

    name: str
    rule: str
    about: str
    build: Callable[[], Case]
    round: int = 1


_FOUND: dict[str, Attack] = {}


def attack(
    rule: str, about: str = "", round: int = 1, variants: Mapping[str, Sequence[Any]] | None = None
) -> Callable[[Callable[..., Case]], Callable[..., Case]]:
    """Registers a function as an attack; with variants, once for each with its arguments."""

    def register(build: Callable[..., Case]) -> Callable[..., Case]:
        text = about or (build.__doc__ or "").strip().partition("\n")[0]
        base = build.__name__.replace("_", "-").strip("-")
        for variant, arguments in (variants or {"": ()}).items():
            name = f"{base}-{variant}" if variant else base
            if name in _FOUND:
                raise ValueError(f"two attacks are named {name}")

            def bound(arguments: Sequence[Any] = arguments) -> Case:
                return build(*arguments)

            _FOUND[name] = Attack(name, rule, text, bound, round)
        return build

    return register


def attacks() -> dict[str, Attack]:
    """All attacks by name, in the order of their files."""
    for module in pkgutil.iter_modules(rules.__path__):
        importlib.import_module(f"{rules.__name__}.{module.name}")
    return dict(_FOUND)


# --- for those who write attacks ------------------------------------------------------------------


def torch_(model: Any, dtype: str = "float32", **options: Any) -> Side:
    return Side(model, "torch", options, dtype)


def tf_(model: Any, dtype: str = "float32", **options: Any) -> Side:
    return Side(model, "tensorflow", options, dtype)


def chainer_(model: Any, dtype: str = "float32", **options: Any) -> Side:
    return Side(model, "chainer", options, dtype)


def numpy_(model: Any, dtype: str = "float32", **options: Any) -> Side:
    return Side(model, "numpy", options, dtype)


def normal(*shape: int, seed: int = 0, scale: float = 1.0) -> Any:
    """Normal float32 values, the same whenever they are asked for."""
    random = np.random.default_rng([seed, *shape])
    return (scale * random.standard_normal(shape)).astype(np.float32)


def weights(rows: int, columns: int, seed: int = 0) -> Any:
    """A float32 matrix (in, out) that keeps the size of what it multiplies."""
    return normal(rows, columns, seed=seed, scale=rows**-0.5)


def uniform(*shape: int, low: float = 0.0, high: float = 1.0, seed: int = 0) -> Any:
    random = np.random.default_rng([seed, *shape])
    return random.uniform(low, high, shape).astype(np.float32)
