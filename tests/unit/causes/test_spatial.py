"""Windows of convolutions and pools."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from parity.diagnosis.causes._windows import Slide, read_off, slid
from tests.unit.causes.compared_pairs import UNNAMED, Values, cause_of, kind, tensor

values = Values()

IMAGES, KERNEL = values(3, 4, 12, 14), tensor(values(5, 4, 3, 3))


def conv(before=(0, 0, 0, 0), mode="constant", value=None, kernel=KERNEL, **options):
    def model(x):
        x = torch.tanh(x)
        if any(before):
            x = F.pad(x, before, mode, value)
        return F.relu(F.conv2d(x, kernel, **options)).mean((2, 3))

    return model


def pool(function, **options):
    return lambda x: function(torch.tanh(x), **options).sum((2, 3)) * 2


@pytest.mark.parametrize(
    ("candidate", "expected", "parameters"),
    [
        (conv(), "padding-size", {"padding": (((1, 1), (1, 1)), ((0, 0), (0, 0)))}),
        (conv(padding=1, stride=2), "stride", {"stride": ((1, 1), (2, 2))}),
        (conv(padding=2, dilation=2), "dilation", {"dilation": ((1, 1), (2, 2))}),
        (conv((1, 1, 1, 1), "reflect"), "padding-value", {"value": (0.0, "reflect")}),
        (conv((1, 1, 1, 1), "replicate"), "padding-value", {"value": (0.0, "edge")}),
        (conv((1, 1, 1, 1), value=1.0), "padding-value", {"value": (0.0, 1.0)}),
        (
            conv((2, 0, 0, 2)),
            "padding-asymmetry",
            {"padding": (((1, 1), (1, 1)), ((0, 2), (2, 0)))},
        ),
    ],
)
def test_convolutions(candidate, expected, parameters):
    cause = cause_of(conv(padding=1), candidate, IMAGES)
    assert cause.kind == expected
    assert parameters.items() <= dict(cause.parameters).items()


def test_padding_after_only_with_a_stride():
    reference, candidate = conv(padding=1, stride=2), conv((0, 1, 0, 1), stride=2)
    cause = cause_of(reference, candidate, IMAGES)
    assert (cause.kind, cause.parameters) == (
        "padding-asymmetry",
        {"padding": (((1, 1), (1, 1)), ((0, 1), (0, 1)))},
    )


def test_a_convolution_written_by_hand():
    kernel = tensor(values(5, 4, 3))

    def by_hand(x):
        windows = F.pad(torch.tanh(x), (2, 0)).unfold(2, 3, 1)
        return torch.einsum("bctk,ock->bot", windows, kernel) * 2

    def ready(x):
        return F.conv1d(torch.tanh(x), kernel, padding=1) * 2

    x = values(3, 4, 12)
    assert kind(ready, by_hand, x) == kind(by_hand, ready, x) == "padding-asymmetry"


@pytest.mark.parametrize(
    ("reference", "candidate", "expected"),
    [
        (
            pool(F.max_pool2d, kernel_size=3, stride=2),
            pool(F.max_pool2d, kernel_size=3, stride=2, ceil_mode=True),
            "pool-ceil",
        ),
        (
            pool(F.avg_pool2d, kernel_size=3, stride=2, padding=1),
            pool(F.avg_pool2d, kernel_size=3, stride=2, padding=1, count_include_pad=False),
            "count-include-pad",
        ),
        (
            pool(F.max_pool2d, kernel_size=3, stride=2, padding=1),
            lambda x: F.max_pool2d(F.pad(torch.tanh(x), (1, 1, 1, 1)), 3, 2).sum((2, 3)) * 2,
            "padding-value",
        ),
    ],
)
def test_pools(reference, candidate, expected):
    assert (
        kind(reference, candidate, IMAGES - 1) == expected
    )  # windows without a positive number too


@pytest.mark.parametrize("fills", [(0.0, 1.5), (-torch.inf, 0.0)])
def test_padding_alone_holds_another_number(fills):
    """Above all numbers of the image, so that the largest of what is padded are its border."""

    def padded(fill):
        return lambda x: F.max_pool2d(F.pad(torch.tanh(x), (1, 2, 0, 1), value=fill), 3, 2) * 2

    cause = cause_of(*map(padded, fills), IMAGES)
    assert (cause.kind, cause.parameters) == (
        "padding-value",
        {"value": tuple(one if np.isfinite(one) else str(one) for one in fills)},
    )


def test_zeros_around_a_pool_that_show_in_one_of_many_images():
    images = np.abs(np.tile(IMAGES, (3, 1, 1, 1)))
    images[-1] *= -1
    reference = pool(F.max_pool2d, kernel_size=3, stride=2, padding=1)
    candidate = pool(lambda x: F.max_pool2d(F.pad(x, (1, 1, 1, 1)), 3, 2))
    assert kind(reference, candidate, images) == "padding-value"


def test_a_pool_of_positive_numbers_has_the_padding_that_is_written():
    """On the user's inputs nothing and zeros around the image are alike."""

    def positive(by):
        return lambda x: by(torch.sigmoid(x)).sum((2, 3)) * 2

    floor = positive(lambda x: F.max_pool2d(x, 3, 2))
    ceiling = positive(lambda x: F.max_pool2d(F.pad(x, (0, 1, 0, 1)), 3, 2))
    assert kind(floor, ceiling, IMAGES) == kind(ceiling, floor, IMAGES) == "pool-ceil"


def test_a_transposed_convolution_cut_elsewhere():
    kernel = tensor(values(4, 5, 3, 3))

    def up(cut, **options):
        def model(x):
            y = F.conv_transpose2d(torch.tanh(x), kernel, stride=2, **options)
            return torch.sigmoid(y[:, :, : y.shape[2] - cut, : y.shape[3] - cut])

        return model

    cause = cause_of(up(0, padding=1, output_padding=1), up(1), IMAGES)
    assert cause.kind == "transposed-conv-crop"
    assert cause.parameters["crop"] == (((1, 0), (1, 0)), ((0, 1), (0, 1)))


def test_groups_of_a_repeated_kernel():
    narrow = values(6, 2, 3, 3)
    reference = conv(kernel=tensor(narrow), groups=2)
    candidate = conv(kernel=tensor(np.tile(narrow, (1, 2, 1, 1))))
    cause = cause_of(reference, candidate, IMAGES)
    assert (cause.kind, cause.parameters) == ("groups", {"groups": (2, 1)})


def test_groups_of_a_mere_product():
    narrow = values(6, 2, 1, 1)
    wide = tensor(np.tile(narrow, (1, 2, 1, 1)))

    def by_product(x):
        return F.relu(torch.tensordot(torch.tanh(x), wide.flatten(1), ([1], [1]))).mean((1, 2))

    grouped = conv(kernel=tensor(narrow), groups=2)
    cause = cause_of(grouped, by_product, IMAGES)
    assert (cause.kind, cause.parameters) == ("groups", {"groups": (2, 1)})
    cause = cause_of(by_product, grouped, IMAGES)
    assert (cause.kind, cause.parameters) == ("groups", {"groups": (1, 2)})


def test_a_single_place_has_no_dilation():
    kernel = tensor(values(5, 4, 1, 1))
    cause = cause_of(conv(kernel=kernel), conv(kernel=kernel, padding=1, dilation=2), IMAGES)
    assert (cause.kind, [*cause.parameters]) == ("padding-size", ["padding"])


def test_what_follows_takes_one_size_of_images_alone():
    def reshaped(x):
        return F.relu(F.conv2d(torch.tanh(x), KERNEL, padding=1)).view(3, 5, 168).mean(2)

    assert kind(reshaped, conv(), IMAGES) == kind(conv(), reshaped, IMAGES) == "padding-size"


def test_a_pool_written_by_hand():
    def by_hand(x):
        return torch.tanh(x).unfold(2, 3, 2).unfold(3, 3, 2).amax((4, 5)).sum((2, 3)) * 2

    ceiling = pool(F.max_pool2d, kernel_size=3, stride=2, ceil_mode=True)
    assert kind(ceiling, by_hand, IMAGES) == kind(by_hand, ceiling, IMAGES) == "pool-ceil"


def test_other_weights_and_other_padding_at_once_are_not_one_cause():
    other = conv((2, 0, 0, 2), kernel=KERNEL + 1)
    assert kind(conv(padding=1), other, IMAGES) in UNNAMED


@pytest.mark.parametrize("kind_", ["conv", "max", "mean", "transposed"])
def test_a_window_is_read_off_what_it_gives(kind_):
    random = np.random.default_rng(1)
    x = random.standard_normal((2, 6, 11, 13))
    kernel = {
        "conv": random.standard_normal((4, 3, 3, 2)),
        "transposed": random.standard_normal((6, 4, 3, 2)),
    }.get(kind_)
    window = Slide(
        kind_,
        (3, 2),
        ((1, 0), (0, 2)),
        (2, 3),
        (1, 1),
        2 if kind_ == "conv" else 1,
        -np.inf if kind_ == "max" else 0.0,
        "inside" if kind_ == "mean" else "all",
    )
    guess = Slide(kind_, (3, 2), ((0, 0), (0, 0)), (2, 3), (1, 1), window.groups)
    found = read_off([slid(x, window, kernel)], x, guess, kernel)
    assert found is not None
    assert (found.stride, found.fill, found.counted) == (window.stride, window.fill, window.counted)
    assert [before for before, _ in found.pads] == [1, 0]
    assert np.allclose(slid(x, found, kernel), slid(x, window, kernel))


def test_no_window_is_read_off_other_values():
    random = np.random.default_rng(1)
    x = random.standard_normal((2, 3, 11, 13))
    guess = Slide("max", (2, 2), ((0, 0), (0, 0)), (1, 1), (1, 1))
    assert read_off([random.standard_normal((2, 3, 10, 12))], x, guess, None) is None


def test_convolutions_are_torchs():
    x, kernel = values(2, 6, 9, 10), values(4, 3, 3, 2)
    window = Slide("conv", (3, 2), ((1, 1), (2, 2)), (2, 1), (2, 3), 2)
    expected = F.conv2d(
        tensor(x), tensor(kernel), stride=(2, 1), padding=(1, 2), dilation=(2, 3), groups=2
    )
    assert np.allclose(slid(x, window, kernel), expected, atol=1e-5)


def by_columns(before=(0, 0, 0, 0), **options):
    """A convolution as a product with the columns of the image."""

    def model(x):
        x = torch.tanh(x)
        columns = F.unfold(F.pad(x, before), (3, 3), **options)
        shape = F.conv2d(F.pad(x, before), KERNEL, **options).shape
        return F.relu((KERNEL.flatten(1) @ columns).view(shape)).mean((2, 3))

    return model


@pytest.mark.parametrize(
    ("reference", "candidate", "expected"),
    [
        (by_columns(), conv(padding=1), "padding-size"),
        (conv(padding=1), by_columns((1, 1, 1, 1), stride=2), "stride"),
    ],
)
def test_a_convolution_by_columns(reference, candidate, expected):
    assert kind(reference, candidate, IMAGES) == expected


@pytest.mark.parametrize(
    ("reference", "candidate", "expected"),
    [
        (by_columns((1, 1, 1, 1)), conv((2, 0, 0, 2)), "padding-asymmetry"),
        (by_columns((1, 1, 1, 1)), conv(padding=2, dilation=2), "dilation"),
        (conv((2, 0, 0, 2)), by_columns((1, 1, 1, 1)), "padding-asymmetry"),
    ],
)
def test_rows_for_windows_that_are_no_images_again(reference, candidate, expected):
    assert kind(reference, candidate, IMAGES) == expected


def test_columns_alone():
    def columns(pad, dilation):
        return lambda x: F.unfold(torch.tanh(x), 3, dilation, pad).cumsum(1)

    cause = cause_of(columns(1, 1), columns(2, 2), IMAGES)
    assert (cause.kind, cause.parameters["dilation"]) == ("dilation", ((1, 1), (2, 2)))


def test_other_weights_by_columns_are_no_window():
    assert kind(conv(kernel=KERNEL.flip(1) + 1), by_columns(stride=2), IMAGES) in UNNAMED
