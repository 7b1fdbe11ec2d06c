"""Lists of what lies above a limit are of another length in float64, or where inputs move."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from tests.rules.pairs import compare, draw

X = draw.standard_normal((9, 5)).astype("f")
FEW = draw.uniform(0.5, 2, (6, 5)).astype("f")
WEIGHTS = torch.from_numpy(draw.standard_normal((5, 4)).astype("f"))

Model = Callable[[torch.Tensor], torch.Tensor]


def edge(x: torch.Tensor) -> torch.Tensor:
    """A value that is 0 as it runs and above it in float64."""
    return (1 + 0 * x) * torch.tensor(0.1) * torch.tensor(10.0) - 1


def listed(numbers: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    found = torch.cat([numbers.ravel(), edge(x[:, 0])])
    return found[found > 0]


def raised(power: float) -> Model:
    return lambda x: listed(torch.tanh(x @ WEIGHTS), x) ** power


def test_a_list_that_is_longer_in_float64_is_compared_as_it_ran() -> None:
    assert compare(raised(1.3), raised(1.34), inputs=X).verdict == "unverified"
    assert compare(raised(1.3), lambda x: raised(1.3)(x), inputs=X).verdict == "parity"


def test_such_a_list_says_that_its_length_depends_on_rounding() -> None:
    report = compare(raised(1.3), raised(1.34), inputs=X)
    assert any("more values in float64 than as it ran" in one for one in report.worst.reasons)


def scaled(share: float) -> Model:
    sizes = torch.tensor([1e6, 0.01, 1e6, 1e6, 0.01])
    gains = torch.where(sizes < 1, share * sizes, sizes)
    return lambda x: listed(x * gains, x)


def test_small_values_of_such_a_list_hide_beside_no_larger_ones() -> None:
    report = compare(scaled(1.0), scaled(1.1), inputs=FEW)
    assert report.verdict == "unverified"
    assert any("how many values there are" in one for one in report.worst.reasons)
    assert compare(scaled(1.0), scaled(1.0), inputs=FEW).verdict == "parity"


def in_one_pass(x: torch.Tensor) -> torch.Tensor:
    far = x + 40
    return listed((far * far).mean(1) - far.mean(1) ** 2, x)


def in_two_passes(x: torch.Tensor) -> torch.Tensor:
    far = x + 40
    return listed(((far - far.mean(1, keepdim=True)) ** 2).mean(1), x)


def by_another_sum(x: torch.Tensor) -> torch.Tensor:
    far = x + 40
    return listed((far - far.sum(1, keepdim=True) / 5).square().sum(1) / 5, x)


def test_digits_that_one_such_list_loses_are_no_rounding_of_both() -> None:
    assert compare(in_two_passes, in_one_pass, inputs=X).verdict == "unverified"
    assert compare(in_two_passes, by_another_sum, inputs=X).verdict == "parity"


def by_the_largest(kept: float | None) -> Model:
    def model(x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(x @ WEIGHTS)
        return listed(h / (h.abs().amax() if kept is None else kept), x)

    return model


def test_a_scale_that_such_a_list_keeps_is_found_on_other_samples() -> None:
    largest = float(np.abs(np.tanh(X @ WEIGHTS.numpy())).max())
    assert compare(by_the_largest(None), by_the_largest(largest), inputs=X).verdict != "parity"
    assert compare(by_the_largest(None), by_the_largest(None), inputs=X).verdict == "parity"


def masked(hidden: float, gain: float) -> Model:
    def model(x: torch.Tensor) -> torch.Tensor:
        mask = (x[:, 1:2] > 0.4) & (torch.arange(4) == 1)
        found = torch.where(mask, hidden, gain * torch.tanh(x @ WEIGHTS))
        return found[x[:, 0] < 0.5]

    return model


def test_a_mask_is_one_where_moved_inputs_list_other_rows() -> None:
    x = X.copy()
    x[4, 0], x[0] = 0.501, [0.1, 0.9, 0.3, 0.2, 0.1]
    lowest = float(torch.finfo(torch.float32).min)
    assert compare(masked(-1e9, 1.0), masked(lowest, 1.01), inputs=x).verdict == "diverged"
    assert compare(masked(-1e9, 1.0), masked(lowest, 1.0), inputs=x).verdict == "parity"


def test_such_lists_may_lose_digits_in_either_model() -> None:
    assert compare(in_one_pass, in_two_passes, inputs=X).verdict == "unverified"
    assert compare(by_another_sum, in_two_passes, inputs=X).verdict == "parity"


def beside(others: Callable[[torch.Tensor], torch.Tensor]) -> Model:
    """Such a list whose length is the same, and which holds other values as well."""
    return lambda x: torch.cat([listed(torch.tanh(x @ WEIGHTS), x), others(x)])


def test_infinite_and_undefined_values_of_such_a_list_are_as_they_are() -> None:
    def undefined(x: torch.Tensor) -> torch.Tensor:
        return torch.cat([torch.log(0 * x[0]), 0 * torch.log(0 * x[1])])

    assert compare(beside(undefined), beside(undefined), inputs=X).verdict == "parity"
