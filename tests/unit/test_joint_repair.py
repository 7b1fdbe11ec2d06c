"""What the repair of one divergence alone says of the others."""

from __future__ import annotations

import numpy as np
from torch.nn import functional as F

from tests.unit.causes.compared_pairs import compared, tensor

RANDOM = np.random.default_rng(5)
X, WEIGHT = (RANDOM.standard_normal(shape).astype("f") for shape in ((16, 6), (6, 5)))
OTHER = WEIGHT + 0.1 * RANDOM.standard_normal(WEIGHT.shape).astype("f")


def difference_of_two(slope):
    def run(x):
        first = F.leaky_relu(x @ tensor(WEIGHT), slope)
        return first - F.leaky_relu(x @ tensor(OTHER), slope)

    return run


def test_one_fault_in_two_branches_that_nearly_cancel():
    """With either branch repaired alone the outputs differ more: it is the same fault in both."""
    report = compared(difference_of_two(0.01), difference_of_two(0.2), X)
    (found,) = report.divergences
    assert found.output_after > 1.5 * found.output_before
    assert found.cause.kind == "leaky-slope"
    assert found.cause.confirmed
    assert len(found.places) == 1
