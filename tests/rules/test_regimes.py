"""What agrees in float64 but differs as the models ran is no parity, unless it is rounding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import parity
from tests.rules.pairs import FIRST, X, compare, draw


def absorbed(h: torch.Tensor, by: float) -> torch.Tensor:
    return (h + by) - by


# --- outputs of every kind ------------------------------------------------------------------------


def bins(origin: float) -> Callable[..., Any]:
    return lambda x: torch.floor((x + origin) * 100).long() - int(100 * origin)


def greedy(value: float) -> Callable[..., Any]:
    return lambda x: (value + torch.tanh(x @ FIRST)).argmax(1)


def done(start: float) -> Callable[..., Any]:
    return lambda x: (torch.tanh(x @ FIRST), (x + start) - start > 0.1)


def response(offset: float) -> Callable[..., Any]:
    def model(x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(x @ FIRST)
        return torch.complex(absorbed(h, offset), h * h)

    return model


def beside_noise(by: float) -> Callable[..., Any]:
    def model(x: torch.Tensor) -> torch.Tensor:
        return torch.cat([torch.cos(3e5 * x[:, :3]), absorbed(torch.tanh(x @ FIRST), by)], 1)

    return model


def beside_money(by: float) -> Callable[..., Any]:
    def model(x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(x @ FIRST)
        return torch.cat([3000 * h[:, :1], absorbed(h[:, 1:], by)], 1)

    return model


def beside_draws(by: float) -> Callable[..., Any]:
    def model(x: torch.Tensor) -> Any:
        h = torch.tanh(x @ FIRST)
        return absorbed(h, by), h + 0.1 * torch.randn(h.shape)

    return model


KINDS = [
    pytest.param(bins, 0.0, 65536.0, id="whole numbers"),
    pytest.param(greedy, 0.0, 4e6, id="actions"),
    pytest.param(done, 0.0, 1.7e9, id="booleans"),
    pytest.param(response, 0.0, 3e6, id="complex numbers"),
    pytest.param(beside_noise, 0.0, 2e6, id="beside what is ill-conditioned"),
    pytest.param(beside_money, 0.0, 8e6, id="beside what is larger"),
    pytest.param(beside_draws, 0.0, 3e6, id="beside a draw"),
]


@pytest.mark.parametrize(("build", "right", "wrong"), KINDS)
def test_a_constant_that_absorbs_is_no_rounding(
    build: Callable[..., Any], right: float, wrong: float
) -> None:
    x = draw.standard_normal((40, 7)).astype("f")
    assert compare(build(right), build(right), inputs=x).verdict == "parity"
    report = compare(build(right), build(wrong), inputs=x)
    assert report.verdict == "unverified"
    assert "as they ran" in " ".join(report.worst.reasons)


def test_a_tie_that_rounding_turns_is_no_regime() -> None:
    """The scores of two actions are one value up to the order of a sum."""
    x = draw.standard_normal((400, 7)).astype("f")

    def reference(x: torch.Tensor) -> torch.Tensor:
        return torch.stack([x.sum(1), x.flip(1).sum(1)], 1).argmax(1)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        total = x[:, 0] + x[:, 1] + x[:, 2] + x[:, 3] + x[:, 4] + x[:, 5] + x[:, 6]
        return torch.stack([total, x.sum(1)], 1).argmax(1)

    assert compare(reference, candidate, inputs=x).verdict != "diverged"


# --- half precision -------------------------------------------------------------------------------


class Counting(torch.nn.Module):
    """A share of positive values, counted step by step in `kind`."""

    def __init__(self, kind: torch.dtype) -> None:
        super().__init__()
        self.gain = torch.nn.Parameter(torch.full((1,), 1.25, dtype=torch.bfloat16))
        self.kind = kind

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        count = torch.zeros(len(x), dtype=self.kind)
        for step in (x > -1).to(self.kind).unbind(1):
            count = count + step
        return (count / x.shape[1]).to(x.dtype) * self.gain


def test_a_count_that_stops_in_half_precision_is_no_rounding() -> None:
    x = draw.standard_normal((5, 400)) + draw.standard_normal((5, 1))

    def reference(x: torch.Tensor) -> torch.Tensor:
        return (x > -1).float().mean(1) * 1.25

    def against(kind: torch.dtype) -> str:
        models = parity.wrap(reference, framework="torch"), Counting(kind)
        return parity.compare(*models, inputs=x.astype("f")).verdict

    assert against(torch.bfloat16) == "unverified"
    assert against(torch.float32) == "parity"


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_a_cast_that_rounds_nothing_is_no_half_precision(kind: torch.dtype) -> None:
    def reference(x: torch.Tensor) -> torch.Tensor:
        return torch.where(x > 0, x, torch.zeros_like(x)) @ FIRST

    def port(factor: float) -> Callable[..., Any]:
        return lambda x: factor * ((x * (x > 0).to(kind)) @ FIRST)

    assert compare(reference, port(1.0)).verdict == "parity"
    assert compare(reference, port(1.001)).verdict == "diverged"
    assert compare(reference, lambda x: (x * (0.9 * (x > 0).to(kind))) @ FIRST / 0.9).divergences


# --- kernels of the user's own --------------------------------------------------------------------


@torch.library.custom_op("parity_tests::approximate_tanh", mutates_args=())
def approximate_tanh(x: torch.Tensor) -> torch.Tensor:
    if x.dtype == torch.float64:
        return torch.tanh(x)
    return x * (27 + x * x) / (27 + 9 * x * x)


@torch.library.custom_op("parity_tests::plain_tanh", mutates_args=())
def plain_tanh(x: torch.Tensor) -> torch.Tensor:
    return torch.tanh(x)


def test_a_kernel_that_approximates_in_float32_alone_is_found() -> None:
    def port(kernel: Any) -> Callable[..., Any]:
        return lambda x: kernel(0.3 * x) @ FIRST

    reference = port(torch.tanh)
    assert compare(reference, port(plain_tanh)).verdict == "parity"
    assert compare(reference, port(approximate_tanh)).verdict == "diverged"


def test_a_chainer_function_that_goes_by_the_dtype_is_found() -> None:
    pytest.importorskip("pkg_resources")
    from parity.frameworks.chainer_numpy import import_chainer

    chainer = import_chainer()

    class Tanh(chainer.FunctionNode):  # type: ignore[name-defined, misc]
        def __init__(self, fast: bool) -> None:
            self.fast = fast

        def forward(self, inputs: Any) -> Any:
            (x,) = inputs
            if self.fast and x.dtype == np.float32:
                return ((x * (27 + x * x) / (27 + 9 * x * x)).astype(x.dtype),)
            return (np.tanh(x),)

    def against(fast: bool) -> str:
        port = parity.wrap(lambda x: Tanh(fast).apply((0.3 * x,))[0] * 2.0, framework="chainer")
        reference = parity.wrap(lambda x: torch.tanh(0.3 * x) * 2.0, framework="torch")
        return parity.compare(reference, port, inputs=X).verdict

    assert against(False) == "parity"
    assert against(True) == "diverged"


def test_a_kernel_that_loses_what_is_small_in_float32_alone_is_found() -> None:
    def port(bound: float) -> Callable[..., Any]:
        def model(x: Any) -> Any:
            e = np.exp(6 * (x - x.max(1, keepdims=True)))
            p = e / e.sum(1, keepdims=True)
            return np.where(p < bound, 0, p).astype(x.dtype) if x.dtype == np.float32 else p

        return model

    def against(bound: float) -> str:
        reference = parity.wrap(lambda x: torch.softmax(6 * x, 1), framework="torch")
        return parity.compare(reference, parity.wrap(port(bound), "numpy"), inputs=X).verdict

    assert torch.softmax(6 * torch.from_numpy(X), 1).min() < 1e-6
    assert against(0.0) == "parity"
    assert against(1e-6) != "parity"


def test_a_numpy_spectrum_with_an_epsilon_of_the_dtype_is_found() -> None:
    def port(times: float) -> Callable[..., Any]:
        def model(x: Any) -> Any:
            z = np.fft.fft(x, axis=1)
            return z / (np.abs(z) + times * np.finfo(x.dtype).eps)

        return model

    def reference(x: torch.Tensor) -> torch.Tensor:
        z = torch.fft.fft(x, dim=1)
        return z / z.abs()

    def against(times: float) -> str:
        models = parity.wrap(reference, framework="torch"), parity.wrap(port(times), "numpy")
        return parity.compare(*models, inputs=X).verdict

    assert against(0.0) == "parity"
    assert against(1e3) == "diverged"


# --- small differences ----------------------------------------------------------------------------


def test_an_offset_that_leaves_two_digits_is_no_rounding() -> None:
    def port(by: float) -> Callable[..., Any]:
        return lambda x: absorbed(torch.tanh(x @ FIRST), by)

    assert compare(port(0.0), port(100.0)).verdict == "parity"
    assert compare(port(0.0), port(1e5)).verdict == "unverified"


def one_tanh(x: torch.Tensor) -> torch.Tensor:
    return torch.tanh(x)


def other_tanh(x: torch.Tensor) -> torch.Tensor:
    return 1 - 2 / (torch.exp(2 * x) + 1)


@pytest.mark.parametrize("large", [3.0, 5.0, 6.0, 7.0])
@pytest.mark.parametrize("other", [one_tanh, other_tanh])
def test_what_is_lost_behind_a_saturated_curve_is_rounding(
    other: Callable[..., Any], large: float
) -> None:
    """A squashed policy's likelihood: one unit in the last place of a tanh of 6 counts for much."""
    x = np.clip(3 * draw.standard_normal((40, 7)), -large, large).astype("f")

    def likelihood(tanh: Callable[..., Any]) -> Callable[..., Any]:
        return lambda x: torch.log(1 - tanh(x) ** 2 + 1e-6)

    def exact(x: torch.Tensor) -> torch.Tensor:
        gentle = torch.exp(-2 * x.abs())
        return torch.log(4 * gentle / (1 + gentle) ** 2 + 1e-6)

    # where that shows beside a formula that keeps its digits, the models are not the same
    shown = "parity" if large < 5 else "unverified"
    assert compare(exact, likelihood(other), inputs=x).verdict == shown
    assert compare(likelihood(one_tanh), likelihood(other), inputs=x).verdict == "parity"


def test_whole_seconds_in_floating_numbers_are_bins() -> None:
    x = draw.uniform(5e3, 8e3, (8, 5)).astype("f")
    reference = lambda x: torch.floor(x)  # noqa: E731
    assert compare(reference, lambda x: x - torch.remainder(x, 1), inputs=x).verdict == "parity"
    late = lambda x: torch.floor(absorbed(x, 5e7))  # noqa: E731
    assert compare(reference, late, inputs=x).verdict == "unverified"


def test_a_cast_that_no_output_shows_is_unverified() -> None:
    def signs(kind: torch.dtype) -> Callable[..., Any]:
        return lambda x: (1.3 * torch.stack([x, -x], 1)).to(kind).argmax(1)

    report = compare(signs(torch.float32), signs(torch.bfloat16))
    assert report.verdict == "unverified" and "bfloat16" in " ".join(report.comparisons[0].reasons)
    seen = lambda x: (1.3 * x).to(torch.bfloat16).to(x.dtype)  # noqa: E731
    assert compare(lambda x: 1.3 * x, seen).verdict == "diverged"


def test_last_digits_of_a_constant_are_a_note() -> None:
    def gelu(constant: float) -> Callable[..., Any]:
        return lambda x: 0.5 * x * (1 + torch.tanh(constant * (x + 0.044715 * x**3)))

    exact = lambda x: torch.nn.functional.gelu(x, approximate="tanh")  # noqa: E731
    assert compare(exact, gelu(0.797885)).verdict == "parity"
    assert compare(exact, gelu(0.7979)).verdict == "diverged"
