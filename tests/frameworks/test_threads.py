"""Models that give work to threads: what they compute there is recorded as anything else."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool
from typing import Any

import numpy as np
import pytest
import torch

import parity
from parity.frameworks import torch as adapter
from parity.frameworks.chainer_numpy import import_chainer

tf = pytest.importorskip("tensorflow")
F = import_chainer().functions

MEMBERS = 4
draw = np.random.default_rng(0)
X = draw.standard_normal((16, 16)).astype("f")
WEIGHTS = [draw.standard_normal((16, 16)).astype("f") / 2 for _ in range(MEMBERS)]
Member = Callable[[int], Any]
OLD = ThreadPoolExecutor(2)
list(OLD.map(str, range(8)))  # its threads are there before any model runs


def one_by_one(member: Member) -> list[Any]:
    return [member(index) for index in range(MEMBERS)]


def in_a_pool(member: Member) -> list[Any]:
    with ThreadPoolExecutor(3) as pool:
        return list(pool.map(member, range(MEMBERS)))


def in_an_old_pool(member: Member) -> list[Any]:
    return list(OLD.map(member, range(MEMBERS)))


def in_a_pool_of_multiprocessing(member: Member) -> list[Any]:
    with ThreadPool(3) as pool:
        return pool.map(member, range(MEMBERS))


def in_threads(member: Member) -> list[Any]:
    found: list[Any] = [None] * MEMBERS

    def run(index: int) -> None:
        found[index] = member(index)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(MEMBERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


WAYS = [in_a_pool, in_an_old_pool, in_a_pool_of_multiprocessing, in_threads]
Way = Callable[[Member], list[Any]]


def ensemble(framework: str, way: Way, factor: float = 1.0, layers: int = 5) -> Any:
    """The mean of four networks; the third has a factor."""
    tanh, product, mean = {
        "torch": (
            torch.tanh,
            lambda h, w: h @ torch.from_numpy(w),
            lambda m: torch.stack(m).mean(0),
        ),
        "tensorflow": (tf.tanh, tf.matmul, lambda m: tf.reduce_mean(tf.stack(m), 0)),
        "chainer": (F.tanh, F.matmul, lambda m: F.mean(F.stack(m), 0)),
    }[framework]

    def model(x: Any) -> Any:
        def member(index: int) -> Any:
            h = x
            for _ in range(layers):
                h = tanh(product(h, WEIGHTS[index]) * (factor if index == 2 else 1.0))
            return h

        return mean(way(member))

    return parity.wrap(model, framework)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("framework", ["torch", "tensorflow", "chainer"])
def test_an_ensemble_in_threads_is_the_one_without(framework: str, way: Way) -> None:
    reference = ensemble("torch", one_by_one)
    found = parity.compare(reference, ensemble(framework, way), inputs=X).comparisons[0]
    assert found.verdict == "parity" and not found.notes
    assert found.coverage.candidate_matched > 4 * MEMBERS
    faulty = parity.compare(reference, ensemble(framework, way, 1.001), inputs=X)
    assert faulty.verdict == "diverged"
    assert all(__file__ in found.candidate.source for found in faulty.divergences)


def test_a_thread_that_goes_on_is_left_alone_afterwards() -> None:
    pool = ThreadPool(2)
    model = parity.wrap(lambda x: torch.stack(pool.map(torch.tanh, [x, 2 * x])).sum(0), "torch")
    assert parity.compare(model, model, inputs=X).verdict in ("parity", "unverified")
    run = threading.Thread.run
    own = ThreadPoolExecutor(1)
    lazy = parity.wrap(lambda x: own.submit(torch.tanh, x).result(), "torch")
    assert parity.compare(lazy, lazy, inputs=X).verdict == "parity"
    assert threading.Thread.run is run
    assert torch.equal(own.submit(torch.tanh, torch.ones(2)).result(), torch.tanh(torch.ones(2)))
    pool.terminate()


def test_threads_that_nobody_follows_would_alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "followed", lambda entering: contextlib.nullcontext())
    pair = ensemble("torch", one_by_one, layers=40), ensemble("torch", in_a_pool, layers=40)
    assert parity.compare(*pair, inputs=X).verdict != "parity"
