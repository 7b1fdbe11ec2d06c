"""What shows that graphs draw by another law than their code: each kind of number by itself."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from parity.diagnosis.graph_draws import graphs_draw_otherwise

SIZE = 4000
Law = Callable[[np.random.Generator], Any]


def stated(
    graphs: Law, code: Law, drawn: str = "yz", by_value: str = "", same: bool = False
) -> str:
    """What is said of two laws of the outputs y and z."""

    def runs(law: Law) -> Callable[[int], dict[str, Any]]:
        def run(turn: int) -> dict[str, Any]:
            found = law(np.random.default_rng(0 if same else turn))
            outputs = found if isinstance(found, tuple) else (found,)
            return dict(zip("yz", map(np.asarray, outputs), strict=False))

        return run

    outputs = dict.fromkeys(runs(code)(0))
    known = dict(outputs=outputs, by_value=by_value, ops=(), values=(), model="m")
    tape: Any = SimpleNamespace(**known)
    return graphs_draw_otherwise(tape, runs(graphs), runs(code), drawn)


def noise(random: np.random.Generator) -> Any:
    return random.standard_normal(SIZE)


def first_is_larger(random: np.random.Generator) -> Any:
    return noise(random) + 3 * (np.arange(SIZE) == 0)


def with_one(number: float) -> Law:
    """One element, anywhere, differs."""

    def law(random: np.random.Generator) -> Any:
        found = noise(random)
        found[random.integers(1, SIZE - 1)] = number
        return found

    return law


LAWS = {
    "an element": first_is_larger,
    "mean": lambda random: noise(random) + 0.1,
    "spread": lambda random: 1.1 * noise(random),
    "least": with_one(-9.0),
    "largest": with_one(9.0),
}


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_each_number_shows_it(law: Law) -> None:
    assert stated(law, law) == stated(noise, noise) == ""
    assert "output 'y'" in stated(law, noise)
    assert stated(law, noise, drawn="z") == stated(law, noise, by_value="y") == ""


def test_a_large_difference_of_few_runs_and_a_small_one_of_many() -> None:
    def law(random: np.random.Generator) -> Any:
        return random.standard_normal(3) + np.array([0, 1.5, 0])

    assert "over 16 runs" in stated(LAWS["mean"], noise)
    assert "over 64 runs" in stated(law, lambda random: random.standard_normal(3))


def test_a_small_difference_of_few_numbers_shows_in_many_runs() -> None:
    def law(random: np.random.Generator) -> Any:
        return 1.8 * random.standard_normal(2)

    assert "over 256 runs" in stated(law, lambda random: random.standard_normal(2))


def test_outputs_of_two_shapes_go_together_by_their_samples() -> None:
    def law(shared: bool) -> Law:
        def of(random: np.random.Generator) -> Any:
            arm, other = random.standard_normal((2, 200, 4))
            return arm, (arm if shared else other)[:, :2]

        return of

    assert stated(law(True), law(True)) == stated(law(False), law(False)) == ""
    assert "outputs 'y' and 'z' together" in stated(law(True), law(False))


def test_what_is_drawn_alike_in_each_run_shows_nothing() -> None:
    assert stated(LAWS["mean"], noise, same=True) == ""


def test_how_many_there_are_may_be_drawn() -> None:
    def law(random: np.random.Generator) -> Any:
        return random.standard_normal(random.integers(3, 9))

    assert stated(law, law) == ""


def test_a_rounding_is_no_other_law() -> None:
    def law(shift: float) -> Law:
        return lambda random: 1 + 1e-7 * random.standard_normal(3) + shift

    assert stated(law(0.0), law(1e-6)) == ""
    assert stated(law(0.0), law(1e-2)) != ""


def test_outputs_of_other_shapes_and_kinds_beside_it() -> None:
    def beside(other: Any) -> Law:
        return lambda random: (LAWS["mean"](random), other)

    for other in (
        np.zeros(3),
        np.zeros(0),
        np.full(SIZE, np.nan),
        np.full(SIZE, 1j),
        np.array("a name"),
    ):
        assert "output 'y'" in stated(beside(other), lambda random, it=other: (noise(random), it))
        assert stated(beside(other), beside(other)) == ""


def test_an_undefined_number_hides_no_others() -> None:
    def law(scale: float) -> Law:
        return lambda random: np.append(scale * noise(random), np.nan)

    assert stated(law(1.0), law(1.0)) == ""
    assert "output 'y'" in stated(law(1.1), law(1.0))


def test_complex_numbers_show_it_by_their_parts() -> None:
    def law(scale: float) -> Law:
        return lambda random: noise(random) + scale * 1j * noise(random)

    assert stated(law(1.0), law(1.0)) == ""
    assert "output 'y'" in stated(law(1.0), law(1.1))
