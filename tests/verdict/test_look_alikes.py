"""Values that come near another without being its partner, and what may be substituted for them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import parity

draw = np.random.default_rng(31)
LARGE = 1e6 * draw.standard_normal((5, 7)).astype("f")
SMALL = 1e-6 * draw.standard_normal((5, 6)).astype("f")


def weights(*shape: int) -> torch.Tensor:
    return torch.from_numpy(draw.standard_normal(shape).astype("f"))


INNER, OUTER, BIAS = weights(6, 7), weights(6, 6), weights(6)


def compare(reference, candidate, *inputs):
    models = (parity.wrap(one, framework="torch") for one in (reference, candidate))
    return parity.compare(*models, inputs=inputs)


def gates(x, h):
    return torch.tanh((F.linear(x, INNER, BIAS) + F.linear(h, OUTER)) * 1e-7)


def gates_with_the_bias_last(x, h):
    return torch.tanh((x @ INNER.T + h @ OUTER.T + BIAS) * torch.tensor(1e-7))


def gates_without_a_bias(x, h):
    return torch.tanh((x @ INNER.T + h @ OUTER.T) * torch.tensor(1e-7))


def test_a_product_without_its_small_bias_is_no_sum():
    report = compare(gates, gates_with_the_bias_last, LARGE, LARGE[:, :6])

    assert report.verdict == "parity", str(report)


def test_a_small_bias_that_is_never_added_is_missed():
    report = compare(gates, gates_without_a_bias, LARGE, LARGE[:, :6])

    assert report.verdict == "diverged", str(report)
    assert report.divergences[0].reference.op == "addmm"


MEAN, VARIANCE, GAMMA, BETA = weights(7), weights(7).abs() + 0.5, weights(7), weights(7)
SCALE = GAMMA / torch.sqrt(VARIANCE + 1e-3)


def normalized(x):
    return torch.tanh(1e-6 * ((x - MEAN) / torch.sqrt(VARIANCE + 1e-3) * GAMMA + BETA))


def folded(shift):
    return lambda x: torch.tanh(1e-6 * (x * SCALE + shift))


def test_a_scaled_input_without_its_small_shift_is_no_sum():
    report = compare(normalized, folded(BETA - MEAN * SCALE), LARGE)

    assert report.verdict == "parity", str(report)


def residual_net(norm, seed):
    kernels = np.random.default_rng(seed).standard_normal((3, 6, 6)).astype("f") / 2

    def net(x):
        for kernel in kernels:
            x = x + F.gelu(norm(x) @ torch.from_numpy(kernel))
        return x

    return net


def fused(x):
    return F.layer_norm(x, (6,))


def by_hand(epsilon):
    def norm(x):
        mean = x.mean(1, keepdim=True)
        variance = ((x - mean) ** 2).mean(1, keepdim=True)
        return (x - mean) / torch.sqrt(variance + torch.tensor(epsilon))

    return norm


@pytest.mark.parametrize("seed", range(3))
def test_a_norm_of_little_variance_is_its_decomposition(seed):
    report = compare(residual_net(fused, seed), residual_net(by_hand(1e-5), seed), SMALL)
    assert report.verdict == "parity", str(report)
    report = compare(residual_net(fused, seed), residual_net(by_hand(1.001e-5), seed), SMALL)
    assert report.verdict == "diverged", str(report)


@pytest.mark.parametrize("turned", [False, True])
def test_an_epsilon_that_is_off_by_a_thousandth_is_seen_through_a_fused_norm(turned):
    """A mean that the fused norm returns as well is part of the norm on both sides."""
    models = [residual_net(fused, 0), residual_net(by_hand(1.001e-5), 0)]
    report = compare(*(models[::-1] if turned else models), 1e6 * SMALL)

    assert report.verdict == "diverged", str(report)
    assert "smaller" in report.divergences[0].detail


def hard_sigmoid_in_steps(slope):
    def gate(x):
        shifted = torch.tensor(slope) * x + 0.5
        return torch.maximum(torch.minimum(shifted, torch.tensor(1.0)), torch.tensor(0.0))

    return gate


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("turned", [False, True])
def test_what_a_clip_cuts_nothing_off_is_its_clipped_value(seed, turned):
    """On small inputs the sum before two clips is a fused hard sigmoid, on others it is not."""
    random = np.random.default_rng(seed)
    kernel = torch.from_numpy(random.standard_normal((7, 8)).astype("f"))
    x = 0.1 * random.standard_normal((5, 7)).astype("f")

    def net(gate):
        return lambda x: gate(x @ kernel)

    fused, steps = net(F.hardsigmoid), net(hard_sigmoid_in_steps(1 / 6))
    report = compare(steps, fused, x) if turned else compare(fused, steps, x)
    assert report.verdict == "parity"
    other = net(hard_sigmoid_in_steps(0.1667))
    assert (compare(other, fused, x) if turned else compare(fused, other, x)).verdict == "diverged"


def undone(name, rate, epsilon):
    """A function and its inverse, except for an epsilon, of a small multiple of the input."""
    by = torch.tensor(-rate, dtype=torch.float64).float()  # rounded; the other side has it in full

    def reference(x):
        y = torch.exp((x * x) * rate)  # of the other sign
        if name == "exp":
            return torch.log(torch.sqrt(torch.square(1 / y)) + 4.5e-7)
        p = 1 / (1 + y) + 4.5e-7
        return torch.log(p / (1 - p))

    def candidate(x):
        y = by * (x * x)
        if name == "exp":
            return torch.log(torch.abs(torch.exp(y)) + epsilon)
        p = torch.sigmoid(y) + epsilon
        return torch.log(p) - torch.log(1 - p)

    return reference, candidate


@pytest.mark.parametrize("name", ["exp", "sigmoid"])
@pytest.mark.parametrize("rate", [0.455, 0.7])
def test_what_is_undone_except_for_an_epsilon_is_not_its_argument(name, rate):
    """Where the reference's result is substituted, what follows is the reference's, and late."""
    x = np.random.default_rng(3).standard_normal((5, 7)).astype("f")

    report = compare(*undone(name, rate, 4.5e-7), x)
    assert report.verdict == "parity", str(report)
    assert compare(*undone(name, rate, 4e-5), x).verdict == "diverged"


def script_of(x):
    y = x * 1.7
    inner = np.sqrt(2 / np.pi) * (y + 0.044715 * y**3)
    return 0.5 * y * (1 + np.tanh(inner))


def gelu_by_hand(scale):
    def gelu(x):
        y = torch.transpose(scale * x, 0, 1).transpose(0, 1)
        y = y.reshape(y.shape)
        cube = y * (y * y)
        return (y * 0.5) * (torch.tanh((y + cube * 0.044715) * np.sqrt(2 / np.pi)) + 1.0)

    return gelu


@pytest.mark.parametrize("turned", [False, True])
def test_the_argument_of_a_gelu_is_not_its_value_in_a_script(turned):
    """Nothing of a script is known but what it returns, and a large argument is nearly that."""
    x = np.linspace(2.3, 2.95, 12, dtype="f").reshape(3, 4)

    def compared(candidate):
        models = parity.wrap(script_of, "numpy"), parity.wrap(candidate, "torch")
        return parity.compare(*(models[::-1] if turned else models), inputs=(x,))

    report = compared(gelu_by_hand(torch.tensor(1.7)))
    assert report.verdict == "parity", str(report)
    assert compared(gelu_by_hand(torch.tensor(1.7001))).verdict == "diverged"
