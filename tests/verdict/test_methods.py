"""The benchmark's renderings of other people's rules, on values worked out by hand."""

from __future__ import annotations

import pytest
import torch

from benchmarks.verdict.methods import (
    Layer,
    Run,
    allclose,
    assert_close,
    cradle,
    float64_rule,
    muffin,
)
from parity.tape import Site


def run_of(*layers: tuple[float, float]) -> Run:
    """Layers as (mean, largest) differences, named by their number."""
    return Run(
        (),
        tuple(
            Layer(Site(f"op{n}", ""), Site(f"op{n}", ""), mean, largest)
            for n, (mean, largest) in enumerate(layers)
        ),
        candidate=None,
    )


def run_with(reference: list[float], candidate: list[float], truth: list[float]) -> Run:
    tensors = torch.tensor(reference), torch.tensor(candidate), torch.tensor(truth).double()
    return Run((tensors,), (), candidate=None)


def test_cradle_names_the_layer_with_the_highest_rate():
    result = cradle(run_of((1e-6, 0.0), (1.5e-6, 0.0), (9e-6, 0.0), (1e-5, 0.0)))

    assert result.sites[0].op == "op0"
    assert result.rate == pytest.approx(10.0)  # (1e-6 - 0) / (0 + 1e-7)
    result = cradle(run_of((1e-8, 0.0), (1.5e-8, 0.0), (9e-6, 0.0), (1e-5, 0.0)))
    assert result.sites[0].op == "op2"
    assert result.rate == pytest.approx((9e-6 - 1.5e-8) / (1.5e-8 + 1e-7))


def test_cradle_is_silent_where_differences_grow_slowly():
    assert not cradle(run_of((5e-8, 0.0), (1e-7, 0.0), (2e-7, 0.0))).differ


def test_muffin_asks_for_a_large_difference_after_none():
    assert muffin(run_of((0.0, 1e-6), (0.0, 0.2))).sites[0].op == "op1"
    assert not muffin(run_of((0.0, 1e-6), (0.0, 0.1))).differ
    assert not muffin(run_of((0.0, 1e-4), (0.0, 0.2))).differ


@pytest.mark.parametrize(
    ("gap", "by_allclose", "by_assert_close", "by_float64"),
    [(1e-6, False, False, False), (1.5e-5, False, True, False), (1e-3, True, True, True)],
)
def test_output_rules_on_one_value_off(gap, by_allclose, by_assert_close, by_float64):
    found = run_with([1.0, 2.0], [1.0 + gap, 2.0], [1.0, 2.0])

    assert allclose(found).differ is by_allclose
    assert assert_close(found).differ is by_assert_close
    assert float64_rule(found).differ is by_float64


def test_the_float64_rule_forgives_what_the_reference_does_itself():
    assert not float64_rule(run_with([1.001, 2.0], [0.999, 2.0], [1.0, 2.0])).differ
    assert float64_rule(run_with([1.001, 2.0], [0.99, 2.0], [1.0, 2.0])).differ


def test_rules_see_infinities():
    found = run_with([1.0, float("-inf")], [1.0, -1e9], [1.0, float("-inf")])

    assert allclose(found).differ and assert_close(found).differ and float64_rule(found).differ
    same = run_with([1.0, float("-inf")], [1.0, float("-inf")], [1.0, float("-inf")])
    assert not (allclose(same).differ or assert_close(same).differ or float64_rule(same).differ)
