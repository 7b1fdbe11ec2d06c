"""`formula=` says which of two models is right, and changes no verdict."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import numpy as np
import pytest

import parity

torch = pytest.importorskip("torch")
tf = pytest.importorskip("tensorflow")

draw = np.random.default_rng(7)
VALUE, ADVANTAGE = draw.normal(size=(5, 1)).astype("f"), draw.normal(size=(5, 4)).astype("f")
INPUTS = (VALUE, ADVANTAGE)


def torch_dueling(axis: int, bias: float = 0.0) -> Any:
    def head(value: Any, advantage: Any) -> Any:
        return value + advantage - advantage.mean(axis, keepdim=True) + bias

    return parity.wrap(head, framework="torch", name="torch_head")


def tf_dueling(axis: int, **more: Any) -> Any:
    def head(value: Any, advantage: Any) -> Any:
        return value + advantage - tf.reduce_mean(advantage, axis, keepdims=True)

    return parity.wrap(head, framework="tensorflow", name="tf_head", **more)


def compare(*models: Any, inputs: Any = INPUTS, formula: Any = parity.rl.dueling_q) -> Any:
    return parity.compare(*models, inputs=inputs, formula=formula)


@pytest.mark.parametrize(
    ("axes", "verdict", "right"),
    [
        ((1, 1), "parity", "both"),
        ((1, 0), "diverged", "reference"),
        ((0, 1), "diverged", "candidate"),
        ((0, 0), "parity", "neither"),
    ],
)
@pytest.mark.parametrize("named", [False, True])
def test_it_says_who_is_right(axes: tuple[int, int], verdict: str, right: str, named: bool) -> None:
    inputs = {"value": VALUE, "advantage": ADVANTAGE} if named else INPUTS
    models = torch_dueling(axes[0]), tf_dueling(axes[1])
    report = compare(*models, inputs=inputs)
    plain = parity.compare(*models, inputs=inputs)
    assert report.verdict == plain.verdict == verdict
    assert len(report.divergences) == len(plain.divergences)
    assert report.by_formula.right == right
    assert plain.by_formula is None


def test_of_two_wrong_ones_that_differ_neither_is_right() -> None:
    report = compare(torch_dueling(0), torch_dueling(1, bias=0.5))
    assert (report.verdict, report.by_formula.right) == ("diverged", "neither")


def baked_support() -> tuple[Any, Any, Any]:
    """C51 heads with a support baked in float32, which differs from the formula's by 1e-8."""
    support = np.linspace(-1, 1, 7) / 3
    baked = support.astype("f")

    def c51(logits: Any) -> Any:
        return (torch.softmax(logits, -1) * torch.from_numpy(baked)).sum(-1)

    def c51_in_tf(logits: Any) -> Any:
        return tf.tensordot(tf.nn.softmax(logits), tf.constant(baked), 1)

    logits = np.linspace(-1, 2, 5 * 4 * 7, dtype="f").reshape(5, 4, 7) ** 3
    models = parity.wrap(c51, framework="torch"), parity.wrap(c51_in_tf, framework="tensorflow")
    return models, logits, partial(parity.rl.c51_q, support=support)


def cancelling() -> tuple[Any, Any, Any]:
    """A variance as a difference of squares, which loses digits in float32, and is right."""

    def careless(x: Any) -> Any:
        return (x * x).mean(-1) - x.mean(-1) ** 2

    x = (3e5 + np.random.default_rng(0).normal(size=(6, 9))).astype("f")
    return (parity.wrap(careless, framework="torch"),) * 2, x, lambda x: x.var(-1)


def saturated() -> tuple[Any, Any, Any]:
    """log(1 - tanh(u)^2) at u = 12 is -inf in float32, and a number in float64."""

    def naive(before: Any) -> Any:
        return -torch.log(1 - torch.tanh(before) ** 2)

    def stable(before: Any) -> Any:
        return -2 * (np.log(2.0) - before - tf.math.softplus(-2 * before))

    before = np.array([[0.3, -1.2, 12.0], [2.1, 0.7, -0.4]], "f")
    models = parity.wrap(naive, framework="torch"), parity.wrap(stable, framework="tensorflow")
    return models, before, lambda before: 2 * np.log(np.cosh(before))


def both_wrong() -> tuple[Any, Any, Any]:
    return (torch_dueling(0),) * 2, INPUTS, parity.rl.dueling_q


def test_float32_constants_are_rounding() -> None:
    models, logits, formula = baked_support()
    report = compare(*models, inputs=logits, formula=formula)
    assert (report.verdict, report.by_formula.right) == ("parity", "both")
    assert report.by_formula.formula == "c51_q"
    (row,) = report.by_formula.outputs
    assert 1e-9 < row.reference.residual < 1e-6  # the support's own rounding
    wrong = partial(formula.func, support=formula.keywords["support"] * 1.00001)
    report = compare(*models, inputs=logits, formula=wrong)
    assert (report.verdict, report.by_formula.right) == ("parity", "neither")


def test_what_cancels_is_rounding_too() -> None:
    models, x, formula = cancelling()
    report = compare(*models, inputs=x, formula=formula)
    assert report.by_formula.right == "both"
    assert report.by_formula.outputs[0].reference.as_ran > 0.1


def test_infinity_as_it_ran_is_wrong_though_float64_would_hold_it() -> None:
    models, before, formula = saturated()
    report = compare(*models, inputs=before, formula=formula)
    assert (report.verdict, report.by_formula.right) == ("diverged", "candidate")
    assert report.by_formula.outputs[0].reference.as_ran == np.inf


@pytest.mark.parametrize(
    ("rule", "broken", "situation"),
    [
        ("explained_by_constants", lambda *given: 0.0, baked_support),
        ("is_rounding", lambda *given: False, cancelling),
        ("_masks_differ", lambda *given: False, saturated),
        ("_all", lambda right: True, both_wrong),
    ],
)
def test_without_a_rule_it_would_say_something_else(
    rule: str, broken: Any, situation: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    models, inputs, formula = situation()
    right = compare(*models, inputs=inputs, formula=formula).by_formula
    monkeypatch.setattr(f"parity.diagnosis.oracle.{rule}", broken)
    assert compare(*models, inputs=inputs, formula=formula).by_formula.right != right.right


@pytest.mark.parametrize("right", [True, False])
def test_outputs_are_paired_by_name(right: bool) -> None:
    def heads(value: Any, advantage: Any) -> Any:
        q = value + advantage - advantage.mean(1, keepdim=True)
        return {"q": q, "value": value if right else value + 1}

    def formula(value: Any, advantage: Any) -> Any:
        return {"value": value, "q": parity.rl.dueling_q(value, advantage)}

    model = parity.wrap(heads, framework="torch")
    report = compare(model, model, formula=formula)
    assert report.by_formula.right == ("both" if right else "neither")
    assert [row.reference.right for row in report.by_formula.outputs] == [True, right]
    part = compare(model, model, formula=lambda v, a: {"q": parity.rl.dueling_q(v, a)})
    assert part.by_formula.right == "both"
    assert part.by_formula.problems == ("output 'value' of heads #1 is missing in lambda",)


def test_another_shape_is_reported() -> None:
    report = compare(torch_dueling(1), tf_dueling(0), formula=lambda v, a: v)
    assert report.by_formula.right == "unknown"
    problem = report.by_formula.problems[0]
    assert problem.startswith(
        "the formula has another shape: lambda gives (5, 1), torch_head (5, 4)"
    )
    assert problem in " ".join(str(report).split())
    (row,) = report.by_formula.outputs
    assert row.reference.residual is None and row.reference.right is None


def test_no_output_that_is_paired_is_reported() -> None:
    def two(value: Any, advantage: Any) -> Any:
        return {"q": value + advantage, "value": value}

    model = parity.wrap(two, framework="torch")
    report = compare(model, model)
    assert report.by_formula.right == "unknown" and not report.by_formula.outputs
    assert any("missing in dueling_q" in problem for problem in report.by_formula.problems)


def test_a_candidate_in_its_own_layout_is_right_where_it_agrees() -> None:
    def in_torch(x: Any) -> Any:
        return torch.nn.functional.avg_pool2d(x, 2)

    def in_tf(x: Any) -> Any:
        return tf.nn.avg_pool2d(x, 2, 2, "VALID")

    def formula(x: Any) -> Any:
        return x.reshape(2, 3, 4, 2, 3, 2).mean((3, 5))

    images = draw.normal(size=(2, 3, 8, 6)).astype("f")
    report = compare(
        parity.wrap(in_torch, framework="torch"),
        parity.wrap(in_tf, framework="tensorflow", input_layout="NHWC"),
        inputs=images,
        formula=formula,
    )
    assert (report.verdict, report.by_formula.right) == ("parity", "both")


def test_each_of_several_candidates_is_compared_with_it() -> None:
    report = compare(torch_dueling(1), tf_dueling(1), torch_dueling(0))
    assert [found.by_formula.right for found in report.comparisons] == ["both", "reference"]
    assert report.by_formula.right == "reference"  # of the worst


def test_integers_are_the_same_or_not() -> None:
    def greedy(value: Any, advantage: Any) -> Any:
        return advantage.argmax(-1)

    model = parity.wrap(greedy, framework="torch")
    for formula, right in (
        (lambda v, a: a.argmax(-1), "both"),
        (lambda v, a: (-a).argmax(-1), "neither"),
    ):
        assert compare(model, model, formula=formula).by_formula.right == right


def test_the_formula_gets_float64_and_the_models_inputs_stay() -> None:
    def formula(value: Any, advantage: Any) -> Any:
        assert value.dtype == advantage.dtype == np.dtype("float64")
        return parity.rl.dueling_q(value, advantage)

    compare(torch_dueling(1), tf_dueling(1), formula=formula)
    assert VALUE.dtype == ADVANTAGE.dtype == np.float32


def test_text_and_json_say_it() -> None:
    report = compare(torch_dueling(1), tf_dueling(0))
    text = str(report)
    assert "by the formula dueling_q torch_head is right and tf_head is not" in text
    assert "output 'output': tf_head is off by" in text
    (comparison,) = json.loads(json.dumps(report.to_dict(), allow_nan=False))["comparisons"]
    found = comparison["by_formula"]
    assert (found["formula"], found["right"], found["problems"]) == ("dueling_q", "reference", [])
    (row,) = found["outputs"]
    assert row["shape"] == [5, 4] and row["reference"]["right"] and not row["candidate"]["right"]
    assert row["reference"]["residual"] < 1e-12 < row["candidate"]["residual"]
    plain = parity.compare(torch_dueling(1), tf_dueling(0), inputs=INPUTS)
    assert plain.to_dict()["comparisons"][0]["by_formula"] is None
    assert "by the formula" not in str(plain)


def test_a_formula_that_fails_says_so() -> None:
    with pytest.raises(parity.ParityError, match="value has shape .* one value for all actions"):
        compare(torch_dueling(1), tf_dueling(1), inputs=(ADVANTAGE, ADVANTAGE))
    with pytest.raises(parity.ParityError, match="give a function of NumPy arrays"):
        compare(torch_dueling(1), tf_dueling(1), formula=3)
    with pytest.raises(parity.ParityError, match="lambda .numpy. raised ZeroDivisionError"):
        compare(torch_dueling(1), tf_dueling(1), formula=lambda v, a: 1 / 0)


def test_the_fixture_takes_it(pytester: Any) -> None:
    pytester.makepyfile(
        """
        import numpy as np, parity, pytest, torch

        VALUE, ADVANTAGE = np.ones((3, 1), "f"), np.arange(12, dtype="f").reshape(3, 4) ** 2

        def head(axis):
            def dueling(value, advantage):
                return value + advantage - advantage.mean(axis, keepdim=True)
            return parity.wrap(dueling, framework="torch", name=f"axis{axis}")

        def test_right(assert_parity):
            inputs = (VALUE, ADVANTAGE)
            report = assert_parity(
                head(1), head(-1), inputs=inputs, formula=parity.rl.dueling_q)
            assert report.by_formula.right == "both"

        def test_part(assert_parity):
            assert_parity(
                head(0), head(1), inputs=(VALUE, ADVANTAGE), formula=parity.rl.dueling_q)
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*by the formula dueling_q axis1 is right and axis0 is not*"])


def test_importing_parity_imports_no_formula() -> None:
    import subprocess
    import sys

    code = (
        "import sys, parity; assert 'parity.rl' not in sys.modules;"
        "parity.rl.dueling_q; assert 'parity.rl' in sys.modules; assert 'rl' in dir(parity)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
