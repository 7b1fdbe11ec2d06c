"""A sample of the attacks on the verdict, and the measures of the attacks broken."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from benchmarks.attacks import known, run
from benchmarks.attacks.corpus import Attack, Case, Side, attacks, numpy_, torch_
from benchmarks.attacks.mutations import campaign, judge
from benchmarks.attacks.truth import FAULTY, truth

# Every tenth attack; what saves or traces models is slow, what holds for some draws alone
# does not hold in every run, and what is known to break something is left to the benchmark.
BY_CHANCE = (
    *("mixture-at-once", "action-by-inversion", "depth-by-a-floor", "latents-of-one-seed"),
    *("factorised-noise", "coins-of-the-system", "those-that-do-not"),
    *("beta-exchanged", "second-head-first", "tiled-or-repeated"),
)
SLOW = (
    *("saved-masks-zeros", "exported-masking", "stale-layer-in-model", "asks-if-inside"),
    *("noise-beside-a-large-table", "random-direction", "agents-of-one-seed", "seed-and-step"),
    *("noise-of-scipy", "noise-of-in-a-dict", "start-of-ones", "register-of-six"),
    *("failing-actuator", "three-of-nine"),
)
# Each is the only one that shows a certain rule.
ALONE = (
    "one-sum-that-cancels",
    "distances-to-themselves",
    "mean-by-a-seventh",
    "cache-of-a-half-model-float16",
    "due-west",
    "change-of-prices",
    "map-coordinates",
    "value-beside-an-embedding",
    "head-in-bfloat16-too",
    "near-points-far-away",
    "critic-beside-an-actor-in-half",
    "returned-in-double",
    "response-with-an-epsilon",
    "graded-penalty",
    "value-beside-an-encoder",
    "in-fixed-point",
    "bfloat16-by-numpy",
    "left-complex",
    "coin-behind-a-fork",
    "noise-made-while-traced",
    "visits-in-a-table",
    "delayed-by-a-queue",
    "moments-in-a-user-dict",
    "dark-current",
    "flags-beside-scores",
)
BROKEN = known.WRONG_PASSES | known.ALARMS | known.CRASHES
SAMPLE = [
    name
    for at, name in enumerate(sorted(attacks()))
    if (at % 10 == 0 or name in ALONE) and name not in (*SLOW, *BY_CHANCE, *BROKEN)
]
# The last are those that broke a rule once.
ONCE = (4501, 4529, 4993, 6376, 6838, 9134, 9963, 100144, 204088, 208649)
ONCE += (201431, 202823, 211137, 214683, 407938, 408434)
SEEDS = [range(at, at + 10) for at in range(0, 40, 10)] + [range(at, at + 1) for at in ONCE]


@pytest.mark.parametrize("name", SAMPLE)
def test_an_attack_does_not_pass_and_its_twin_is_no_alarm(name: str) -> None:
    result = run.judged(name)
    assert not result.problem
    assert not result.wrong_pass, result.about
    assert not result.alarm, result.about
    assert not result.crash, (result.faulty, result.twin)


def test_what_is_known_to_fail_is_an_attack() -> None:
    assert BROKEN <= attacks().keys()


@pytest.mark.parametrize("seeds", SEEDS, ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_random_mutations_are_found_and_their_twins_pass(seeds: range) -> None:
    results = campaign.batch(seeds)
    failing = {one.seed for one in results if one.wrong_pass or one.alarm}
    assert failing == known.MUTATIONS & set(seeds)
    assert not [one.about for one in results if one.truth.startswith("broken")]


# --- the measures of the benchmark ----------------------------------------------------------------

X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)


def _attack(faulty: Side, twin: Side) -> Attack:
    def build() -> Case:
        return Case(torch_(lambda x: x.tanh()), faulty, twin, X)

    return Attack("made", "a rule", "nothing", build)


TANH = numpy_(np.tanh)


def test_a_fault_within_rounding_is_an_error_of_the_corpus() -> None:
    within = numpy_(lambda x: np.tanh(x) * np.float32(1 + 2e-7))
    assert truth(_attack(within, TANH)).problem.startswith("the fault is no fault")


def test_a_twin_that_differs_is_an_error_of_the_corpus() -> None:
    off = numpy_(lambda x: np.tanh(x) * np.float32(1.0001))
    assert truth(_attack(off, TANH)).problem == ""
    assert truth(_attack(off, off)).problem.startswith("the twin is not correct")


def test_one_small_element_is_a_fault() -> None:
    def wrong(x: np.ndarray) -> np.ndarray:
        found = np.tanh(x) * np.float32(1e6)
        found[1, 1] *= np.float32(1.001)
        return found

    def build() -> Case:
        scaled = torch_(lambda x: x.tanh() * 1e6)
        return Case(scaled, numpy_(wrong), numpy_(lambda x: np.tanh(x) * np.float32(1e6)), X)

    assert truth(Attack("made", "a rule", "nothing", build)).faulty > FAULTY


def test_another_shape_is_a_fault() -> None:
    assert truth(_attack(numpy_(lambda x: np.tanh(x)[:, :, None]), TANH)).faulty == float("inf")


def test_a_wrong_pass_an_alarm_and_a_crash_fail_the_benchmark() -> None:
    fine = run.Result("name", "rule", 1, "", "diverged", "parity", "", 100.0, 0.1)
    assert not fine.fails
    assert dataclasses.replace(fine, faulty="parity").fails
    assert dataclasses.replace(fine, twin="diverged").fails
    assert dataclasses.replace(fine, twin="crash: TypeError").fails
    assert dataclasses.replace(fine, problem="the fault is no fault").fails
    assert not dataclasses.replace(fine, faulty="unverified", twin="unverified").fails


def test_a_mutation_that_changes_nothing_is_none() -> None:
    given = judge.pair(3)
    assert given is not None
    same = dataclasses.replace(given.mutation, program=given.program)
    assert judge.truth(dataclasses.replace(given, mutation=same))[0] == "none"
    assert judge.truth(given)[0] == "fault"


def test_a_campaign_goes_on_where_it_was_stopped(tmp_path, capsys, monkeypatch) -> None:
    keep = tmp_path / "kept.jsonl"
    first = campaign.run(0, 2, 1, keep)
    asked: list[int] = []

    def batch(seeds):
        asked.extend(seeds)
        return []

    monkeypatch.setattr(campaign, "batch", batch)
    with keep.open("a") as file:
        file.write('{"seed": 2, "ki')  # stopped in the middle of a line
    assert campaign.run(0, 3, 1, keep) == first
    assert asked == [2]
    assert len(keep.read_text().splitlines()) == 2
    assert "faults" in capsys.readouterr().out
