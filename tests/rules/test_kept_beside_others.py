"""What a model kept of its first batch shows beside what is larger, and beside what moves."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from parity.numerics.slices import beyond, by_slice
from tests.rules.pairs import FIRST, X, compare, weights

LARGEST = torch.tanh(torch.from_numpy(X) @ FIRST).abs().amax()
MANY = 0.1 * weights(7, 80)
LARGEST_OF_MANY = torch.tanh(torch.from_numpy(X) @ MANY).abs().amax()


def scaled(x, kept):
    h = torch.tanh(x @ FIRST)
    return h / (LARGEST if kept else h.abs().amax())


def beside_a_price_and_a_volume(x, kept):
    return torch.cat([x[:, :2].exp() * torch.tensor([3e5, 8e6]), 0.1 * scaled(x, kept)], 1)


def behind_a_row_of_the_clock(x, kept):
    return torch.cat([1.7e9 + 128 * x[:, :1].T, 0.02 * scaled(x, kept).T], 0)


def beside_many_columns(x, kept):
    h = torch.tanh(x @ MANY)
    return torch.cat([1.7e9 + 128 * x[:, :1], h / (LARGEST_OF_MANY if kept else h.abs().amax())], 1)


def beside_chaos(x, kept):
    z = torch.sigmoid(x[:, :2])
    for _ in range(60):
        z = 3.9 * z * (1 - z)
    return scaled(x, kept), z


def beside_what_cancels(x, kept):
    root = (1 + x**2).sqrt()
    return scaled(x, kept), 1 + x**2 - root * root


MODELS = [
    beside_a_price_and_a_volume,
    behind_a_row_of_the_clock,
    beside_many_columns,
    beside_chaos,
    beside_what_cancels,
]


@pytest.mark.parametrize("model", MODELS)
def test_what_is_kept_beside_others_is_no_parity(model) -> None:
    def port(kept):
        return lambda x: model(x, kept)

    assert compare(port(False), port(False)).verdict == "parity"
    assert compare(port(False), port(True)).verdict != "parity"


def test_a_model_that_changes_by_as_much_as_the_difference_is_not_by_sample() -> None:
    """The mean of these is next to nothing beside the largest, which both halves hold."""
    balances = np.array([[4000], [0.5], [1.5], [0.7], [2.0], [4100]], np.float32)
    mean = float(np.tanh(balances).mean())

    def model(kept):
        return lambda x: x + 0.05 * (kept or torch.tanh(x).mean()) * torch.tanh(x)

    assert compare(model(0), model(0), inputs=balances).verdict == "parity"
    assert compare(model(0), model(mean), inputs=balances).verdict != "parity"


def test_what_has_no_values_on_half_of_the_samples_is_said() -> None:
    groups = np.array([0, 0, 0, 1, 1, 1])
    samples = np.concatenate([groups[:, None], np.resize(X, (6, 7))], 1).astype(np.float32)

    def means(undefined):
        def model(x):
            at = torch.nn.functional.one_hot(x[:, 0].long(), 2).float()
            counts = at.sum(0)[:, None]
            sums = at.T @ x[:, 1:]
            return sums / counts if undefined else sums / counts.clamp(min=1)

        return model

    report = compare(means(False), means(True), inputs=samples)
    assert report.verdict != "diverged"
    assert "output 'output' of" in " ".join(report.comparisons[0].reasons)
    assert "not finite" in " ".join(report.comparisons[0].reasons)


def test_an_output_that_is_as_long_in_float64_alone_is_no_crash() -> None:
    edge = torch.tensor([1e-9, -1e-9, 1e-8, -1e-8, 1e-10])

    def model(kept):
        def called(x):
            h = scaled(x, kept)
            found = torch.cat([h[:, 0], (1 + edge) - 1 - edge.abs() / 2])
            return found[found > 0]

        return called

    assert compare(model(False), model(False)).verdict != "diverged"
    assert compare(model(False), model(True)).verdict != "parity"


def test_slices_count_by_their_own_size() -> None:
    a = np.ones((3, 4), np.float32)
    a[:, 1] = 1e12
    b = a.copy()
    b[2, 3] = 1.5
    whole, rows, columns = by_slice(a, b)
    assert whole[0] < 1e-6 and rows.max() < 1e-10
    assert columns[3] == pytest.approx(0.5 / 1.5) and not columns[:3].any()
    b[0, 0] = np.nan
    assert np.isinf(by_slice(a, b)[2][0])
    assert not any(part.any() for part in by_slice(b, b))


def test_slices_of_complex_numbers_and_of_none() -> None:
    a = np.ones((2, 3), np.complex64)
    b = a.copy()
    b[1, 2] += 1j
    assert by_slice(a, b)[1].tolist() == [0, pytest.approx(2**-0.5)]
    assert len(by_slice(a[:0], b[:0])) == 1


def test_what_is_undefined_is_beyond_every_limit() -> None:
    assert beyond([np.array([np.nan, 1.0])], [[np.array([2.0])]])[0].tolist() == [True, False]
