"""The C51 head of a user's thread, each fault on either side: the formula knows which."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

import parity

MISSING = [name for name in ("torch", "tensorflow", "chainer") if find_spec(name) is None]
if MISSING:
    pytest.skip(f"not installed: {', '.join(MISSING)}", allow_module_level=True)
from benchmarks.corpus.scenarios.c51 import FAULTS, FRAMEWORK_PAIRS, head_pair  # noqa: E402
from benchmarks.corpus.scenarios.c51_sizes import ACTIONS, ATOMS, SUPPORT  # noqa: E402


def c51_dueling(advantage: Any, value: Any) -> Any:
    """Advantages (batch, actions * atoms) and values (batch, atoms) to Q (batch, actions)."""
    logits = parity.rl.dueling_q(value, advantage.reshape(-1, ACTIONS, ATOMS), axis=-2)
    return parity.rl.c51_q(logits, SUPPORT)


def judged(pair: Any, swapped: bool = False) -> Any:
    models = [pair.reference.wrapped(), pair.candidate.wrapped()]
    if swapped:
        models.reverse()
    return parity.compare(*models, inputs=pair.inputs, formula=c51_dueling)


@pytest.mark.parametrize("frameworks", FRAMEWORK_PAIRS, ids="-".join)
def test_correct_heads_are_right_by_the_book(frameworks: tuple[str, str]) -> None:
    report = judged(head_pair(*frameworks))
    assert (report.verdict, report.by_formula.right) == ("parity", "both")


@pytest.mark.parametrize("swapped", [False, True], ids=["candidate", "reference"])
@pytest.mark.parametrize("fault", FAULTS)
def test_the_faulty_one_is_named(fault: str, swapped: bool) -> None:
    number = list(FAULTS).index(fault)
    report = judged(head_pair(*FRAMEWORK_PAIRS[number % len(FRAMEWORK_PAIRS)], fault), swapped)
    expected = "candidate" if swapped else "reference"
    assert (report.verdict, report.by_formula.right) == ("diverged", expected)
