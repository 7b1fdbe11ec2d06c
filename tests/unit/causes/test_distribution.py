"""Distributions of actions."""

from __future__ import annotations

import math

import torch
from torch.nn import functional as F

from tests.unit.causes.compared_pairs import Values, cause_of, kind, tensor

values = Values()

X, NOISE = values(5, 7), values(5, 6)
MEAN, SCALE = tensor(values(7, 6)), tensor(values(7, 6, scale=0.3))
HALF = 0.5 * math.log(2 * math.pi)


def sample(form):
    return lambda x, noise: torch.tanh(x @ MEAN + form(x @ SCALE) * noise)


def test_forms_of_the_scale():
    for reference, candidate in (
        (torch.exp, F.softplus),
        (lambda s: s, torch.exp),
        (lambda s: torch.exp(0.5 * s), lambda s: F.softplus(s) ** 2),
    ):
        assert kind(sample(reference), sample(candidate), X, NOISE) == "scale-parameterisation"


def test_another_function_of_the_scale_is_not_named():
    assert kind(sample(torch.exp), sample(torch.cosh), X, NOISE) != "scale-parameterisation"


def test_an_action_that_is_not_squashed():
    assert (
        kind(lambda x: 2 * torch.tanh(x @ MEAN) + 0.5, lambda x: 2 * (x @ MEAN) + 0.5, X)
        == "squash-missing"
    )


def terms(x, a):
    s = x @ SCALE
    return -0.5 * ((a - x @ MEAN) * torch.exp(-s)) ** 2 - s - HALF


def test_the_reduction_of_components():
    cause = cause_of(lambda x, a: terms(x, a).sum(-1), lambda x, a: terms(x, a).mean(-1), X, NOISE)
    assert (cause.kind, cause.parameters["kind"]) == ("log-prob-reduction", ("sum", "mean"))


def corrected(x, u):
    stretch = torch.log(1 - torch.tanh(u) ** 2 + 1e-6)
    return terms(x, u).sum(-1) - stretch.sum(-1)


def test_the_correction_for_tanh_on_either_side():
    def plain(x, u):
        return terms(x, u).sum(-1)

    assert kind(corrected, plain, X, NOISE) == "log-prob-correction"
    assert kind(plain, corrected, X, NOISE) == "log-prob-correction"


def test_probabilities_taken_for_logits_in_a_loss():
    y = tensor(values(5, 6) > 0).float()

    def reference(x):
        return F.binary_cross_entropy_with_logits(x @ MEAN, y, reduction="none").sum(1)

    def candidate(x):
        p = torch.sigmoid(x @ MEAN)
        return F.binary_cross_entropy_with_logits(p, y, reduction="none").sum(1)

    assert kind(reference, candidate, X) in ("logits-vs-probabilities", "activation-extra")


def test_logits_taken_for_probabilities():
    def positive(x):
        return F.softplus(x @ MEAN)

    assert (
        kind(
            lambda x: positive(x).softmax(1),
            lambda x: positive(x) / positive(x).sum(1, keepdim=True),
            X,
        )
        == "logits-vs-probabilities"
    )
