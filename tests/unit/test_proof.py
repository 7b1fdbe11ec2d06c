"""What it takes for a cause to be confirmed, and what is only consistent."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import parity
from parity.diagnosis import explain as module
from parity.diagnosis.causes import Explanation, RegisteredCause, of_x
from parity.diagnosis.explain import Explained, explain, hold
from parity.diagnosis.region import Mismatch
from tests.unit.test_explain import X, case_between, causes_of, cube, explanation, square


@pytest.fixture
def case():
    return case_between(square, cube)


def compared(reference, candidate, x=X):
    models = [parity.wrap(f, framework="torch") for f in (reference, candidate)]
    return parity.compare(*models, inputs=x)


# --- predictions that know the answer -------------------------------------------------------------


def test_a_formula_of_the_inputs_is_a_proof(case):
    assert hold(case, explanation(lambda x: x**3, np.square)).unproved == ""


@pytest.mark.parametrize(
    ("candidate", "reference"),
    [
        (lambda trial: trial.candidate, None),
        (lambda trial: trial.candidate, lambda trial: trial.reference),
        (lambda trial: 2 * trial.candidate / 2, lambda trial: trial.reference.copy()),
        (lambda trial: trial.candidate + trial.reference - trial.x**2, None),
    ],
)
def test_a_prediction_that_copies_what_it_predicts_is_never_a_proof(case, candidate, reference):
    found = hold(case, Explanation("a", "", candidate, reference))
    assert isinstance(found, Explained)
    assert "read off the values" in found.unproved


def test_a_copy_of_one_side_leaves_the_proof_to_the_other(case):
    copied = Explanation("a", "", lambda trial: trial.candidate, of_x(np.square))
    assert hold(case, copied).unproved == ""


def test_what_its_cause_calls_unproved_is_consistent(case):
    unproved = Explanation("a", "", of_x(lambda x: x**3), of_x(np.square), unproved="by its cause")
    assert hold(case, unproved).unproved == "by its cause"


def test_what_holds_on_your_inputs_alone_is_consistent(case, monkeypatch):
    trials = list(case.trials())
    monkeypatch.setattr(case, "trials", lambda: iter(trials[:1]))
    assert "no others could be generated" in hold(case, explanation(lambda x: x**3)).unproved


def test_a_proof_of_a_later_tier_is_preferred_to_what_is_consistent(case, monkeypatch):
    copied = Explanation("copied", "", lambda trial: trial.candidate)
    right = explanation(lambda x: x**3, np.square, "right")
    causes_of(monkeypatch, (0, copied), (1, right))
    assert explain(case).explanation.kind == "right"
    causes_of(monkeypatch, (0, copied))
    assert explain(case).explanation.kind == "copied"


def test_what_says_the_same_of_both_sides_is_not_reported(case, monkeypatch):
    same = Explanation("a", "", of_x(lambda x: x**3), parameters={"source": ("mul", "mul")})
    causes_of(monkeypatch, (0, same))
    assert not isinstance(explain(case), Explained)


# --- predictions that raise -----------------------------------------------------------------------


def test_a_prediction_that_raises_ends_its_cause_alone(case, monkeypatch):
    def broken(x):
        raise AttributeError("no such thing")

    causes_of(
        monkeypatch,
        (0, explanation(broken, kind="broken")),
        (0, explanation(lambda x: x**3, np.square, "right")),
    )
    with pytest.warns(UserWarning, match=r"could not be tried: AttributeError\('no such thing'\)"):
        assert explain(case).explanation.kind == "right"


# --- the fix, alone -------------------------------------------------------------------------------

WEIGHT = torch.from_numpy(np.random.default_rng(1).standard_normal((7, 4)).astype("f"))


def net(power):
    return lambda x: torch.tanh(torch.pow(x, power) @ WEIGHT)


def registered(monkeypatch, *explanations):
    monkeypatch.setattr(
        module,
        "causes",
        lambda: tuple(
            RegisteredCause((one.kind,), 0, False, lambda case, one=one: iter([one]))
            for one in explanations
        ),
    )


def test_a_fix_that_makes_all_reconverge_confirms_the_cause(monkeypatch):
    registered(monkeypatch, explanation(lambda x: x**3, np.square))
    (found,) = compared(net(2), net(3)).divergences
    assert found.cause.confirmed and found.cause.unproved == "" and found.reconverges


def test_a_fix_that_leaves_a_difference_confirms_nothing(monkeypatch):
    """The region's end is the reference's; what the fix would give, and what follows, is not."""
    registered(monkeypatch, explanation(lambda x: x**3, np.square))
    fix = Explained.repaired.fget
    monkeypatch.setattr(Explained, "repaired", property(lambda self: 1.001 * fix(self)))
    report = compared(net(2), net(3))
    (found,) = report.divergences
    assert not found.cause.confirmed
    assert "with the fix alone" in found.cause.unproved and "differs" in found.cause.unproved
    assert "consistent with the evidence, not proved" in str(report)
    assert "not proved: with the fix alone" in str(report)
    assert "confirmed" not in str(report)


def test_another_divergence_behind_it_does_not_count_against_a_fix():
    def twice(first, second):
        def run(x):
            h = torch.softmax(x @ WEIGHT, first)
            return torch.softmax(h @ WEIGHT.T, second) @ WEIGHT

        return run

    (found,) = compared(twice(1, 1), twice(0, 0)).divergences
    assert found.cause.kind == "softmax-axis" and found.cause.confirmed
    assert found.times == 2 and len(found.places) == 1


def test_whether_values_reconverge_is_never_assumed():
    with pytest.raises(TypeError, match="reconverges"):
        Mismatch(None, None, None, None, 1.0)


def test_integers_that_enter_are_redrawn():
    ids = np.array([[3, 1, 0], [2, 5, 4]])
    table, other = (torch.from_numpy(np.random.default_rng(i).normal(size=(6, 4))) for i in (0, 1))
    case = case_between(lambda x: torch.tanh(table[x]), lambda x: torch.tanh(other[x]), ids)
    first, *others = case.trials()
    assert any(one.differs_from(first) for one in others)
    for one in case.trials():
        (drawn,) = one.given.values()
        np.testing.assert_allclose(one.reference, table.numpy()[drawn])
        np.testing.assert_allclose(one.candidate, other.numpy()[drawn])
