"""Every clean pair, by family; the tests' own clean scenarios are among them."""

from __future__ import annotations

from benchmarks.corpus.scenarios import clean as scenarios

from . import (
    attention,
    deep,
    layers,
    libraries,
    low_precision,
    normalization,
    random,
    recurrent,
    whole_network,
)
from .subject import Clean

FAMILIES = (
    layers,
    normalization,
    recurrent,
    attention,
    deep,
    whole_network,
    low_precision,
    random,
    libraries,
)


def pairs() -> list[Clean]:
    found = [clean for family in FAMILIES for clean in family.pairs()]
    for name, build in scenarios.PAIRS.items():
        found.append(Clean(name, "scenarios", build))
    return found
