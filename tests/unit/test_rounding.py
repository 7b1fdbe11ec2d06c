"""What the rounding of constants explains: another place to round them, never another constant."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from parity.frameworks import load
from parity.model import wrap
from parity.numerics.difference import residual
from parity.numerics.limits import U32
from parity.numerics.rounding import explained_by_constants

torch = pytest.importorskip("torch")
torch.set_num_threads(1)
draw = np.random.default_rng(9)
X = draw.standard_normal((6, 7)).astype("f")
FLOOR = 4 * U32


def tensor(array: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.asarray(array, "f"))


def run(function: Callable[[torch.Tensor], torch.Tensor]) -> tuple[np.ndarray, float]:
    """The function's output in float64, and how much of it its constants' rounding explains."""
    tape = load("torch").record(wrap(function, "torch"), X)
    values = tape.replay("float64")
    leaves = [value.id for value in tape.values if value.op < 0 and value.kind != "input"]
    (output,) = tape.outputs.values()
    return values.array(output), explained_by_constants(tape, values, tape.ops, leaves, output)


def test_a_factor_folded_into_the_weights_is_explained() -> None:
    weight, factor = draw.standard_normal((7, 5)), draw.uniform(0.3, 3, 5)
    weight = weight.astype("f")
    factor = factor.astype("f")
    separate, separate_explained = run(lambda x: x @ tensor(weight) * tensor(factor))
    folded, folded_explained = run(lambda x: x @ tensor(weight * factor))
    gap = residual(separate, folded)
    assert 1e-10 < gap <= max(separate_explained, folded_explained)


@pytest.mark.parametrize("wrong", [1e-3, 2e-5, 1.01e-5])
def test_another_epsilon_is_not_explained(wrong: float) -> None:
    variance = tensor(draw.uniform(1e-3, 2e-3, 7))

    def normalise(epsilon: float) -> Callable[[torch.Tensor], torch.Tensor]:
        return lambda x: x / torch.sqrt(variance + torch.tensor(epsilon))

    right, explained = run(normalise(1e-5))
    other, other_explained = run(normalise(wrong))
    assert residual(right, other) > max(explained, other_explained)


def test_an_exponent_is_exact_and_makes_no_nan() -> None:
    cubed, explained = run(lambda x: torch.pow(x, torch.tensor(3.0)))
    assert np.isfinite(cubed).all() and (cubed < 0).any()
    assert explained == FLOOR


@pytest.mark.parametrize("constant", [1 + 2.0**-10, 1 - 2.0**-12, 1.0])
def test_constants_without_a_rounding_explain_no_more_than_a_kernel_leaves(constant: float) -> None:
    """Whatever the operations amplify: these are the same in any precision."""
    assert run(lambda x: x * torch.tensor(constant) - x * 0.999)[1] == FLOOR


def test_without_constants_there_is_the_rounding_of_a_kernel() -> None:
    assert run(torch.tanh)[1] == FLOOR


def test_what_the_operations_amplify_is_explained() -> None:
    """1.001 x - x loses three digits of the constant."""
    _, explained = run(lambda x: x * torch.tensor(1.001) - x)
    assert 1e-5 < explained < 1e-3


def test_constants_reach_through_static_operations() -> None:
    """A scale computed from a parameter alone: exp(20 w) moves twenty times as far as w."""
    weight = tensor(draw.uniform(0.8, 0.9, 7))
    _, explained = run(lambda x: x * torch.exp(20 * weight))
    assert explained > 5 * FLOOR


def test_values_substituted_by_force_are_not_taken_for_rounding() -> None:
    """The other model's value may occur somewhere in a run; it is no effect of a constant."""
    factor = tensor(draw.uniform(0.3, 3, 7))
    tape = load("torch").record(wrap(lambda x: torch.tanh(x * factor), "torch"), X)
    values = tape.replay("float64")
    (output,) = tape.outputs.values()
    leaf = next(value.id for value in tape.values if value.kind in ("parameter", "constant"))
    before = explained_by_constants(tape, values, tape.ops, [leaf], output)
    values.replace(output, draw.standard_normal((6, 7)))
    assert explained_by_constants(tape, values, tape.ops, [leaf], output) == before < 1e-5


@pytest.mark.parametrize(("off", "explained"), [(1.5e-8, True), (3e-7, False)])
def test_the_middle_of_a_support_has_the_rounding_of_its_ends(off: float, explained: bool) -> None:
    """Where nearly all probability is at the atom of zero, what that is off by is all there is."""
    support = np.linspace(-0.3, 0.3, 7).astype("f")
    moved = support + off * np.eye(7, dtype="f")[3]
    peak = tensor(14 * np.eye(7)[3])

    def values(atoms: np.ndarray) -> Callable[[torch.Tensor], torch.Tensor]:
        return lambda x: torch.softmax(x + peak, -1) * tensor(atoms)

    right, first = run(values(support))
    other, second = run(values(moved))
    assert residual(right, other) > 1e-3
    assert (residual(right, other) <= max(first, second)) == explained
