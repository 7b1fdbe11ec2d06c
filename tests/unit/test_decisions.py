"""What a policy would decide: agreement, ties within rounding, top choices, sampled actions."""

import numpy as np

from parity.rl.decisions import decide

q = np.array([[1.0, 3.0, 2.0], [0.5, 0.1, 0.4]], "float32")


def test_the_same_choices_agree():
    found = decide(q, q.copy(), q.astype("float64"))
    assert (found.greedy, found.ties, found.top3) == (1.0, 0, 1.0)
    assert found.sampled < 1e-12
    assert found.margin == np.inf  # nothing was rounded


def test_another_choice_beyond_rounding_disagrees():
    other = q.copy()
    other[1] = [0.1, 0.5, 0.4]
    found = decide(q, other, q.astype("float64"))
    assert (found.greedy, found.ties) == (0.5, 0)


def test_two_best_within_rounding_are_a_tie_and_no_disagreement():
    exact = np.array([[1.0 + 1e-8, 1.0 + 2e-8, 0.0]])
    reference, candidate = (
        np.array([[1.0, 1 + 1e-7, 0]], "float32"),
        np.array([[1 + 1e-7, 1.0, 0]], "f"),
    )
    found = decide(reference, candidate, exact)
    assert (found.greedy, found.ties) == (1.0, 1)
    assert found.margin < 1


def test_sampling_differs_by_the_share_of_draws_that_choose_differently():
    reference, candidate = np.array([[0.5, 0.5]], "float32"), np.array([[0.25, 0.75]], "float32")
    assert abs(decide(reference, candidate, reference.astype("float64")).sampled - 0.25) < 1e-6


def test_an_output_without_choices_has_no_decisions():
    assert decide(q[:, 0], q[:, 0], q[:, 0]) is None
    assert decide(q[:, :1], q[:, :1], q[:, :1]) is None
    assert decide(q.astype(int), q.astype(int), q) is None


def test_a_table_without_rows_decides_nothing() -> None:
    nothing = np.zeros((0, 5), np.float32)
    assert decide(nothing, nothing, nothing.astype(np.float64)) is None
