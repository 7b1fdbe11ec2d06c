"""What it takes for an explanation to hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import parity
from parity.diagnosis import explain as module
from parity.diagnosis.case import case_of
from parity.diagnosis.causes import Explanation, RegisteredCause, of_x
from parity.diagnosis.enlarged_regions import enclosures
from parity.diagnosis.explain import Closest, Explained, explain, hold
from parity.diagnosis.locate import locate
from parity.diagnosis.output_pairs import pair_outputs
from parity.frameworks import load
from parity.matching.match import Indexed, match

X = np.random.default_rng(0).standard_normal((5, 7)).astype(np.float32)


def case_between(reference, candidate, x=X):
    """The case of the only divergence of two torch functions."""
    tapes = [
        load("torch").record(parity.wrap(f, framework="torch"), x) for f in (reference, candidate)
    ]
    pairs, _ = pair_outputs(*tapes)
    found = match(Indexed(tapes[0], tapes[0].replay("float64")), tapes[1])
    (mismatch,), repaired = locate(found, pairs)
    return case_of(repaired, mismatch, None)


def square(x):
    return torch.tanh(torch.square(x))


def cube(x):
    return torch.tanh(torch.pow(x, 3))


@pytest.fixture
def case():
    return case_between(square, cube)


def explanation(candidate, reference=None, kind="a", cost=0.0):
    return Explanation(kind, "", of_x(candidate), of_x(reference) if reference else None, cost=cost)


def test_it_must_give_both_sides_on_every_input(case):
    assert isinstance(hold(case, explanation(lambda x: x**3, np.square)), Explained)


def test_the_reference_must_be_what_the_formula_gives(case):
    assert isinstance(hold(case, explanation(lambda x: x**3, np.abs)), Closest)


def test_what_holds_on_the_users_input_alone_explains_nothing(case):
    first = case.first.candidate
    fitted = Explanation("a", "", lambda trial: first, of_x(np.square))
    assert isinstance(hold(case, fitted), Closest)


def test_it_is_tried_on_generated_inputs_of_both_signs(case):
    trials = list(case.trials())
    assert len(trials) > 2
    assert all((trial.x < 0).any() and (trial.x > 0).any() for trial in trials)
    for trial in trials:
        np.testing.assert_allclose(trial.reference, trial.x**2)
        np.testing.assert_allclose(trial.candidate, trial.x**3)


def test_a_share_is_stated_of_what_comes_close(case):
    result = hold(case, explanation(lambda x: x**3 * 1.1, np.square))
    assert isinstance(result, Closest)
    assert 0.5 < result.share < 1


def test_another_shape_explains_nothing(case):
    result = hold(case, explanation(lambda x: x[:1] ** 3, np.square))
    assert isinstance(result, Closest)
    assert result.share == 0


def causes_of(monkeypatch, *causes):
    registered = tuple(
        RegisteredCause((one.kind,), tier, False, lambda case, one=one: iter([one]))
        for tier, one in causes
    )
    monkeypatch.setattr(module, "causes", lambda: registered)


def test_a_later_tier_is_asked_only_where_an_earlier_explains_nothing(case, monkeypatch):
    right = explanation(lambda x: x**3, np.square, "late")
    wrong = explanation(lambda x: x**2, np.square, "early")
    causes_of(monkeypatch, (0, wrong), (1, right))
    assert explain(case).explanation.kind == "late"
    causes_of(monkeypatch, (1, right), (0, explanation(lambda x: x**3, np.square, "early")))
    found = explain(case)
    assert found.explanation.kind == "early"
    assert found.alternatives == ()


def of_sibling(monkeypatch, case, right):
    """What explains another place by one cause; then other causes are there as well."""
    causes_of(monkeypatch, (0, right))
    found = explain(case)
    simpler = explanation(lambda x: x**3, np.square, "simpler", cost=-1)
    causes_of(monkeypatch, (0, simpler))
    return found


def test_what_explains_a_sibling_is_tried_first_and_then_no_other(case, monkeypatch):
    right = replace(explanation(lambda x: x**3, np.square), parameters={"power": (2, 3)})
    sibling = of_sibling(monkeypatch, case, right)
    assert explain(case).explanation.kind == "simpler"
    assert explain(case, [sibling]).explanation is right


@pytest.mark.parametrize("parameters", [{}, {"power": (2, 4)}])
def test_a_sibling_with_other_parameters_or_none_says_nothing(case, monkeypatch, parameters):
    right = replace(explanation(lambda x: x**3, np.square), parameters={"power": (2, 3)})
    sibling = of_sibling(monkeypatch, case, right)
    sibling = replace(sibling, explanation=replace(right, parameters=parameters))
    assert explain(case, [sibling]).explanation.kind == "simpler"


def test_what_does_not_hold_here_is_no_explanation_though_it_was_a_siblings(case, monkeypatch):
    right = replace(explanation(lambda x: x**3, np.square), parameters={"power": (2, 3)})
    sibling = of_sibling(monkeypatch, case, right)
    other = case_between(square, lambda x: torch.tanh(torch.pow(x, 5)))
    causes_of(monkeypatch)
    assert explain(other, [sibling]) is None


def test_two_that_hold_alike_are_both_reported(case, monkeypatch):
    causes_of(
        monkeypatch,
        (0, explanation(lambda x: x**3, np.square, "one")),
        (0, explanation(lambda x: x * x * x, np.square, "other")),
    )
    found = explain(case)
    assert {found.explanation.kind, *found.alternatives} == {"one", "other"}


def test_the_one_that_assumes_less_is_preferred(case, monkeypatch):
    causes_of(
        monkeypatch,
        (0, explanation(lambda x: x**3, np.square, "dear", cost=2)),
        (0, explanation(lambda x: x**3, np.square, "cheap", cost=1)),
    )
    found = explain(case)
    assert found.explanation.kind == "cheap"
    assert found.alternatives == ()


def test_a_cause_that_raises_costs_its_explanation_alone(case, monkeypatch):
    def broken(case):
        raise RuntimeError("oops")
        yield

    right = explanation(lambda x: x**3, np.square, "right")
    registered = (
        RegisteredCause(("broken",), 0, False, broken),
        RegisteredCause(("right",), 0, False, lambda case: iter([right])),
    )
    monkeypatch.setattr(module, "causes", lambda: registered)
    with pytest.warns(UserWarning, match="the cause broken could not be tried"):
        assert explain(case).explanation.kind == "right"


def test_an_unheard_of_fault_has_no_name_but_its_formula():
    def odd(x):
        return torch.tanh(torch.lgamma(1.5 + torch.abs(x)) * torch.roll(x, 3, 1))

    report = parity.compare(
        parity.wrap(square, framework="torch"),
        parity.wrap(odd, framework="torch"),
        inputs=X,
    )
    assert report.verdict == "diverged"
    (found,) = report.divergences
    assert found.cause.parameters["formula"][1].startswith("lgamma(abs(a) + 1.5) * roll(a")
    assert not found.is_named


def test_enclosures_have_one_entry_and_hold_the_region():
    def norm(eps):
        def form(x):
            mean = x.mean(-1, keepdims=True)
            variance = torch.square(x - mean).mean(-1, keepdims=True)
            return torch.tanh((x - mean) / torch.sqrt(variance + eps))

        return form

    case = case_between(norm(1e-5), norm(1e-2))
    around = list(enclosures(case))
    assert around
    for one in around:
        assert len(one.entering) == 1 and one.inputs.same
        assert {op.index for op in case.reference.ops} <= {op.index for op in one.reference.ops}
    whole = [one for one in around if one.first.x.shape == X.shape]
    assert any(_is_normal(one.first.reference) for one in whole)


def test_no_enclosure_goes_through_a_decision():
    def decided(power):
        def form(x):
            shares = torch.softmax(x**power, -1)
            chosen = torch.nn.functional.one_hot(shares.argmax(-1), x.shape[-1]).float()
            return torch.tanh(chosen * 3), (shares + 1).log()

        return form

    case = case_between(decided(2), decided(3))

    def decides(one):
        return any(op.word == "argmax" for op in one.candidate.ops)

    assert any(decides(one) for one in enclosures(case))
    assert not any(decides(one) for one in module._Around(case))


def _is_normal(array):
    """Whether each row has mean 0 and variance 1."""
    return np.allclose(array.mean(-1), 0, atol=1e-6) and np.allclose(array.var(-1), 1, rtol=1e-3)
