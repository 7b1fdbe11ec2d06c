"""A clean pair: two ways to compute the same thing, and the inputs that it makes sense on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.corpus.scenarios.pair import Pair, Side, image_pair
from benchmarks.verdict.inputs import ALL


@dataclass(frozen=True)
class Clean:
    """A pair whose verdict must be parity on every input of its styles.

    Attributes:
        build: makes the pair, with one input as the example of shapes and dtypes.
        styles: of the inputs; see `benchmarks.verdict.inputs`.
        noted: the kind of note that the report must carry, if one.
    """

    name: str
    family: str
    build: Callable[[], Pair]
    styles: tuple[str, ...] = ALL
    noted: str = ""


# What a subject's function returns: the same computation in several frameworks or forms.
# Images in the inputs lie channels first; a form whose side has a layout gets them in its own.
Forms = tuple[Mapping[str, Side], tuple[np.ndarray, ...]]
SEED = 61


def pairs_of(
    family: str,
    subject: Callable[[np.random.Generator], Forms],
    *directions: tuple[str, str],
    **options: Any,
) -> Iterator[Clean]:
    """A clean pair for each direction, a reference's and a candidate's form by name."""
    title = subject.__name__.strip("_").replace("_", " ")
    for two in directions:
        yield Clean(f"{title}, {two[0]} to {two[1]}", family, _builder(subject, two), **options)


def _builder(
    subject: Callable[[np.random.Generator], Forms], two: tuple[str, str]
) -> Callable[[], Pair]:
    def build() -> Pair:
        forms, inputs = subject(np.random.default_rng(SEED))
        reference, candidate = (forms[name] for name in two)
        if reference.layout:
            return image_pair(reference, candidate, *inputs)
        return Pair(reference, candidate, inputs)

    return build
