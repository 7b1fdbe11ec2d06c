"""The search: what it finds, what it leaves green, and what it costs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import parity
from parity.comparison import compare
from parity.frameworks import load
from parity.observations.search import search
from parity.observations.unrecorded import plain_runs

WEIGHT = torch.from_numpy(np.random.default_rng(3).standard_normal((7, 5)).astype("f"))
FLOATS = arrays(np.float32, (2, 7), elements=st.floats(-3, 3, width=32))
X = np.random.default_rng(0).standard_normal((8, 7)).astype("f")


def reference(x):
    return torch.tanh(x @ WEIGHT)


def port(x):
    return torch.tanh((WEIGHT.T @ x.T).T)


def wrapped(*functions, **more):
    return [parity.wrap(function, framework="torch", **more) for function in functions]


class Counted:
    """`parity.compare` of models, and on how much it was called."""

    def __init__(self, models):
        self.models, self.inputs = models, []

    def __call__(self, inputs):
        self.inputs.append(inputs)
        return compare(*self.models, inputs=inputs)


def searched(models, observations=FLOATS, examples=60, seed=0, phases=tuple(Phase)):
    full = Counted(models)
    chosen = settings(max_examples=examples, database=None, phases=phases)
    decorations = {
        "_hypothesis_internal_use_settings": chosen,
        "_hypothesis_internal_use_seed": seed,
    }
    return search(models, full, observations, decorations=decorations), full


# --- the benchmark's sample ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def pairs():
    pytest.importorskip("tensorflow")
    pytest.importorskip("pkg_resources", reason="Chainer needs setuptools<81")
    from benchmarks import search_pairs

    return {pair.name: pair for pair in (*search_pairs.FAULTS, *search_pairs.CLEAN)}


@pytest.mark.parametrize(
    "name",
    ["clipped-logit", "full-mask", "padding-index", "ties-in-argmax", "one-step", "large-pixels"],
)
def test_a_fault_that_few_observations_show_is_found(pairs, name):
    from benchmarks.search import EXAMPLES
    from benchmarks.search import searched as run

    assert all(run(pairs[name], seed, EXAMPLES).found for seed in (100, 101))


@pytest.mark.parametrize("name", ["linear", "masked", "recurrence"])
def test_a_clean_pair_stays_green(pairs, name):
    from benchmarks.search import searched as run

    found = run(pairs[name], 100, 100)
    assert found.green
    assert found.compared < 20


def test_the_benchmark_has_twenty_faults_and_ten_clean_pairs(pairs):
    assert len([pair for pair in pairs.values() if pair.shows]) == 20
    assert len([pair for pair in pairs.values() if not pair.shows]) == 10


# --- what is judged ------------------------------------------------------------------------------


def test_few_examples_of_models_that_agree_are_compared_in_full():
    found, full = searched(wrapped(reference, port), examples=200)
    assert (found.verdict, found.examples) == ("parity", 200)
    assert len(full.inputs) <= 10


def test_the_first_example_and_distinct_ones_together_are_always_compared_in_full():
    found, full = searched(wrapped(reference, reference), examples=10)
    assert found.compared == 1
    company, first = full.inputs
    assert company.shape == (8, 7)
    assert len(np.unique(company)) > 20
    assert first.shape == (2, 7)


def test_the_full_comparison_decides_and_not_the_plain_outputs():
    """A judge that always says parity is believed, one that says diverged on the first as well."""
    models = wrapped(reference, lambda x: reference(x) * 1.5)
    clean = compare(*wrapped(reference, port), inputs=X)
    differing = compare(*models, inputs=X)
    assert search(models, lambda _: clean, FLOATS, max_examples=20).verdict == "parity"
    agreeing = wrapped(reference, port)
    assert search(agreeing, lambda _: differing, FLOATS, max_examples=2).verdict == "diverged"


def test_models_that_draw_numbers_are_compared_in_full_on_every_example():
    def noisy(x):
        return reference(x) + torch.randn(5)

    found, _ = searched(wrapped(noisy, noisy), examples=12)
    assert found.compared >= 10
    louder, _ = searched(wrapped(noisy, lambda x: reference(x) + 1.5 * torch.randn(5)))
    assert louder.verdict == "diverged"


def test_the_smallest_observation_is_kept_with_random_ones_of_its_shape():
    found, _ = searched(wrapped(reference, lambda x: reference(x).clamp(max=0.9)))
    assert found.verdict == "diverged" and found.alone
    assert compare(*wrapped(reference, lambda x: reference(x).clamp(max=0.9)),
                   inputs=found.observation).verdict == "diverged"  # fmt: skip
    assert found.random.shape == (8, 7) and len(np.unique(found.random)) == 56
    assert found.on_random.verdict == "diverged"


def test_divergence_is_climbed_towards():
    models = wrapped(lambda x: x * 1.0, lambda x: x * (1 + 1e-6 * x.abs() ** 3))
    found, _ = searched(models)
    assert any("difference over rounding" in note for note in found.notes)


# --- plain runs ----------------------------------------------------------------------------------


def test_rounding_stays_below_what_is_suspicious():
    runs = plain_runs(wrapped(reference, port), X)
    random = np.random.default_rng(1)
    excess = [runs.excess(random.standard_normal((2, 7)).astype("f") * 2) for _ in range(100)]
    assert max(excess) < 8


@pytest.mark.parametrize(
    "fault",
    [
        lambda x: reference(x) * (1 + 3e-5),
        lambda x: torch.where(x[:, :1] > 0, reference(x), reference(x) + 1e-4),
        lambda x: reference(x)[:, :4],
        lambda x: torch.where(reference(x) > 0.5, torch.nan, reference(x)),
        lambda x: {"other": reference(x), "more": x} if x[0, 0] < 0 else reference(x),
    ],
    ids=["scaled", "at some rows", "another shape", "nan", "other outputs"],
)
def test_a_fault_exceeds_it(fault):
    runs = plain_runs(wrapped(reference, port), X)
    faulty = load("torch").plain(*wrapped(fault))
    runs._pairs = [replace(runs._pairs[0], run=faulty)]
    assert runs.excess(-abs(X)) > 8


def test_a_nan_in_both_at_the_same_place_is_no_difference():
    def logs(x):
        return torch.log(x)

    runs = plain_runs(wrapped(logs, logs), abs(X))
    assert runs.excess(X) <= 1


def test_a_large_row_hides_no_small_one():
    def off_where_small(x):
        return torch.where(x.abs().amax(1, keepdim=True) < 1, x * 1.01, x * 1.0)

    runs = plain_runs(wrapped(lambda x: x * 1.0, off_where_small), 10 * np.sign(X) + X)
    rows = np.stack([X[0] * 1e6, np.clip(X[0], -0.5, 0.5)])
    assert runs.excess(rows) > 8


# --- large outputs are looked for ----------------------------------------------------------------

# Differences reach 60; what is drawn rarely goes beyond 20.
WIDE = arrays(np.float32, (1, 20), elements=st.floats(-3, 3, width=32), fill=st.nothing())
SIGNS = torch.tensor([[1.0], [-1.0]]).repeat(10, 1)


def clipped_far_out(seed):
    """The search for a clip at 30, short of which there is no difference."""
    models = wrapped(lambda x: x @ SIGNS, lambda x: (x @ SIGNS).clamp(-30, 30))
    phases = [Phase.generate, Phase.target]
    return searched(models, WIDE, examples=300, seed=seed, phases=phases)[0]


@pytest.mark.parametrize("seed", range(3))
def test_a_clip_is_climbed_to(monkeypatch, seed):
    found = clipped_far_out(seed)
    assert found.verdict == "diverged" and 0 < found.first <= 300
    monkeypatch.setattr("parity.observations.unrecorded._size", lambda array: 0.0)
    without = clipped_far_out(seed)
    assert without.verdict == "parity" and without.first == 0


def test_the_size_of_outputs_is_stated_in_units_of_what_is_usual():
    runs = plain_runs(wrapped(lambda x: x @ WEIGHT, lambda x: (WEIGHT.T @ x.T).T), X)
    runs.excess(X)
    assert runs.reach == pytest.approx(1)
    runs.excess(8 * X)
    assert runs.reach == pytest.approx(8)
    runs.excess(X[:, :3])  # which the models do not take
    assert runs.reach == 0


# --- suspicions ----------------------------------------------------------------------------------


def suspicious(monkeypatch, excess=20.0):
    """Models that differ on every example by so many times what rounding leaves."""
    models = wrapped(reference, port)
    monkeypatch.setattr(
        "parity.observations.unrecorded.PlainRuns.excess", lambda self, inputs: excess
    )
    return models


def test_a_suspicion_that_was_cleared_clears_no_later_one(monkeypatch):
    models = suspicious(monkeypatch)
    clean, differing = compare(*models, inputs=X), compare(models[0], *wrapped(torch.sin), inputs=X)
    judged = []

    def judge(inputs):
        judged.append(inputs)
        return differing if len(judged) > 5 else clean

    found = search(models, judge, FLOATS, max_examples=30)
    assert found.verdict == "diverged" and found.first > 1


def test_what_is_not_judged_is_stated(monkeypatch):
    models = suspicious(monkeypatch)
    clean = compare(*models, inputs=X)
    monkeypatch.setattr("parity.observations.search._MOST_CLEARED", 4)
    found = search(models, lambda _: clean, FLOATS, max_examples=30)
    assert found.verdict == "parity" and found.compared == 4
    assert found.unjudged > 10 and found.furthest == 20
    (caveat,) = found.report.comparisons[0].caveats
    assert caveat == found.caveat
    assert f"{found.unjudged} were not compared in full" in caveat and "up to 20 times" in caveat


def test_what_differs_surely_is_always_judged(monkeypatch):
    models = suspicious(monkeypatch, 65.0)
    clean = compare(*models, inputs=X)
    monkeypatch.setattr("parity.observations.search._MOST_CLEARED", 4)
    found = search(models, lambda _: clean, FLOATS, max_examples=30)
    assert found.unjudged == 0 and found.compared > 20 and found.caveat == ""
