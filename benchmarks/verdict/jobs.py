"""The benchmark's work, one pair or fault at a time, here or in several processes.

It is no part of `__main__`, which a spawned process cannot import.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any


def quieten() -> None:
    """No word from TensorFlow, and none from Gym, which says that it is old."""
    import warnings

    import numpy as np

    from parity.frameworks.import_hooks import silence

    silence()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")


def kinds() -> Any:
    from benchmarks.verdict.planted import KINDS

    return KINDS


def clean(name: str, count: int) -> list[Any]:
    quieten()
    from benchmarks.verdict.clean.catalogue import pairs
    from benchmarks.verdict.measure import measure_clean

    return list(measure_clean(next(one for one in pairs() if one.name == name), count))


def planted(name: str, count: int) -> list[Any]:
    quieten()
    from benchmarks.verdict.measure import measure_planted

    return list(measure_planted(next(one for one in kinds() if one.name == name), count))


def smallest(name: str, inputs: int) -> list[Any]:
    quieten()
    from benchmarks.verdict import measure
    from benchmarks.verdict.planted import DIRECTIONS

    kind = next(one for one in kinds() if one.name == name)
    return [measure.smallest(kind, two, inputs) for two in DIRECTIONS]


def spread(
    work: Callable[[str, int], list[Any]], names: list[str], count: int, jobs: int
) -> Iterator[list[Any]]:
    if jobs == 1:
        yield from (work(name, count) for name in names)
        return
    context = multiprocessing.get_context("spawn")  # frameworks do not survive a fork
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        yield from pool.map(work, names, [count] * len(names))
