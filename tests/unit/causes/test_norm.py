"""Normalisations: epsilon, its place, axes, statistics, affine part."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from tests.unit.causes.compared_pairs import Values, cause_of, kind, tensor

values = Values()

X, IMAGES = values(5, 7, 6), values(4, 6, 5, 8)
SCALE, OFFSET = tensor(abs(values(6)) + 0.5), tensor(values(6))
MEAN, VARIANCE = tensor(values(6)), tensor(abs(values(6)) + 0.1)
LAST = tensor(values(6, 9))


def layer_norm(eps):
    return lambda x: F.layer_norm(x, (6,), SCALE, OFFSET, eps) @ LAST


def by_hand(x, eps=1e-5, axis=-1, ddof=0, outside=0.0):
    mean = x.mean(axis, keepdim=True)
    variance = x.var(axis, keepdim=True, correction=ddof)
    return (x - mean) / ((variance + eps).sqrt() + outside) * SCALE + OFFSET


def batch_norm(eps, training=False):
    def run(x):
        state = MEAN.clone(), VARIANCE.clone()
        return F.batch_norm(x, *state, SCALE, OFFSET, training, 0.1, eps).sin()

    return run


@pytest.mark.parametrize("scale", [1e-3, 1.0, 300.0])
def test_epsilon_is_solved_for_at_every_size_of_the_inputs(scale):
    cause = cause_of(layer_norm(1e-5), lambda x: by_hand(x, 0.0037) @ LAST, scale * X)
    assert (cause.kind, cause.parameters) == ("norm-epsilon", {"epsilon": (1e-5, 0.0037)})


def test_epsilon_of_a_single_row():
    cause = cause_of(layer_norm(1e-12), layer_norm(1e-6), X[:1, :1])
    assert cause.parameters == {"epsilon": (1e-12, 1e-6)}


def test_epsilon_of_running_statistics():
    cause = cause_of(batch_norm(1e-5), batch_norm(1e-3), IMAGES)
    assert (cause.kind, cause.parameters) == ("norm-epsilon", {"epsilon": (1e-5, 1e-3)})


def test_epsilon_of_running_statistics_folded_into_a_scale():
    factor = SCALE / (VARIANCE + 1e-3).sqrt()

    def folded(x):
        return (x * factor[:, None, None] + (OFFSET - MEAN * factor)[:, None, None]).sin()

    assert cause_of(batch_norm(1e-5), folded, IMAGES).parameters == {"epsilon": (1e-5, 1e-3)}


def test_epsilon_of_groups():
    cause = cause_of(
        lambda x: F.group_norm(x, 3, SCALE, OFFSET, 1e-5).sin(),
        lambda x: F.group_norm(x, 3, SCALE, OFFSET, 2e-3).sin(),
        IMAGES,
    )
    assert cause.parameters == {"epsilon": (1e-5, 2e-3)}


def test_groups():
    cause = cause_of(
        lambda x: F.group_norm(x, 3, SCALE, OFFSET).sin(),
        lambda x: F.group_norm(x, 2, SCALE, OFFSET).sin(),
        IMAGES,
    )
    assert (cause.kind, cause.parameters) == ("norm-axis", {"groups": (3, 2)})


def test_epsilon_of_unit_vectors():
    cause = cause_of(
        lambda x: x / (x.square().sum(-1, keepdim=True) + 1e-3).sqrt(),
        lambda x: x / (x.square().sum(-1, keepdim=True) + 0.02).sqrt(),
        0.1 * X,
    )
    assert (cause.kind, cause.parameters) == ("norm-epsilon", {"epsilon": (1e-3, 0.02)})


def test_placement():
    cause = cause_of(by_hand, lambda x: by_hand(x, 0.0, outside=1e-5), 1e-2 * X)
    assert cause.kind == "norm-epsilon-placement"
    assert cause.parameters["placement"] == ("inside", "outside")


def test_axis():
    cause = cause_of(layer_norm(1e-5), lambda x: by_hand(x, axis=1) @ LAST, X)
    assert (cause.kind, cause.parameters) == ("norm-axis", {"axis": (-1, 1)})


def test_not_centred():
    cause = cause_of(
        layer_norm(1e-5), lambda x: (F.rms_norm(x, (6,), SCALE, 1e-5) + OFFSET) @ LAST, X
    )
    assert cause.kind == "norm-not-centered"


def test_statistics_of_the_batch():
    assert kind(batch_norm(1e-5), batch_norm(1e-5, True), IMAGES) == "norm-batch-statistics"
    assert kind(batch_norm(1e-5, True), batch_norm(1e-5), IMAGES) == "norm-batch-statistics"


def test_the_variance_of_a_sample():
    cause = cause_of(layer_norm(1e-5), lambda x: by_hand(x, ddof=1) @ LAST, X)
    assert (cause.kind, cause.parameters) == ("variance-ddof", {"ddof": (0, 1)})


def test_without_scale_or_offset():
    for scale, offset in ((SCALE, None), (None, OFFSET), (None, None)):
        candidate = lambda x, a=scale, b=offset: F.layer_norm(x, (6,), a, b) @ LAST  # noqa: E731
        assert kind(layer_norm(1e-5), candidate, X) == "norm-affine-missing"


def test_one_added_to_the_weights():
    def rms(weight):
        return lambda x: F.rms_norm(x, (6,), weight, 1e-6)

    assert cause_of(rms(1 + MEAN), rms(MEAN), X).parameters == {"scale": ("1 + w", "w")}
    assert cause_of(rms(MEAN), rms(1 + MEAN), X).kind == "rmsnorm-offset"


def test_one_added_to_the_weights_behind_a_norm_of_small_inputs():
    """Of inputs as small as the epsilon the mean square is not 1."""

    def rms(x):
        return x / torch.sqrt(x.square().mean(-1, keepdim=True) + 1e-3)

    cause = cause_of(lambda x: rms(x) * MEAN, lambda x: rms(x) * (1 + MEAN), 0.02 * X)
    assert (cause.kind, cause.parameters) == ("rmsnorm-offset", {"scale": ("w", "1 + w")})


def test_local_response():
    def local(alpha, beta, bias):
        return lambda x: F.local_response_norm(x, 3, alpha, beta, bias).sin()

    reference = local(0.3, 0.75, 1.0)
    for name, pair, candidate in (
        ("alpha", (0.1, 0.3), local(0.9, 0.75, 1.0)),
        ("beta", (0.75, 0.5), local(0.3, 0.5, 1.0)),
        ("bias", (1.0, 2.0), local(0.3, 0.75, 2.0)),
    ):
        cause = cause_of(reference, candidate, IMAGES)
        assert cause.kind == "lrn-parameters"
        assert cause.parameters == {name: pytest.approx(pair)}


def test_a_local_response_whose_windows_hold_all_channels():
    def local(alpha, beta=0.75):
        return lambda x: F.local_response_norm(x, 5, alpha, beta).sin()

    few = IMAGES[:, :3]
    assert kind(local(0.3), local(0.9), few) == "lrn-parameters"
    assert kind(local(0.3, 0.5), local(0.9, 0.5), few) != "lrn-parameters"


def test_other_things_are_not_named():
    norms = {
        "norm-epsilon", "norm-epsilon-placement", "norm-axis", "norm-affine-missing",
        "norm-not-centered", "variance-ddof", "rmsnorm-offset", "norm-batch-statistics",
    }  # fmt: skip

    def largest(x):
        return (x - x.mean(-1, keepdim=True)) / (x.abs().amax(-1, keepdim=True) + 1e-5) * SCALE

    assert kind(layer_norm(1e-5), lambda x: largest(x) @ LAST, X) not in norms
    other = tensor(values(6))
    assert (
        kind(layer_norm(1e-5), lambda x: F.layer_norm(x, (6,), other, OFFSET) @ LAST, X)
        not in norms
    )
    moved = MEAN + 0.1 * SCALE

    def drifted(x):
        return F.batch_norm(x, moved.clone(), VARIANCE.clone(), SCALE, OFFSET).sin()

    assert kind(batch_norm(1e-5), drifted, IMAGES) not in norms


def test_statistics_that_are_computed_before_they_are_read():
    def run(eps):
        return lambda x: F.batch_norm(x, MEAN + 0.1, VARIANCE.log().exp(), SCALE, OFFSET, eps=eps)

    cause = cause_of(run(1e-5), run(1e-3), IMAGES)
    assert (cause.kind, cause.parameters) == ("norm-epsilon", {"epsilon": (1e-5, 1e-3)})


def test_the_bias_of_a_product_of_standardised_values_is_no_offset_of_a_norm():
    x = (X - X.mean()) / X.std()
    cause = cause_of(lambda x: F.linear(x, LAST.T, LAST[0]), lambda x: F.linear(x, LAST.T), x)
    assert (cause.kind, cause.alternatives) == ("bias-missing", ())


@pytest.mark.parametrize("has_them", [False, True])
def test_a_scale_of_ones_is_not_surely_missing(has_them):
    """As fresh weights are: then other values in them explain it as well."""
    ones, zeros = torch.nn.Parameter(torch.ones(6)), torch.nn.Parameter(torch.zeros(6))

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.ones, self.zeros = (ones, zeros) if has_them else (None, None)

        def forward(self, x):
            mean, variance = x.mean(-1, keepdim=True), x.var(-1, unbiased=False, keepdim=True)
            y = (x - mean) * torch.rsqrt(variance + 1e-5)
            return torch.tanh(y * self.ones + self.zeros if has_them else y)

    net = Net()
    reference = lambda x: torch.tanh(F.layer_norm(x, (6,), SCALE, OFFSET))  # noqa: E731
    cause = cause_of(reference, lambda x: net(x), X)
    assert cause.kind == "norm-affine-missing"
    assert cause.confirmed == (not has_them)


def over_all(x, eps=1e-5):
    """Of a whole image, by the unbiased deviation of its pixels in a row, as MUNIT has it."""
    rows = x.reshape(len(x), -1)
    mean, deviation = (one.reshape(-1, 1, 1, 1) for one in (rows.mean(1), rows.std(1)))
    return (x - mean) / (deviation + eps)


def over_channels(x, eps=1e-5):
    variance, mean = torch.var_mean(x, 1, correction=0, keepdim=True)
    return (x - mean) * torch.rsqrt(variance + eps)


def test_axes_of_a_norm_whose_statistics_are_of_rows():
    cause = cause_of(lambda x: over_all(x).sin(), lambda x: over_channels(x).sin(), IMAGES)
    assert cause.kind == "norm-axis" and cause.confirmed
    assert cause.parameters["axis"] == ((1, 2, -1), 1) and cause.parameters["ddof"] == (1, 0)


def test_axes_of_a_norm_that_divides_by_one_less_over_either():
    def centred(axes):
        return lambda x: ((x - x.mean(axes, keepdim=True)) / x.std(axes, keepdim=True)).sin()

    cause = cause_of(centred((1, 2, 3)), centred((2, 3)), IMAGES)
    assert cause.kind == "norm-axis" and cause.confirmed
    assert list(cause.parameters) == ["axis"]
