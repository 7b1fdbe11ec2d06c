"""Activations: another one, another variant or slope, one missing, one too many."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from parity.diagnosis.causes._curves import Curve
from tests.unit.causes.compared_pairs import Values, cause_of, compared, kind, tensor

values = Values()

X = values(6, 7)
ZERO, ONE = np.zeros((), np.float32), np.ones((), np.float32)
FIRST, LAST = tensor(values(7, 8)), tensor(values(8, 5))
WIDE = tensor(values(15, 5))


def network(activation):
    return lambda x: activation(x @ FIRST) @ LAST


@pytest.mark.parametrize("scale", [1e-2, 1.0, 100.0])
def test_slopes_are_solved_for(scale):
    cause = cause_of(
        network(lambda x: F.leaky_relu(x, 0.01)),
        network(lambda x: torch.maximum(0.137 * x, x)),
        scale * X,
    )
    assert (cause.kind, cause.parameters) == ("leaky-slope", {"slope": (0.01, 0.137)})


def test_hard_sigmoid():
    cause = cause_of(network(F.hardsigmoid), network(lambda x: (0.2 * x + 0.5).clamp(0, 1)), X)
    assert cause.kind == "hard-sigmoid-slope"
    assert cause.parameters["slope"] == pytest.approx((1 / 6, 0.2))


def test_a_scaled_clip_to_a_negative_bound_is_no_hard_sigmoid():
    """As where a mu-law is clipped, and moved to (0, 1) for its bins."""

    def share(scale):
        return lambda x: ((x / scale).clamp(-1, 1) + 1) / 2

    cause = cause_of(network(share(10)), network(share(4)), 20 * X)
    assert cause.kind == "weight-scale"


@pytest.mark.parametrize("scale", [0.01, 1.0])
def test_a_hard_sigmoid_of_several_steps(scale):
    """On small inputs its clips cut nothing off, and its sum is the value that the line gives."""

    def sixth(x):
        return torch.minimum(torch.maximum(x / 6 + 0.5, tensor(ZERO)), tensor(ONE))

    def fifth(x):
        return torch.maximum(torch.minimum(0.2 * x + 0.5, tensor(ONE)), tensor(ZERO))

    for reference, candidate in (
        (sixth, fifth),
        (fifth, sixth),
        (sixth, lambda x: (0.2 * x + 0.5).clamp(0, 1)),
    ):
        cause = cause_of(network(reference), network(candidate), scale * X)
        assert cause is not None
        assert cause.kind == "hard-sigmoid-slope"


def test_variants_of_gelu():
    def tanh(x):
        return F.gelu(x, approximate="tanh")

    cause = cause_of(network(F.gelu), network(tanh), X)
    assert (cause.kind, cause.parameters) == ("gelu-variant", {"kind": ("erf", "tanh")})
    quick = cause_of(network(tanh), network(lambda x: x * torch.sigmoid(1.702 * x)), X)
    assert quick.parameters == {"kind": ("tanh", "sigmoid")}


def test_kinds():
    for reference, candidate, names in (
        (torch.relu, F.elu, ("relu", "elu")),
        (torch.tanh, lambda x: x / (1 + x.abs()), ("tanh", "softsign")),
        (F.silu, F.mish, ("silu", "mish")),
        (F.softplus, torch.exp, ("softplus", "exp")),
        (torch.relu, F.leaky_relu, ("relu", "leaky_relu")),
    ):
        cause = cause_of(network(reference), network(candidate), X)
        assert (cause.kind, cause.parameters) == ("activation-kind", {"kind": names})


def test_one_missing_and_one_too_many():
    for activation in (torch.relu, torch.tanh, F.gelu, F.silu, torch.sigmoid):
        assert kind(network(activation), network(lambda x: x), X) == "activation-missing"
        assert kind(network(lambda x: x), network(activation), X) == "activation-extra"


def test_other_functions_are_not_named():
    for odd in (torch.atan, lambda x: x**3, lambda x: torch.tanh(1.1 * x)):
        assert not kind(network(torch.tanh), network(odd), X).startswith(("activation", "gelu"))
    assert kind(network(torch.relu), network(lambda x: torch.relu(x) + 0.3), X) != "activation-kind"


def test_half_of_the_input_is_no_activation():
    found = cause_of(lambda x: torch.tanh(x), lambda x: torch.tanh(0.5 * x), X)
    assert found is None or not found.kind.startswith(("activation", "hard"))


def test_a_slope_rounded_to_float32_is_no_other_slope():
    exact, rounded = Curve("hard_sigmoid", 1 / 6), Curve("hard_sigmoid", float(np.float32(1 / 6)))
    assert exact.alike(rounded)
    assert not exact.alike(Curve("hard_sigmoid", 0.2))
    assert not exact.alike(Curve("hard_swish", 1 / 6))
    assert Curve("relu").alike(Curve("relu"))
    assert not Curve("relu").alike(Curve("elu"))


def test_a_selection_that_other_inputs_leave_empty_ends_no_cause(recwarn):
    """Where inputs are generated, fewer values may be selected than there were."""
    w = tensor(values(16, 8))

    def guarded(least):
        def run(x):
            h = torch.tanh(x @ w)
            span = h.amax(1) - h.amin(1)
            span[span < 1e-5] += least
            return torch.relu(torch.sin(span)[:, None] + h)

        return run

    assert kind(guarded(0.5), guarded(0.7), np.zeros((4, 16), "f")) is not None
    assert not [one for one in recwarn if "could not be tried" in str(one.message)]


def test_a_curve_of_several_steps_before_a_factor():
    """The one model's bounds, in the place of the other's sum, give a value of the first."""

    def clipped(x):
        return (
            torch.maximum(torch.minimum(0.2 * (x @ FIRST) + 0.5, tensor(ONE)), tensor(ZERO)) * 0.4
        )

    def divided(x):
        return F.relu6(x @ FIRST + 3) / 6 * 0.4

    for scale in (1.0, 3.0):
        cause = cause_of(clipped, divided, scale * X)
        assert cause.kind == "hard-sigmoid-slope"


def test_another_curve_of_which_the_other_is_made_is_placed_at_its_line():
    """One passes on the sigmoid itself, the other multiplies with it."""

    def network(activation):
        return lambda x: torch.cat([activation(x @ FIRST), torch.sin(x)], 1) @ WIDE

    models = network(lambda x: x * torch.sigmoid(x)), network(lambda x: 1 / (1 + torch.exp(-x)))
    found = compared(*models, X).divergences[0]
    assert (found.cause.kind, found.cause.parameters["kind"]) == (
        "activation-kind",
        ("silu", "sigmoid"),
    )
    assert found.candidate.op in ("mul", "reciprocal", "div")


def test_a_tanh_by_sigmoid_counts_as_one():
    """Elsewhere both apply tanh, to other values."""

    def network(activation):
        return lambda x: torch.tanh(activation(x.view(6, 7)) @ FIRST) @ LAST

    squashed = network(lambda x: 2 * torch.sigmoid(2 * x) - 1)
    cause = cause_of(network(lambda x: x), squashed, X)
    assert (cause.kind, cause.confirmed) == ("activation-extra", True)
