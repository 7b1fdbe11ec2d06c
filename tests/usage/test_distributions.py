"""Policies that return distributions: compared by their laws, whatever gives the parameters."""

from __future__ import annotations

import sys
import sysconfig
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import distributions as td

import parity
from parity.frameworks.chainer_numpy import import_chainer
from tests.frameworks.chainerrl_stub import import_chainerrl

chainer = import_chainer()
pytestmark = pytest.mark.filterwarnings("ignore:divide by zero")  # of Chainer's, where p is 0 or 1
tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")
F, cd = chainer.functions, chainer.distributions

draw = np.random.default_rng(0)
X = draw.normal(size=(6, 4)).astype("f")
W, V = (draw.normal(size=(4, 3)).astype("f") for _ in range(2))
LAST = np.array([0, 0, -1e8], "f")
TW, TV = torch.tensor(W), torch.tensor(V)
Make = Callable[[Any, Any], Any]


def in_torch(make: Make, name: str = "reference") -> Any:
    return parity.wrap(lambda x: make(x @ TW, x @ TV), framework="torch", name=name)


def in_chainer(make: Make) -> Any:
    return parity.wrap(lambda x: make(x @ W, x @ V), framework="chainer", name="port")


def in_tensorflow(make: Make) -> Any:
    return parity.wrap(lambda x: make(x @ W, x @ V), framework="tensorflow", name="port")


def compared(reference: Make, candidate: Any) -> Any:
    return parity.compare(in_torch(reference), candidate, inputs=X)


class Cat:
    """A port's own class; where it is right, only its methods take the softmax."""

    def __init__(self, logits: Any) -> None:
        self.logits = logits

    def log_prob(self, action: Any) -> Any:
        return tf.gather(tf.nn.log_softmax(self.logits), action, batch_dims=1)


class Choice:
    def __init__(self, probs: Any) -> None:
        self.probs = probs


class Gauss:
    def __init__(self, mean: Any, std: Any) -> None:
        self.mean, self.std = mean, std


def of_probability() -> Any:
    """As TensorFlow Probability's: it declares what it was made from."""
    module = types.ModuleType("tensorflow_probability")
    module.__file__ = f"{sysconfig.get_path('purelib')}/tensorflow_probability/__init__.py"
    code = """
class Categorical:
    def __init__(self, logits=None, probs=None):
        self._logits, self._probs = logits, probs

    @property
    def parameters(self):
        return {"logits": self._logits, "probs": self._probs, "name": "Categorical"}
"""
    exec(compile(code, module.__file__, "exec"), vars(module))
    return module


def rl() -> Any:
    return import_chainerrl().distribution


def scale_tril(scale: Any) -> Any:
    return F.expand_dims(scale, 2) * np.eye(3, dtype="f")


def sampled(logits: Any) -> Any:
    """Torch's keeps its probabilities from then on."""
    found = td.Categorical(logits=logits)
    found.sample()
    return found


# --- one law, two libraries -----------------------------------------------------------------------

LAWS: dict[str, tuple[Make, Make, Make]] = {  # the reference, a port, the same with a fault
    "Categorical by logits": (
        lambda a, b: td.Categorical(logits=a),
        lambda a, b: cd.Categorical(logit=a),
        lambda a, b: cd.Categorical(logit=3 * a),
    ),
    "Categorical that was sampled": (
        lambda a, b: sampled(a),
        lambda a, b: cd.Categorical(logit=a),
        lambda a, b: cd.Categorical(logit=b),
    ),
    "Categorical by probabilities": (
        lambda a, b: td.Categorical(probs=a.softmax(-1)),
        lambda a, b: cd.Categorical(p=F.softmax(a)),
        lambda a, b: cd.Categorical(p=F.softmax(a, axis=0)),
    ),
    "Categorical either way": (
        lambda a, b: td.Categorical(logits=a),
        lambda a, b: cd.Categorical(p=F.softmax(a)),
        lambda a, b: cd.Categorical(p=a),
    ),
    "Categorical with a mask": (
        lambda a, b: td.Categorical(logits=a + torch.tensor([0, 0, -torch.inf])),
        lambda a, b: cd.Categorical(logit=a + F.broadcast_to(chainer.Variable(LAST), a.shape)),
        lambda a, b: cd.Categorical(logit=a),
    ),
    "OneHotCategorical": (
        lambda a, b: td.OneHotCategorical(logits=a),
        lambda a, b: cd.OneHotCategorical(p=F.softmax(a)),
        lambda a, b: cd.OneHotCategorical(p=F.softmax(2 * a)),
    ),
    "Bernoulli by logits": (
        lambda a, b: td.Bernoulli(logits=a),
        lambda a, b: cd.Bernoulli(logit=a),
        lambda a, b: cd.Bernoulli(logit=a + 1),
    ),
    "Bernoulli by probabilities": (
        lambda a, b: td.Bernoulli(probs=torch.sigmoid(a)),
        lambda a, b: cd.Bernoulli(p=F.sigmoid(a)),
        lambda a, b: cd.Bernoulli(logit=F.sigmoid(a)),
    ),
    "Bernoulli that is sure": (
        lambda a, b: td.Bernoulli(logits=20 * a),
        lambda a, b: cd.Bernoulli(p=F.sigmoid(20 * a)),
        lambda a, b: cd.Bernoulli(p=F.sigmoid(2 * a)),
    ),
    "Independent Bernoulli that is sure": (
        lambda a, b: td.Independent(td.Bernoulli(logits=20 * a), 1),
        lambda a, b: cd.Independent(cd.Bernoulli(p=F.sigmoid(20 * a))),
        lambda a, b: cd.Independent(cd.Bernoulli(p=F.sigmoid(2 * a))),
    ),
    "Categorical that is sure": (
        lambda a, b: td.Categorical(logits=20 * a),
        lambda a, b: cd.Categorical(logit=20 * a),
        lambda a, b: cd.Categorical(logit=2 * a),
    ),
    "Independent Bernoulli": (
        lambda a, b: td.Independent(td.Bernoulli(logits=a), 1),
        lambda a, b: cd.Independent(cd.Bernoulli(logit=a)),
        lambda a, b: cd.Independent(cd.Bernoulli(logit=-a)),
    ),
    "Independent Normal": (
        lambda a, b: td.Independent(td.Normal(a, b.exp()), 1),
        lambda a, b: cd.Independent(cd.Normal(a, log_scale=b)),
        lambda a, b: cd.Independent(cd.Normal(a, log_scale=2 * b)),
    ),
    "Normal": (
        lambda a, b: td.Normal(a, b.exp()),
        lambda a, b: cd.Normal(a, log_scale=b),
        lambda a, b: cd.Normal(a, F.exp(0.5 * b)),
    ),
    "MultivariateNormal": (
        lambda a, b: td.MultivariateNormal(a, covariance_matrix=torch.diag_embed((2 * b).exp())),
        lambda a, b: cd.MultivariateNormal(a, scale_tril=scale_tril(F.exp(b))),
        lambda a, b: cd.MultivariateNormal(a, scale_tril=scale_tril(F.exp(2 * b))),
    ),
    "Gamma": (
        lambda a, b: td.Gamma(a.exp(), b.exp()),
        lambda a, b: cd.Gamma(F.exp(a), 1 / F.exp(b)),
        lambda a, b: cd.Gamma(F.exp(a), F.exp(b)),
    ),
    "Beta": (
        lambda a, b: td.Beta(a.exp(), b.exp()),
        lambda a, b: cd.Beta(F.exp(a), F.exp(b)),
        lambda a, b: cd.Beta(F.exp(b), F.exp(a)),
    ),
    "Dirichlet": (
        lambda a, b: td.Dirichlet(a.exp()),
        lambda a, b: cd.Dirichlet(F.exp(a)),
        lambda a, b: cd.Dirichlet(1 + F.exp(a)),
    ),
    "Uniform": (
        lambda a, b: td.Uniform(a, a + b.exp()),
        lambda a, b: cd.Uniform(loc=a, scale=F.exp(b)),
        lambda a, b: cd.Uniform(loc=a, scale=2 * F.exp(b)),
    ),
    "LogNormal": (
        lambda a, b: td.LogNormal(a, b.exp()),
        lambda a, b: cd.LogNormal(a, F.exp(b)),
        lambda a, b: cd.LogNormal(F.exp(a), F.exp(b)),
    ),
    "Laplace": (
        lambda a, b: td.Laplace(a, b.exp()),
        lambda a, b: cd.Laplace(a, F.exp(b)),
        lambda a, b: cd.Laplace(a, 2 * F.exp(b)),
    ),
    "Gumbel": (
        lambda a, b: td.Gumbel(a, b.exp()),
        lambda a, b: cd.Gumbel(a, F.exp(b)),
        lambda a, b: cd.Gumbel(-a, F.exp(b)),
    ),
    "Pareto": (
        lambda a, b: td.Pareto(a.exp(), b.exp()),
        lambda a, b: cd.Pareto(F.exp(a), F.exp(b)),
        lambda a, b: cd.Pareto(F.exp(b), F.exp(a)),
    ),
    "Exponential": (
        lambda a, b: td.Exponential(a.exp()),
        lambda a, b: cd.Exponential(F.exp(a)),
        lambda a, b: cd.Exponential(F.exp(-a)),
    ),
    "Poisson": (
        lambda a, b: td.Poisson(a.exp()),
        lambda a, b: cd.Poisson(F.exp(a)),
        lambda a, b: cd.Poisson(F.exp(2 * a)),
    ),
    "Chi2": (
        lambda a, b: td.Chi2(a.exp()),
        lambda a, b: cd.Chisquare(F.exp(a)),
        lambda a, b: cd.Chisquare(2 * F.exp(a)),
    ),
}
each_law = pytest.mark.parametrize("law", LAWS)


def beside_a_value(make: Make) -> Make:
    return lambda a, b: (make(a, b), b)


@each_law
@pytest.mark.parametrize("way", [lambda make: make, beside_a_value], ids=["alone", "value"])
def test_one_law_is_parity(law: str, way: Callable[[Make], Make]) -> None:
    reference, candidate, _ = LAWS[law]
    report = compared(way(reference), in_chainer(way(candidate)))
    assert report.verdict == "parity", str(report)


@each_law
def test_another_law_is_seen_in_its_own_output(law: str) -> None:
    reference, _, candidate = LAWS[law]
    report = compared(beside_a_value(reference), in_chainer(beside_a_value(candidate)))
    assert report.verdict == "diverged", str(report)
    verdicts = {one.name: one.verdict for one in report.worst.outputs}
    assert verdicts.pop("1") == "parity"
    assert "diverged" in verdicts.values()


@pytest.mark.parametrize(
    ("reference", "candidate"),
    [
        (lambda a, b: td.Normal(a, b.exp()), lambda a, b: cd.Laplace(a, F.exp(b))),
        # torch counts failures, Chainer trials
        (lambda a, b: td.Geometric(logits=a), lambda a, b: cd.Geometric(F.sigmoid(a))),
        (lambda a, b: td.Bernoulli(logits=a), lambda a, b: cd.Categorical(p=F.sigmoid(a))),
        (
            lambda a, b: td.Normal(a, b.exp()),
            lambda a, b: rl().SquashedGaussianDistribution(a, F.exp(2 * b)),
        ),
    ],
    ids="normal geometric choice squashed".split(),
)
def test_equal_values_of_two_laws_are_no_parity(reference: Make, candidate: Make) -> None:
    report = compared(reference, in_chainer(candidate))
    assert report.verdict == "unverified", str(report)
    assert "is a distribution of another kind" in str(report)


def test_what_a_relaxed_distribution_keeps_beside_its_parameters_counts() -> None:
    def relaxed(temperature: float) -> Make:
        return lambda a, b: td.RelaxedBernoulli(torch.tensor(temperature), logits=a)

    assert compared(relaxed(2.2), in_torch(relaxed(2.2), "port")).verdict == "parity"
    assert compared(relaxed(2.2), in_torch(relaxed(2.3), "port")).verdict == "diverged"


# --- a class of the port's own, or a tensor -------------------------------------------------------


def value_dict(make: Make) -> Make:
    return lambda a, b: {"pi": make(a, b), "v": b}


OWN: dict[str, tuple[Make, Make, Make]] = {
    "logits": (lambda a, b: td.Categorical(logits=a), lambda a, b: Cat(a), lambda a, b: Cat(3 * a)),
    "logits, shifted": (
        lambda a, b: td.Categorical(logits=a),
        lambda a, b: Cat(a - tf.reduce_max(a, -1, keepdims=True)),
        lambda a, b: Cat(a - tf.reduce_max(a, 0, keepdims=True)),
    ),
    "logits of a sampled one": (
        lambda a, b: sampled(a),
        lambda a, b: Cat(a),
        lambda a, b: Cat(tf.nn.relu(a)),
    ),
    "log-probabilities": (
        lambda a, b: td.Categorical(logits=a),
        lambda a, b: Cat(tf.nn.log_softmax(a)),
        lambda a, b: Cat(tf.nn.softmax(a)),
    ),
    "probabilities": (
        lambda a, b: td.Categorical(logits=a),
        lambda a, b: Choice(tf.nn.softmax(a)),
        lambda a, b: Choice(a),
    ),
    "one-hot": (
        lambda a, b: td.OneHotCategorical(logits=a),
        lambda a, b: Cat(a),
        lambda a, b: Cat(b),
    ),
    "yes and no": (
        lambda a, b: td.Bernoulli(logits=a),
        lambda a, b: Choice(tf.sigmoid(a)),
        lambda a, b: Choice(a),
    ),
    "a tensor": (lambda a, b: td.Categorical(logits=a), lambda a, b: a, lambda a, b: 3 * a),
    "a tensor of rates": (
        lambda a, b: td.Poisson(a.exp()),
        lambda a, b: tf.exp(a),
        lambda a, b: tf.exp(b),
    ),
    "mean and deviation": (
        lambda a, b: td.Independent(td.Normal(a, b.exp()), 1),
        lambda a, b: Gauss(a, tf.exp(b)),
        lambda a, b: Gauss(a, tf.exp(2 * b)),
    ),
}
each_own = pytest.mark.parametrize("own", OWN)


@each_own
@pytest.mark.parametrize(
    "way", [lambda make: make, beside_a_value, value_dict], ids="alone tuple dict".split()
)
def test_the_same_parameters_are_parity(own: str, way: Callable[[Make], Make]) -> None:
    reference, candidate, _ = OWN[own]
    report = compared(way(reference), in_tensorflow(way(candidate)))
    assert report.verdict == "parity", str(report)
    is_reported = own.startswith(("log", "one-hot")) or own == "a tensor"
    assert ("a constant that is added" in " ".join(str(report).split())) == is_reported


@each_own
def test_other_parameters_are_seen(own: str) -> None:
    reference, _, candidate = OWN[own]
    report = compared(beside_a_value(reference), in_tensorflow(beside_a_value(candidate)))
    assert report.verdict == "diverged", str(report)


@pytest.mark.parametrize("own", [own for own in OWN if own != "mean and deviation"])
def test_other_names_are_paired_in_their_order(own: str) -> None:
    reference, candidate, _ = OWN[own]
    report = compared(value_dict(reference), in_tensorflow(beside_a_value(candidate)))
    assert report.verdict == "parity", str(report)


@pytest.mark.parametrize(
    ("reference", "candidate"),
    [
        (lambda a, b: td.Categorical(logits=a), lambda a, b: F.softmax(a)),
        (lambda a, b: td.Categorical(probs=a.softmax(-1)), lambda a, b: a),
        (lambda a, b: td.Bernoulli(logits=a), lambda a, b: F.sigmoid(a)),
        (lambda a, b: a, lambda a, b: cd.Categorical(logit=a)),
    ],
    ids="probabilities logits yes either".split(),
)
def test_a_tensor_that_may_be_either_is_not_guessed(reference: Make, candidate: Make) -> None:
    report = compared(reference, in_chainer(candidate))
    assert report.verdict == "unverified", str(report)
    assert "return it by its name" in " ".join(str(report).split())


def test_what_else_an_own_class_keeps_is_not_dropped() -> None:
    def kept(**beside: Any) -> Make:
        return lambda a, b: types.SimpleNamespace(loc=a, scale=tf.exp(b), **beside)

    def reference(a: Any, b: Any) -> Any:
        return td.Normal(a, b.exp())

    assert compared(reference, in_tensorflow(kept())).verdict == "parity"
    assert compared(reference, in_tensorflow(kept(log_std=1.0))).verdict == "unverified"
    assert compared(reference, in_tensorflow(kept(beta=1.0))).verdict == "unverified"


@pytest.mark.parametrize(
    "other",
    [
        lambda a, b: tf.reduce_mean(a),
        lambda a, b: a[:, 0],
        lambda a, b: types.SimpleNamespace(logits=tf.reduce_mean(a)),
        lambda a, b: types.SimpleNamespace(loc=a, mean=b, mu=a),
    ],
)
def test_what_is_no_distribution_at_all_is_reported(other: Make) -> None:
    report = compared(lambda a, b: td.Categorical(logits=a), in_tensorflow(other))
    assert report.verdict in ("diverged", "unverified"), str(report)


def test_numbers_of_half_precision() -> None:
    def half(make: Make) -> Make:
        return lambda a, b: make(a.bfloat16(), b.bfloat16())

    report = compared(
        half(lambda a, b: td.Categorical(logits=a)),
        in_torch(half(lambda a, b: td.Categorical(probs=a.softmax(-1))), "port"),
    )
    assert report.verdict != "diverged", str(report)


def test_what_lies_before_is_located_there() -> None:
    def reference(x: Any) -> Any:
        return td.Categorical(logits=torch.tanh(x) @ TW)

    def port(x: Any) -> Any:
        return Cat(tf.sigmoid(x) @ W)

    report = parity.compare(
        parity.wrap(reference, framework="torch"),
        parity.wrap(port, framework="tensorflow"),
        inputs=X,
    )
    [divergence] = report.divergences
    assert divergence.cause is not None
    assert (divergence.cause.kind, divergence.cause.confirmed) == ("activation-kind", True)


def test_a_formula_is_reported_alike() -> None:
    report = parity.compare(
        in_torch(lambda a, b: td.Categorical(logits=a)),
        in_chainer(lambda a, b: cd.Categorical(logit=2 * a)),
        inputs=X,
        formula=lambda x: {"logits": x @ W},
    )
    assert report.verdict == "diverged"
    assert report.worst.by_formula is not None
    assert report.worst.by_formula.right == "reference", str(report)


def test_a_library_that_declares_what_it_was_given(monkeypatch: Any) -> None:
    probability = of_probability()
    monkeypatch.setitem(sys.modules, probability.__name__, probability)
    make = probability.Categorical
    for given, verdict in (
        (lambda a, b: make(logits=a), "parity"),
        (lambda a, b: make(logits=a + 1), "parity"),
        (lambda a, b: make(probs=tf.nn.softmax(a)), "parity"),
        (lambda a, b: make(logits=2 * a), "diverged"),
        (lambda a, b: make(probs=a), "diverged"),
    ):
        report = compared(lambda a, b: td.Categorical(logits=a), in_tensorflow(given))
        assert report.verdict == verdict, str(report)


def test_distributions_of_chainerrl() -> None:
    given = rl()
    for reference, candidate, fault in (
        (
            lambda a, b: td.Categorical(logits=a),
            lambda a, b: given.SoftmaxDistribution(a),
            lambda a, b: given.SoftmaxDistribution(2 * a),
        ),
        (
            lambda a, b: td.Categorical(logits=2 * a),
            lambda a, b: given.SoftmaxDistribution(a, beta=2.0),
            lambda a, b: given.SoftmaxDistribution(a, min_prob=0.1),
        ),
        (
            lambda a, b: td.Independent(td.Normal(a, b.exp()), 1),
            lambda a, b: given.GaussianDistribution(a, F.exp(2 * b)),
            lambda a, b: given.GaussianDistribution(a, F.exp(b)),
        ),
    ):
        assert compared(reference, in_chainer(candidate)).verdict == "parity"
        assert compared(reference, in_chainer(fault)).verdict == "diverged"
    # a whole number is a setting, and what the logits are by it is not known
    report = compared(
        lambda a, b: td.Categorical(logits=2 * a),
        in_chainer(lambda a, b: given.SoftmaxDistribution(a, beta=2)),
    )
    assert report.verdict == "unverified", str(report)


# --- weights --------------------------------------------------------------------------------------


class Policy(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.pi, self.v = torch.nn.Linear(4, 3), torch.nn.Linear(4, 1)

    def forward(self, x: Any) -> Any:
        return td.Categorical(logits=self.pi(x)), self.v(x)


class InChainer(chainer.Chain):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        with self.init_scope():
            self.pi, self.v = chainer.links.Linear(4, 3), chainer.links.Linear(4, 1)

    def forward(self, x: Any) -> Any:
        return cd.Categorical(logit=self.pi(x)), self.v(x)


class InKeras(keras.Model):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.pi, self.v = keras.layers.Dense(3), keras.layers.Dense(1)

    def call(self, x: Any) -> Any:
        return Cat(self.pi(x)), self.v(x)


@pytest.mark.parametrize("target", [InChainer, InKeras])
def test_weights_of_a_policy_are_moved(target: Any) -> None:
    torch.manual_seed(0)
    model = target()
    moved = parity.transfer(Policy(), model, inputs=X)
    assert (moved.verdict, moved.written) == ("parity", True), str(moved)
