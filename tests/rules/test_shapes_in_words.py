"""For outputs of two shapes the report says how one comes from the other, and nothing untrue."""

from __future__ import annotations

import numpy as np
import pytest

from parity.diagnosis.outputs import shape_reason

ROWS = np.random.default_rng(0).normal(size=(5, 2))


@pytest.mark.parametrize(
    ("reference", "candidate", "reason"),
    [
        (ROWS, ROWS.mean(0), "B has the mean over the batch (axis 0), A does not"),
        (ROWS.sum(1), ROWS, "A has the sum over axis 1, B does not"),
        (np.tile(ROWS[0], (5, 1)), ROWS[0], "A repeats it over the batch (axis 0), B does not"),
        (ROWS[:, 0], np.tile(ROWS[:, :1], (1, 3)), "B repeats it over axis 1, A does not"),
    ],
)
def test_how_one_comes_from_the_other(
    reference: np.ndarray, candidate: np.ndarray, reason: str
) -> None:
    assert shape_reason("0", ("A", "B"), (reference, candidate)).endswith(reason)
