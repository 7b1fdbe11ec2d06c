"""Two action distributions compared with each other, method by method, on drawn cases."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import parity

torch = pytest.importorskip("torch")
pytest.importorskip("tensorflow")
hypothesis = pytest.importorskip("hypothesis")
from hypothesis import strategies as st  # noqa: E402
from torch import distributions as torch_distributions  # noqa: E402

from parity import rl  # noqa: E402
from parity.observations import arrays, distributions  # noqa: E402
from parity.observations.asserting import found_by  # noqa: E402

from . import policies  # noqa: E402
from .policies import HALF_LOG_2PI, OPS  # noqa: E402

SETTINGS = hypothesis.settings(
    database=None, derandomize=True, max_examples=50, phases=[hypothesis.Phase.generate]
)


def gumbel() -> Any:
    """Cases of a categorical that is sampled by one uniform number for each choice."""
    noise = arrays((4,), low=1e-3, high=0.999, batch=5)
    case = distributions(rl.Categorical, 4, batch=5, noise=False)
    return st.builds(lambda case, noise: {**case, "noise": noise}, case, noise)


CASES = {
    policies.Gaussian: distributions(rl.DiagonalGaussian, 3),
    policies.Squashed: distributions(rl.SquashedGaussian, 3),
    policies.Categorical: gumbel(),
    policies.Bernoulli: distributions(rl.Bernoulli, 3, noise=False),
    policies.Beta: distributions(rl.Beta, 3, noise=False),
}


def found(reference: Any, candidate: Any, cases: Any) -> Any:
    kept = {"_hypothesis_internal_use_settings": SETTINGS}
    return found_by(
        (reference, candidate), cases, None, None, None, name="t", key="t", decorations=kept
    )


def written(kind: Any, framework: str, **faults: Any) -> Any:
    """A user's distribution of a framework, with some methods replaced by the user's own."""
    made = type(kind.__name__, (kind,), faults)
    return rl.methods(partial(made, OPS[framework]), framework, name=f"{framework} {kind.__name__}")


@pytest.mark.parametrize("kind", CASES, ids=lambda kind: kind.__name__)
def test_the_same_distribution_in_two_frameworks_agrees(kind: Any) -> None:
    result = found(written(kind, "torch"), written(kind, "tensorflow"), CASES[kind])
    assert result.verdict == "parity", result.report


FAULTS = {
    "no tanh correction": (
        policies.Squashed,
        {"correction": lambda self, before, action: 0.0},
    ),
    "correction with an epsilon": (
        policies.Squashed,
        {"correction": lambda self, before, action: self.ops.log(1 - action * action + 1e-6)},
    ),
    "log-std for std": (
        policies.Gaussian,
        {
            "__init__": lambda self, ops, mean, std: policies.Gaussian.__init__(
                self, ops, mean, ops.exp(std)
            )
        },
    ),
    "entropy without its constant": (
        policies.Gaussian,
        {"entropy": lambda self: self.ops.sum(self.ops.log(self.std))},
    ),
    "log-probability without its constant": (
        policies.Gaussian,
        {"each": lambda self, action: policies.Gaussian.each(self, action) + HALF_LOG_2PI},
    ),
    "KL the other way round": (
        policies.Gaussian,
        {"kl": lambda self, other: policies.Gaussian.kl(other, self)},
    ),
    "KL of categoricals the other way round": (
        policies.Categorical,
        {"kl": lambda self, other: policies.Categorical.kl(other, self)},
    ),
    "mode before the tanh": (policies.Squashed, {"mode": lambda self: self.mean}),
    "logits for probabilities": (
        policies.Bernoulli,
        {
            "log_prob": lambda self, action: self.ops.sum(
                self.ops.floats(action) * self.ops.sigmoid(self.logits)
                - self.ops.softplus(self.ops.sigmoid(self.logits))
            )
        },
    ),
    "Gumbel noise of the wrong sign": (
        policies.Categorical,
        {
            "sample": lambda self, noise: self.ops.argmax(
                self.logits + self.ops.log(-self.ops.log(noise))
            )
        },
    ),
    "alpha and beta swapped": (
        policies.Beta,
        {"__init__": lambda self, ops, alpha, beta: policies.Beta.__init__(self, ops, beta, alpha)},
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str) -> None:
    kind, faults = FAULTS[fault]
    result = found(written(kind, "torch"), written(kind, "tensorflow", **faults), CASES[kind])
    assert result.verdict == "diverged"


SHAPES = {
    "torch Gaussian has the sum over axis 1, tensorflow Gaussian does not": {
        "log_prob": lambda self, action: self.each(action)
    },
    "tensorflow Gaussian has the sum over the batch (axis 0), torch Gaussian does not": {
        "log_prob": lambda self, action: self.ops.sum(self.ops.sum(self.each(action)), 0)
    },
    "the same values, but for axes of length 1": {
        "log_prob": lambda self, action: self.ops.sum(self.each(action))[:, None]
    },
}


@pytest.mark.parametrize("message", SHAPES)
def test_batch_and_event_are_distinguished(message: str) -> None:
    cases = distributions(rl.DiagonalGaussian, 3, batch=5)
    right = written(policies.Gaussian, "torch")
    wrong = written(policies.Gaussian, "tensorflow", **SHAPES[message])
    result = found(right, wrong, cases)
    assert result.verdict == "diverged"
    (reason,) = [one for one in result.report.worst.reasons if "'log_prob'" in one]
    assert reason.endswith(f": {message}")


def test_the_sum_over_the_batch_in_place_of_the_event_is_no_mere_sum() -> None:
    cases = distributions(rl.DiagonalGaussian, 3, batch=5)
    faults = {"log_prob": lambda self, action: self.ops.sum(self.each(action), 0)}
    wrong = written(policies.Gaussian, "tensorflow", **faults)
    result = found(written(policies.Gaussian, "torch"), wrong, cases)
    (divergence,) = result.report.divergences
    assert divergence.cause.kind == "log-prob-reduction"


# --- against the book, and libraries -------------------------------------------------------------


def independent(kind: Any, **fixed: Any) -> Any:
    def make(**parameters: Any) -> Any:
        named = {fixed.get(name, name): array for name, array in parameters.items()}
        one = kind(**named, validate_args=False)
        return torch_distributions.Independent(one, 1, validate_args=False)

    return make


LIBRARIES = {
    "gaussian": (
        rl.DiagonalGaussian,
        rl.methods(
            independent(torch_distributions.Normal, mean="loc", std="scale"),
            "torch",
            sample=lambda distribution, noise: distribution.mean + distribution.stddev * noise,
        ),
    ),
    "beta": (
        rl.Beta,
        rl.methods(
            independent(torch_distributions.Beta, alpha="concentration1", beta="concentration0"),
            "torch",
            of=("log_prob", "entropy", "kl"),
        ),
    ),
    "categorical": (
        rl.Categorical,
        rl.methods(
            lambda logits: torch_distributions.Categorical(logits=logits),
            "torch",
            of=("log_prob", "entropy", "kl", "mode"),
        ),
    ),
}


@pytest.mark.parametrize("name", LIBRARIES)
def test_torchs_agree_with_the_book(name: str) -> None:
    kind, library = LIBRARIES[name]
    book = rl.methods(kind, of=library.obj.asked)
    cases = distributions(kind, 3 + (name == "categorical"), noise=name == "gaussian")
    result = found(book, library, cases)
    assert result.verdict == "parity", result.report
    names = {row.name for row in result.report.worst.outputs}
    assert names == set(library.obj.asked) - ({"sample"} if name != "gaussian" else set())


def test_a_bound_that_is_nan_on_one_side_only_is_found() -> None:
    """-inf by the book; the inverse of tanh is infinite, and infinity less infinity is NaN."""
    before = {"before": lambda self, action: torch.atanh(action)}
    own = rl.methods(
        partial(type("Squashed", (policies.Squashed,), before), OPS["torch"]),
        "torch",
        of=("log_prob", "kl", "mode", "sample"),
    )
    book = rl.methods(rl.SquashedGaussian)
    result = found(book, own, distributions(rl.SquashedGaussian, 3))
    assert any("is NaN in one model only" in reason for reason in result.report.worst.reasons)
    inside = found(book, own, distributions(rl.SquashedGaussian, 3, special=False))
    assert inside.verdict == "parity", inside.report


ON_THE_BOUNDS = {
    "parameters": {
        "mean": np.array([[0.0, 1.0, -1.0]], "f"),
        "std": np.array([[0.1, 1.1, 0.6]], "f"),
    },
    "action": np.array([[0.0, 1.0, -1.0]], "f"),
}


def summed_twice(self: Any, action: Any) -> Any:
    before = torch.atanh(action)
    return self.ops.sum(self.each(before)) - self.ops.sum(self.correction(before, action))


def test_what_is_nan_throughout_proves_no_cause() -> None:
    """One log-probability is NaN: what leaves it NaN explains nothing.

    Nor is a scale that is tried with the sign of a draw, which the book does not take, an error.
    """
    own = partial(type("Squashed", (policies.Squashed,), {"log_prob": summed_twice}), OPS["torch"])
    report = parity.compare(
        rl.methods(rl.SquashedGaussian, of=["log_prob"]),
        rl.methods(own, "torch", of=["log_prob"]),
        inputs=ON_THE_BOUNDS,
    )
    assert report.verdict == "diverged" and "NaN in one model only" in str(report)
    assert all(one.cause is None for one in report.divergences)


def epsilon(self: Any, before: Any, action: Any) -> Any:
    action = self.ops.clip(action, -1 + 1e-6, 1 - 1e-6)
    return self.ops.log(1 - action * action + 1e-6)


def test_a_clip_that_is_two_operations_is_one_clip() -> None:
    """Half of it is within a millionth of the whole, and is no divergence."""
    models = [
        written(policies.Squashed, framework, correction=epsilon)
        for framework in ("torch", "tensorflow")
    ]
    report = parity.compare(*models, inputs=ON_THE_BOUNDS)
    assert report.verdict == "parity", str(report)


def test_chainerrls_gaussian_agrees_with_the_book() -> None:
    if find_spec("chainer") is None or find_spec("chainerrl") is None:
        pytest.skip("ChainerRL is not installed")
    from tests.frameworks.chainerrl_stub import import_chainerrl

    chainerrl = import_chainerrl()

    def make(mean: Any, std: Any) -> Any:
        return chainerrl.distribution.GaussianDistribution(mean, std * std)

    asked = ("log_prob", "entropy", "kl", "mode")
    library = rl.methods(make, "chainer", of=asked)
    cases = distributions(rl.DiagonalGaussian, 3, noise=False)
    result = found(rl.methods(rl.DiagonalGaussian, of=asked), library, cases)
    assert result.verdict == "parity", result.report


def test_the_book_as_a_formula_says_who_is_right() -> None:
    faults = {"entropy": lambda self: self.ops.sum(self.ops.log(self.std))}
    rng = np.random.default_rng(0)
    case = {
        "parameters": {
            "mean": rng.normal(size=(5, 3)).astype("f"),
            "std": rng.uniform(0.2, 2, (5, 3)).astype("f"),
        }
    }
    report = parity.compare(
        written(policies.Gaussian, "torch"),
        written(policies.Gaussian, "tensorflow", **faults),
        inputs=case,
        formula=rl.methods(rl.DiagonalGaussian),
    )
    assert report.by_formula.right == "reference"


# --- what does not fit ---------------------------------------------------------------------------

CASE = {"parameters": {"mean": np.ones((2, 3), "f"), "std": np.full((2, 3), 2, "f")}}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rl.methods(rl.Beta, of=("prob",)), "of is .*it must name some of: log_prob"),
        (lambda: rl.methods(rl.Beta, of=()), "it must name some of"),
        (
            lambda: rl.methods(rl.Beta, logprob=min),
            "logprob: no such method; own functions are for",
        ),
        (
            lambda: rl.methods(type("Mine", (), {})),
            "framework of Mine is not known. Name it: parity.",
        ),
        (
            lambda: parity.compare(
                *[rl.methods(rl.SquashedGaussian, of=("entropy",))] * 2, inputs=CASE
            ),
            "SquashedGaussian has no entropy; leave it out of of=",
        ),
        (
            lambda: parity.compare(
                *[rl.methods(LIBRARIES["gaussian"][1].obj.make, "torch")] * 2,
                inputs={**CASE, "noise": np.ones((2, 3), "f")},
            ),
            "make draws its own noise. Give parity.rl.methods",
        ),
        (
            lambda: parity.compare(
                *[rl.methods(rl.Beta)] * 2, inputs={"parameters": np.ones((2, 3), "f")}
            ),
            "parameters of Beta are ndarray; give a dict",
        ),
        (lambda: distributions(rl.Deterministic, 3), "no cases of 'Deterministic' can be drawn"),
        (lambda: distributions(rl.Beta), "Beta needs 1 whole number from 1: actions"),
        (lambda: distributions(rl.GaussianMixture, 3), "needs 2 whole numbers .*components"),
        (lambda: distributions(rl.Bernoulli, 3, high=2), "the actions of a Bernoulli have no bou"),
        (lambda: distributions(rl.Beta, 3, low=2), "low is 2 and high is 1; low must be below"),
        (lambda: distributions(rl.Beta, 3, batch=None), "cases have a batch"),
    ],
)
def test_what_does_not_fit_is_reported(call: Any, message: str) -> None:
    with pytest.raises(parity.ParityError, match=message):
        call()
