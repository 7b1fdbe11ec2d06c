"""Mutated programs that the very many comparisons of `benchmarks.verdict.many` got wrong."""

from __future__ import annotations

import pytest

from benchmarks.attacks.mutations.judge import pair, report, truth


@pytest.mark.parametrize(
    "seed",
    [
        200044029,  # a weight in float16: as little as rounding where it is read, and more later
        200073145,  # flags as outputs, and few of the values inside met: it raised
    ],
)
def test_it_is_diverged(seed: int) -> None:
    given = pair(seed)
    assert given is not None and truth(given)[0] == "fault"
    assert report(given, given.mutation.program).verdict == "diverged"
