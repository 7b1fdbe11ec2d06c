"""The same values in another order."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
import torch
from torch.nn import functional as F

import parity
from parity.diagnosis.causes._arrange import arrangement
from tests.unit.causes.compared_pairs import UNNAMED, Values, cause_of, kind, tensor

values = Values()

ROWS, IMAGES = values(5, 7), values(3, 4, 6, 8)
SQUARE, KERNEL = values(7, 7), values(5, 4, 3, 3)


def conv(kernel, **options):
    weight = torch.from_numpy(np.ascontiguousarray(kernel))
    return lambda x: F.relu(F.conv2d(torch.tanh(x), weight, **options)) * 2


def dense(weight):
    weight = torch.from_numpy(np.ascontiguousarray(weight))
    return lambda x: torch.sigmoid(torch.tanh(x) @ weight)


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (KERNEL[:, :, ::-1, ::-1], "kernel-flipped"),
        (KERNEL[:, :, :, ::-1], "kernel-flipped"),
        (KERNEL.swapaxes(2, 3), "spatial-swap"),
        (KERNEL.reshape(3, 3, 4, 5).transpose(3, 2, 0, 1), "weight-reshaped"),
        (KERNEL[:, [2, 0, 3, 1]], "channel-order"),
        (KERNEL[::-1], "channel-order"),
    ],
)
def test_kernels_in_another_order(kernel, expected):
    assert kind(conv(KERNEL), conv(kernel), IMAGES) == expected


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (KERNEL[:, :, ::-1, ::-1], "kernel-flipped"),
        (KERNEL.swapaxes(2, 3), "spatial-swap"),
        (KERNEL[:, ::-1], "channel-order"),
    ],
)
def test_kernels_of_columns_in_another_order(kernel, expected):
    def by_columns(kernel):
        flat = torch.from_numpy(np.ascontiguousarray(kernel))
        return lambda x: F.relu(flat.flatten(1) @ F.unfold(torch.tanh(x), (3, 3))) * 2

    assert kind(by_columns(KERNEL), by_columns(kernel), IMAGES) == expected


def test_a_reshaped_kernel_of_groups_is_not_a_depthwise_one():
    right = values(6, 2, 3, 2)
    wrong = right.transpose(2, 3, 1, 0).reshape(right.shape)
    assert kind(conv(right, groups=2), conv(wrong, groups=2), IMAGES) == "weight-reshaped"


def test_a_square_weight_that_is_not_transposed():
    assert kind(dense(SQUARE), dense(SQUARE.T), ROWS) == "weight-not-transposed"


def test_a_weight_in_no_order_that_can_be_named():
    shuffled = np.random.default_rng(3).permutation(SQUARE.ravel()).reshape(SQUARE.shape)
    assert kind(dense(SQUARE), dense(shuffled), ROWS) == "weight-values"


def test_features_flattened_in_another_order():
    head = tensor(values(4 * 6 * 8, 3))
    cause = cause_of(
        lambda x: torch.tanh(x).flatten(1) @ head,
        lambda x: torch.tanh(x).permute(0, 2, 3, 1).flatten(1) @ head,
        IMAGES,
    )
    assert (cause.kind, cause.parameters["order"]) == ("flatten-order", ("NCHW", "NHWC"))


@pytest.mark.parametrize("by_hand", [False, True])
def test_channels_for_places_in_another_order(by_hand):
    last = tensor(values(3, 2, 3, 3))

    def by_blocks(x):
        n, c, h, w = x.shape
        parts = x.view(n, 2, 2, c // 4, h, w).permute(0, 3, 4, 1, 5, 2)
        return parts.reshape(n, c // 4, 2 * h, 2 * w)

    models = [
        lambda x: F.conv2d(F.pixel_shuffle(torch.tanh(x), 2), last),
        lambda x: F.conv2d(by_blocks(torch.tanh(x)), last),
    ]
    found = kind(*(models[::-1] if by_hand else models), values(3, 8, 6, 5))
    assert found == "pixel-shuffle-order"


def test_parts_joined_in_another_order():
    a, b, c = (tensor(values(7, n)) for n in (3, 4, 5))
    last = tensor(values(12, 3))

    def joined(order):
        def model(x):
            parts = [torch.tanh(x @ a), torch.sigmoid(x @ b), torch.relu(x @ c)]
            return torch.cat([parts[i] for i in order], 1) @ last

        return model

    assert kind(joined((0, 1, 2)), joined((2, 0, 1)), ROWS) == "concat-order"


def test_heads_split_differently():
    query, key = tensor(values(12, 12)), tensor(values(12, 12))

    def scores(split):
        return lambda x: torch.softmax(split(x @ query) @ split(x @ key).mT, -1).mean(1)

    assert (
        kind(
            scores(lambda h: h.view(3, 5, 4, 3).transpose(1, 2)),
            scores(lambda h: h.view(3, 5, 3, 4).permute(0, 3, 1, 2)),
            values(3, 5, 12),
        )
        == "head-split-order"
    )


def test_halves_for_neighbours():
    steps, half = 5, 4
    angles = np.arange(steps)[:, None] / 10.0 ** np.arange(half)
    cos, sin = tensor(np.cos(angles)), tensor(np.sin(angles))

    def turned(take):
        def model(x):
            one, two = take(torch.tanh(x))
            return torch.cat([one * cos - two * sin, one * sin + two * cos], -1)

        return model

    cause = cause_of(
        turned(lambda x: (x[..., ::2], x[..., 1::2])),
        turned(lambda x: x.chunk(2, -1)),
        values(3, steps, 2 * half),
    )
    assert (cause.kind, cause.parameters["step"]) == ("rope-pairing", (2, 1))


def test_rows_in_another_order_of_the_batch_are_no_channels():
    assert kind(lambda x: torch.tanh(x) * 2, lambda x: torch.tanh(x).flip(0) * 2, ROWS) != (
        "channel-order"
    )


def test_arrangements_are_found_and_undone():
    random = np.random.default_rng(0)
    x = random.standard_normal((4, 6, 5))
    for target in (
        x[:, ::-1],
        x[:, [3, 1, 0, 5, 4, 2]],
        x.reshape(4, 2, 3, 5).swapaxes(1, 2).reshape(4, 6, 5),
        x.transpose(0, 2, 1).reshape(4, 30),
        x.reshape(2, 2, 6, 5).transpose(2, 0, 3, 1)[:, ::-1].reshape(6, 2, 10),
    ):
        found = arrangement(x, target)
        assert found is not None
        assert np.array_equal(found(x), target)


def test_what_is_in_no_order_is_no_arrangement():
    random = np.random.default_rng(0)
    x = random.standard_normal((4, 6, 5))
    assert arrangement(x, x) is None
    assert arrangement(x, random.permutation(x.ravel()).reshape(x.shape)) is None
    assert arrangement(x, x + 1) is None
    assert arrangement(np.ones((4, 6)), np.ones((6, 4))) is None


def test_an_axis_split_the_other_way():
    w, x = tensor(values(6, 12)), values(5, 6)
    columns = tensor(values(4, 3))
    by_rows = kind(
        lambda x: (x @ w).view(-1, 3, 4) @ columns,
        lambda x: (x @ w).view(-1, 4, 3).transpose(1, 2) @ columns,
        x,
    )
    assert by_rows == "head-split-order"


def test_tokens_read_across_channels():
    x, table = values(3, 4, 5, 7), tensor(values(35, 4))

    def model(tokens):
        return lambda x: tokens(torch.tanh(x)) + table

    reference = model(lambda x: x.permute(0, 2, 3, 1).reshape(-1, 35, 4))
    candidate = model(lambda x: x.reshape(-1, 35, 4))
    assert kind(reference, candidate, x) == "head-split-order"
    other = model(lambda x: x.reshape(-1, 35, 4) ** 2)
    assert kind(reference, other, x) in UNNAMED


@pytest.mark.parametrize("sides", [(0, 1, 0, 0), (0, 0, 1, 0), (1, 0, 0, 1)])
def test_zeros_on_the_other_side_are_no_exchange_of_pixels(sides):
    """What is padded is the same values, moved by one: it is reported as padding."""
    kernel = tensor(KERNEL)

    def padded(left, right, top, bottom):
        return lambda x: torch.tanh(
            F.conv2d(F.pad(torch.tanh(x), (left, right, top, bottom)), kernel)
        )

    left, right, top, bottom = sides
    turned = (right, left, bottom, top)
    assert kind(padded(*sides), padded(*turned), IMAGES) == "padding-asymmetry"


def test_multiples_of_channels_in_another_order():
    """A depthwise kernel whose memory is read as (multiples, channels)."""
    right = values(6, 1, 3, 3)
    wrong = right.reshape(3, 2, 3, 3).transpose(1, 0, 2, 3).reshape(right.shape)
    images = values(2, 3, 6, 8)
    found = kind(conv(right, groups=3), conv(wrong, groups=3), images)
    assert found == "depthwise-layout"


@pytest.mark.parametrize("product", ["bni,bji->bnj", "bmm"])
def test_a_matrix_of_each_sample_that_is_applied_transposed(product):
    """No split differs: rows and columns of a square are exchanged."""
    make = tensor(values(7, 36))

    def applied(transposed):
        def run(x, z):
            matrix = (z @ make).view(-1, 6, 6)
            if transposed and product != "bmm":
                return torch.einsum(product, x, matrix)
            return torch.bmm(x, matrix.transpose(1, 2) if transposed else matrix)

        return run

    cause = cause_of(applied(False), applied(True), values(4, 5, 6), values(4, 7))
    assert (cause.kind, cause.confirmed) == ("weight-not-transposed", True)
    assert "not as" not in cause.summary


@pytest.mark.parametrize("reference", ["torch", "tensorflow"])
def test_a_flatten_is_stated_in_the_layout_of_the_reference(reference):
    """(NHWC, NCHW) where channels are last in the reference, and the other way round."""
    weights = values(60, 7)

    def last(x, flat=True):
        x = tf.nn.tanh(tf.nn.conv2d(x, np.eye(5, dtype="f")[None, None], 1, "VALID"))
        x = x if flat else tf.transpose(x, (0, 3, 1, 2))
        return tf.reshape(x, (-1, 60)) @ weights

    def first(x, flat=True):
        x = torch.tanh(F.conv2d(x.permute(0, 3, 1, 2), torch.eye(5)[..., None, None]))
        return (x if flat else x.permute(0, 2, 3, 1)).flatten(1) @ torch.from_numpy(weights)

    models = {"torch": (first, "NCHW"), "tensorflow": (last, "NHWC")}
    (source, own), (port, other) = models.pop(reference), next(iter(models.values()))
    names = [reference, *models]
    both = [
        parity.wrap(one, framework=name) for one, name in zip((source, port), names, strict=True)
    ]
    report = parity.compare(*both, inputs=values(4, 3, 4, 5))
    cause = report.divergences[0].cause
    assert (cause.kind, cause.parameters) == ("flatten-order", {"order": (own, other)})


@pytest.mark.parametrize("angles", [True, False])
def test_pairs_across_halves_are_rotary_only_where_there_are_angles(angles):
    """Blocks of features that a graph's sum reads innermost pair neighbours, too."""
    x, near = values(3, 5, 8), values(3, 5, 5)
    turns = tensor(values(5, 1))

    def model(turned):
        def run(x, near):
            blocks = torch.tanh(x).reshape(3, 5, 4, 2)
            blocks = blocks.transpose(2, 3) if turned else blocks
            summed = near @ blocks.reshape(3, 5, 8)
            return summed * torch.cos(turns) if angles else summed * turns

        return run

    cause = cause_of(model(False), model(True), x, near)
    assert (cause.kind == "rope-pairing") == angles
    assert cause.confirmed
