"""Distributions of the libraries: what each calls its parameters, and how one is made of others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from parity.arrays import Array, log_softmax, sigmoid, softmax

Function = Callable[..., Array]
Made = Mapping[tuple[str, ...], Function]


@dataclass(frozen=True)
class Law:
    """Distributions of one kind, whichever parameters they are given by.

    Attributes:
        called: other names of its parameters.
        made: by a parameter what it is made of where a distribution is given by something else.
        free: by a parameter what all its values of one law have in common.
        looks: by which of its parameters an array may be one, as far as its values show.
    """

    name: str
    called: Mapping[str, str] = field(default_factory=dict)
    made: Mapping[str, Made] = field(default_factory=dict)
    free: Mapping[str, Function] = field(default_factory=dict)
    looks: Callable[[Array], str] | None = None

    @property
    def parameters(self) -> set[str]:
        """The names by which its parameters are known here."""
        sources = (one for ways in self.made.values() for names in ways for one in names)
        return {*self.called.values(), *self.made, *sources}


def law_of(cls: type) -> Law | None:
    """The law of a library's class, or of a class that a user made of it; None for any other.

    Such a class declares its parameters: `arg_constraints`, `params`, `parameters`.
    """
    declared = isinstance(getattr(cls, "arg_constraints", None), Mapping) or any(
        isinstance(getattr(cls, name, None), property) for name in ("params", "parameters")
    )
    for base in cls.__mro__ if declared else ():
        package = base.__module__.partition(".")[0]
        found = _LAWS.get(f"{package}.{base.__name__}") or _LAWS.get(base.__name__)
        if found is not None:
            return found
    return None


def usual(law: Law) -> Law:
    """The law with the names that most libraries use."""
    return _LAWS.get(law.name, law)


def half_exp(log_variance: Array) -> Array:
    return np.exp(0.5 * log_variance)


def softmax_of_scores(scores: Array, beta: Array, min_prob: Array) -> Array:
    """As ChainerRL has it: with a temperature, and a least probability."""
    return np.asarray(softmax(beta * scores) * (1 - min_prob * scores.shape[-1]) + min_prob)


def covariance(scale_tril: Array) -> Array:
    return np.asarray(scale_tril @ scale_tril.swapaxes(-1, -2))


def of_a_choice(array: Array) -> str:
    """Whether an array looks like probabilities of a few, or like their logits."""
    whole = (
        array.ndim and of_two(array) == "probs" and np.allclose(array.sum(axis=-1), 1, atol=1e-3)
    )
    return "probs" if whole else "logits"


def of_two(array: Array) -> str:
    """Whether an array looks like probabilities of yes, or like their logits."""
    return "probs" if ((array >= 0) & (array <= 1)).all() else "logits"


def twice(concentration: Array, rate: Array) -> Array:
    return 2 * concentration * np.ones_like(rate)


_P = {"p": "probs", "logit": "logits"}
_BINARY: Mapping[str, Made] = {"probs": {("logits",): sigmoid, ("logit",): sigmoid}}
_SCALE: Made = {("log_scale",): np.exp, ("variance",): np.sqrt, ("log_variance",): half_exp}
_NORMAL = {
    **{"mean": "loc", "mu": "loc"},
    **{"std": "scale", "stddev": "scale", "sigma": "scale"},
    **{"log_std": "log_scale", "var": "variance", "ln_var": "log_variance"},
}
_CHOICE: Mapping[str, Made] = {
    "probs": {("logits",): softmax, ("scores", "beta", "min_prob"): softmax_of_scores}
}
_CHI2 = Law("Chi2", {"k": "df"}, {"df": {("concentration", "rate"): twice}})
_FREE = {"logits": log_softmax}  # a constant in a row changes no probability

_LAWS = {
    # Chainer makes a logit of any probability, an infinite one of 1: it is not held to logits
    "Bernoulli": Law("Bernoulli", {"p": "probs"}, _BINARY, looks=of_two),
    "Beta": Law("Beta", {"a": "concentration1", "b": "concentration0"}),
    "Binomial": Law("Binomial", _P, _BINARY, looks=of_two),
    "Categorical": Law("Categorical", _P, _CHOICE, _FREE, of_a_choice),
    "Cauchy": Law("Cauchy"),
    "Chi2": _CHI2,
    "Chisquare": _CHI2,
    "Dirichlet": Law("Dirichlet", {"alpha": "concentration"}),
    "Exponential": Law("Exponential", {"lam": "rate"}),
    "Gamma": Law("Gamma", {"k": "concentration"}, {"rate": {("theta",): np.reciprocal}}),
    "GaussianDistribution": Law("Normal", _NORMAL, {"scale": _SCALE}),
    "Geometric": Law("Geometric", _P, _BINARY, looks=of_two),
    "chainer.Geometric": Law("Geometric, counted from 1", _P, _BINARY, looks=of_two),
    "Gumbel": Law("Gumbel"),
    "Laplace": Law("Laplace"),
    "LogNormal": Law("LogNormal", {"mu": "loc", "sigma": "scale"}),
    "Multinomial": Law("Multinomial", _P, _CHOICE, _FREE, of_a_choice),
    "MultivariateNormal": Law(
        "MultivariateNormal",
        {},
        {"covariance_matrix": {("scale_tril",): covariance, ("precision_matrix",): np.linalg.inv}},
    ),
    "Normal": Law("Normal", _NORMAL, {"scale": _SCALE}),
    "OneHotCategorical": Law("OneHotCategorical", _P, _CHOICE, _FREE, of_a_choice),
    "Pareto": Law("Pareto"),
    "Poisson": Law("Poisson", {"lam": "rate"}, {"rate": {("log_rate",): np.exp}}),
    "SoftmaxDistribution": Law("Categorical", {"logits": "scores"}, _CHOICE),
    "SquashedGaussianDistribution": Law("squashed Normal", _NORMAL, {"scale": _SCALE}),
    "Uniform": Law(
        "Uniform", {}, {"low": {("loc",): np.asarray}, "high": {("loc", "scale"): np.add}}
    ),
}
