"""Runs attacks through `parity.compare`, in this process or in several."""

from __future__ import annotations

import functools
import multiprocessing
import os
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from benchmarks.verdict.jobs import quieten


@dataclass(frozen=True)
class Result:
    """What came of one attack.

    Attributes:
        faulty, twin: a verdict, or `"refused: ..."` for a clear error of the project's own, or
            `"crash: ..."` for any other.
        problem: what is wrong with the attack itself.
    """

    name: str
    rule: str
    round: int
    about: str
    faulty: str
    twin: str
    problem: str
    times: float
    seconds: float

    @property
    def wrong_pass(self) -> bool:
        return self.faulty == "parity"

    @property
    def alarm(self) -> bool:
        return self.twin == "diverged"

    @property
    def crash(self) -> bool:
        return self.faulty.startswith("crash") or self.twin.startswith("crash")

    @property
    def fails(self) -> bool:
        return self.wrong_pass or self.alarm or self.crash or bool(self.problem)


def judged(name: str, seed: int = 0) -> Result:
    """One attack by its name; its frameworks' generators start from a seed."""
    quieten()
    from benchmarks.attacks.corpus import attacks
    from benchmarks.attacks.truth import truth
    from benchmarks.seeds import seed_all

    seed_all(seed)
    attack = attacks()[name]
    started = time.perf_counter()
    times, problem = float("nan"), ""
    try:
        measured = truth(attack)
        times, problem = measured.faulty, measured.problem
    except Exception as error:
        problem = f"the attack raised {type(error).__name__}: {error}"
    return Result(
        name,
        attack.rule,
        attack.round,
        attack.about,
        verdict(attack, "faulty", seed),
        verdict(attack, "twin", seed),
        problem,
        times,
        time.perf_counter() - started,
    )


def verdict(attack: object, side: str, seed: int = 0) -> str:
    """What `parity.compare` says of the faulty candidate, or of the twin."""
    import parity
    from parity.errors import ParityError

    try:
        return str(report(attack, side, seed).verdict)
    except ParityError as error:
        return f"refused: {str(error).partition(chr(10))[0]}"
    except Exception as error:
        return f"crash: {type(error).__name__}: {error}"
    finally:
        del parity


def report(attack: object, side: str, seed: int = 0) -> object:
    """The report on the faulty candidate, or on the twin."""
    import parity
    from benchmarks.seeds import seed_all

    seed_all(seed)
    case = attack.build()  # type: ignore[attr-defined]
    models = [
        parity.wrap(one.model, framework=one.framework, **one.options)
        for one in (case.reference, getattr(case, side))
    ]
    return parity.compare(*models, inputs=case.inputs)


def run(names: Iterable[str], jobs: int, seed: int = 0) -> Iterator[Result]:
    """The results of attacks, in their order."""
    names, one = list(names), functools.partial(judged, seed=seed)
    if jobs == 1:
        yield from map(one, names)
        return
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    context = multiprocessing.get_context("spawn")  # frameworks do not survive a fork
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        yield from pool.map(one, names, chunksize=4)
