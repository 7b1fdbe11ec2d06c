"""Models with rich interfaces need no glue: a sample; all of them: `benchmarks.interfaces`."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("tensorflow")
pytest.importorskip("chainer")

from benchmarks.interfaces.__main__ import KNOWN, main  # noqa: E402
from benchmarks.interfaces.pair import Outcome, Pair, names, pairs  # noqa: E402

PAIRS = list(pairs())
# Together they have every kind of input, output and callable, and are quick.
SAMPLE = [
    Pair("parametric_actions", "torch", "keras"),  # nested dicts, an unbuilt model
    Pair("drqn", "keras", "torch"),  # an optional state in and out
    Pair("sac", "chainer", "torch"),  # a distribution, a keyword-only number
    Pair("ppo", "torch", "tensorflow"),  # a NamedTuple, a mask by keyword, a dataclass out
    Pair("nested_agent", "tensorflow", "chainer"),  # nested dataclasses, a bound method
    Pair("gru_policy", "keras", "torch"),  # closures
    Pair("iqn", "torch", "tensorflow"),  # a method that is a tf.function
    Pair("stateful_actor", "keras", "chainer"),  # a state that stays in the model
    Pair("twin_critic", "tensorflow", "chainer"),  # a list out, a flag
]


def test_the_page_has_the_counts() -> None:
    page = (Path(__file__).parents[2] / "docs" / "ports.md").read_text(encoding="utf-8")
    assert f"holds {len(names())} policies" in page
    assert f"takes {len(PAIRS)} pairs" in page


def test_what_is_known_is_there() -> None:
    assert set(KNOWN) <= set(PAIRS)
    assert set(SAMPLE) <= set(PAIRS)


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (Outcome(True, "parity"), 0),
        (Outcome(True, "unverified"), 0),
        (Outcome(True, "diverged"), 1),
        (Outcome(False, "parity"), 1),
        (Outcome(False, "error", "ValueError: no"), 1),
    ],
    ids=str,
)
def test_the_code_states_a_pair_that_is_not_known(
    outcome: Outcome, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Pair, "judged", lambda pair: outcome)
    assert main(["--only", "sac"]) == code
    assert main(["--only", "diffusion_policy"]) == 0  # both of its pairs are


@pytest.mark.parametrize("pair", SAMPLE, ids=str)
def test_a_pair_is_carried_over_and_compared_as_it_is(pair: Pair) -> None:
    outcome = pair.judged()
    assert outcome.is_right, str(outcome)
