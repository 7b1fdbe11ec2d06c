"""The scale and the offset of a norm, where one side alone has them or keeps them folded."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.unit.causes.compared_pairs import UNNAMED, Values, cause_of, compared, kind, tensor

values = Values()

X, IMAGES = values(5, 7, 6), values(4, 3, 5, 8)
SCALE, OFFSET = tensor(abs(values(6)) + 0.5), tensor(values(6))
MEAN, VARIANCE = tensor(values(6)), tensor(abs(values(6)) + 0.1)
LAST = tensor(values(6, 9))
FOLDED = SCALE / torch.sqrt(VARIANCE + 1e-3), OFFSET - MEAN * SCALE / torch.sqrt(VARIANCE + 1e-3)


KERNEL = tensor(values(6, 3, 1, 1))


def rows(vector):
    return vector[:, None, None]


def stored(x, outside=0.0, inside=1e-3):
    x = F.conv2d(x, KERNEL)
    root = torch.sqrt(rows(VARIANCE) + inside)
    return (x - rows(MEAN)) / (root + outside if outside else root)


def folded(x, scale=FOLDED[0], shift=FOLDED[1]):
    return torch.tanh(F.conv2d(x, KERNEL) * rows(scale) + rows(shift))


class Norm(nn.Module):
    """A layer norm by hand, with a scale and an offset or without."""

    def __init__(self, affine, after=torch.tanh):
        super().__init__()
        self.after = after
        self.scale = nn.Parameter(SCALE) if affine else None
        self.offset = nn.Parameter(OFFSET) if affine else None

    def forward(self, x):
        y = x - x.mean(-1, keepdim=True)
        y = y / torch.sqrt(y.square().mean(-1, keepdim=True) + 1e-5)
        return self.after(y if self.scale is None else y * self.scale + self.offset)


@pytest.mark.parametrize("after", [torch.tanh, torch.relu, lambda x: (x / 6 + 0.5).clip(0, 1)])
def test_a_scale_and_an_offset_that_the_reference_has_not(after):
    """Where relu gives the same of its own result the divergence ends too early."""
    cause = cause_of(Norm(False, after), Norm(True, after), X)
    assert cause.kind == "norm-affine-missing"
    assert cause.parameters == {"scale": (False, True), "offset": (False, True)}
    assert cause.confirmed


def test_a_kernel_has_the_scale_and_the_offset_that_the_reference_has_not():
    layer = nn.LayerNorm(6)
    layer.weight.data, layer.bias.data = SCALE, OFFSET
    cause = cause_of(Norm(False), lambda x: torch.tanh(layer(x)), X)
    assert cause.kind == "norm-affine-missing"
    assert cause.parameters == {"scale": (False, True), "offset": (False, True)}


def test_a_scale_of_ones_in_the_reference_may_hold_other_values():
    ones, zeros = nn.Parameter(torch.ones(6)), nn.Parameter(torch.zeros(6))
    reference = Norm(True)
    reference.scale, reference.offset = ones, zeros
    assert not cause_of(reference, Norm(True), X).confirmed


def test_what_stored_statistics_normalise_is_not_scaled():
    reference = lambda x: F.elu(stored(x) * rows(SCALE) + rows(OFFSET))  # noqa: E731
    for pair in ((reference, lambda x: F.elu(stored(x))), (lambda x: F.elu(stored(x)), reference)):
        assert kind(*pair, IMAGES) == "norm-affine-missing"


def test_a_kernel_by_stored_statistics_has_what_the_reference_has_not():
    def kernel(x):
        x = F.conv2d(x, KERNEL)
        return F.batch_norm(x, MEAN.clone(), VARIANCE.clone(), SCALE, OFFSET, eps=1e-3).sin()

    cause = cause_of(lambda x: stored(x).sin(), kernel, IMAGES)
    assert cause.kind == "norm-affine-missing"
    assert cause.parameters == {"scale": (False, True), "offset": (False, True)}
    reference = lambda x: (stored(x, 1e-3, 0.0) * rows(SCALE) + rows(OFFSET)).sin()  # noqa: E731
    cause = cause_of(reference, kernel, IMAGES)
    assert cause.kind == "norm-epsilon-placement"
    assert cause.parameters == {"placement": ("outside", "inside")}


def test_a_folded_scale_against_a_norm_without():
    bare = lambda x: torch.tanh(stored(x))  # noqa: E731
    for pair, has in (((folded, bare), (True, False)), ((bare, folded), (False, True))):
        cause = cause_of(*pair, IMAGES)
        assert cause.kind == "norm-affine-missing"
        assert cause.parameters == {"scale": has, "offset": has}
        assert "not seen" in cause.unproved


def test_folded_statistics_against_those_of_the_batch():
    def of_batch(x):
        x = F.conv2d(x, KERNEL)
        return torch.tanh(F.batch_norm(x, None, None, SCALE, OFFSET, True, eps=1e-3))

    used = ("running", "batch")
    for pair, stated in (((folded, of_batch), used), ((of_batch, folded), used[::-1])):
        cause = cause_of(*pair, IMAGES)
        assert cause.kind == "norm-batch-statistics"
        assert cause.parameters == {"statistics": stated}
        assert "not seen" in cause.unproved
    signs = torch.tensor([1.0, -1, 1, 1, -1, 1])  # a root has one sign
    assert kind(of_batch, lambda x: folded(x, FOLDED[0] * signs), IMAGES) in UNNAMED


def test_other_numbers_on_both_sides_are_no_missing_scale():
    assert kind(folded, lambda x: folded(x, SCALE, OFFSET), IMAGES) == "weight-values"


def test_an_offset_that_is_added_behind_the_region_is_not_missing():
    def by_hand(x, eps=1e-5):
        y = x - x.mean(-1, keepdim=True)
        return y / torch.sqrt(y.square().mean(-1, keepdim=True) + eps) * SCALE + OFFSET

    def after(y):
        rows = y.sum(-1)
        return rows - rows.mean(-1, keepdim=True)  # whatever is added to all is gone

    layer = nn.LayerNorm(6, eps=1e-3)
    layer.weight.data, layer.bias.data = SCALE, OFFSET
    cause = cause_of(lambda x: after(by_hand(x)), lambda x: after(layer(x)), X)
    assert (cause.kind, cause.parameters) == ("norm-epsilon", {"epsilon": (1e-5, 1e-3)})


def test_a_norm_whose_offset_is_made_of_its_scale_is_seen_as_one():
    """As a layer of Keras has it: the offset less the scaled mean comes before what it shifts."""

    def other_axis(x):
        y = x - x.mean(0, keepdim=True)
        return y / torch.sqrt(y.square().mean(0, keepdim=True) + 1e-5) * SCALE + OFFSET

    def in_keras(x):
        mean = x.mean(-1, keepdim=True)
        variance = (x - mean).square().mean(-1, keepdim=True)
        factor = torch.rsqrt(variance + 1e-5) * SCALE
        return x * factor + (OFFSET + -mean * factor)

    x = values(7, 6)
    for pair, axes in (((other_axis, in_keras), (0, -1)), ((in_keras, other_axis), (-1, 0))):
        reference, candidate = (lambda x, f=f: torch.tanh(f(x)) @ LAST for f in pair)
        report = compared(reference, candidate, x)
        assert len(report.divergences) == 1
        cause = report.divergences[0].cause
        assert (cause.kind, cause.parameters) == ("norm-axis", {"axis": axes})
