"""What the repair of one divergence alone says of the others."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional as F

from parity.diagnosis.joint_repair import not_undone
from parity.findings import Capture, Cause, Divergence
from parity.site import Site
from tests.unit.causes.compared_pairs import compared, tensor

SITE = Site("add", "")
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


KEPT = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.float32)
STEPS = RANDOM.standard_normal((2, 4, 6)).astype("f")
KERNELS = [0.5 * RANDOM.standard_normal((6, 6)).astype("f") for _ in range(8)]


def masked(number, activation):
    """Two layers of attention; what is hidden gets a number added."""

    def run(x, kept):
        mask = (1 - kept)[:, None] * number
        for layer in (0, 4):
            query, key, value, out = (tensor(one) for one in KERNELS[layer : layer + 4])
            scores = (x @ query) @ (x @ key).transpose(1, 2) + mask
            x = x + activation(torch.softmax(scores, -1) @ (x @ value) @ out)
        return x

    return run


def test_another_number_in_a_mask_that_hides_as_much_has_no_effect():
    """The largest that there is swallows the scores in float64, too: what is left is no score."""
    least = float(np.finfo(np.float32).min)
    report = compared(masked(least, torch.relu), masked(-1e4, F.silu), STEPS, KEPT)
    (found,) = report.divergences
    assert found.cause.kind == "activation-kind"
    assert "no-effect" in {note.kind for note in report.comparisons[0].notes}


def divergence_of(p, q):
    return (p * (torch.log(p) - torch.log(q))).sum(-1)


def test_two_operations_of_one_line_are_each_proved():
    """The divergence of q from p for that of p from q: both the product and the difference."""

    def heads(x):
        first, second = tensor(WEIGHT), tensor(OTHER.T @ OTHER)
        return torch.softmax(x @ first, -1), torch.softmax(torch.tanh(x @ first) @ second, -1)

    def reference(x):
        p, q = heads(x)
        return divergence_of(p, q)

    def candidate(x):
        p, q = heads(x)
        return divergence_of(q, p)

    report = compared(reference, candidate, X)
    kinds = {one.cause.kind for one in report.divergences if one.cause and one.cause.confirmed}
    assert kinds == {"operands-exchanged", "wrong-source"}, str(report)


def test_a_value_of_the_other_sign_is_left_out_beside_what_restores_unless_it_is_proved():
    turned = Capture((), np.ones(3), -np.ones(3))

    def divergence(after, confirmed=False, capture=None):
        cause = Cause("weight-scale", "", {}, confirmed, 1.0, 0.0, 2)
        return Divergence(
            SITE, SITE, 2.0, cause=cause, capture=capture, output_before=0.1, output_after=after
        )

    restores, harms = divergence(1e-8), divergence(0.2, capture=turned)
    proved, helps = divergence(0.2, True, turned), divergence(0.05, capture=turned)
    other = divergence(0.2)
    every = [restores, harms, proved, helps, other]
    assert not_undone(every) == [restores, proved, helps, other]
    assert not_undone(every[1:]) == every[1:]
