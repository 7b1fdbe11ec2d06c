"""Channels first or last makes no difference for images; for what is no longer one it does."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tensorflow as tf
import torch
from torch.nn.functional import conv2d, pad

import parity
from tests.rules.pairs import draw, weights

X = draw.standard_normal((2, 3, 8, 9)).astype("f")
CUBE = draw.standard_normal((2, 3, 6, 6)).astype("f")
KERNEL, SMALL = weights(15, 3, 3, 3), weights(6, 3, 3, 3)

Model = Callable[[torch.Tensor], torch.Tensor]


def verdict(reference: Model, candidate: Model, x: np.ndarray = X) -> str:
    """Of a model that takes channels first, and of one that takes them last."""
    models = (
        parity.wrap(reference, framework="torch"),
        parity.wrap(candidate, framework="torch", input_layout="NHWC"),
    )
    return parity.compare(*models, inputs=x).verdict


def last(images: torch.Tensor) -> torch.Tensor:
    return images.permute(0, 2, 3, 1)


def maps(x: torch.Tensor) -> torch.Tensor:
    return conv2d(x, KERNEL)


def maps_last(x: torch.Tensor) -> torch.Tensor:
    return last(conv2d(x.permute(0, 3, 1, 2), KERNEL))


def fields(x: torch.Tensor) -> torch.Tensor:
    return last(maps(x)).reshape(2, 42, 3, 5)


def fields_too(x: torch.Tensor) -> torch.Tensor:
    return maps_last(x).reshape(2, 42, 3, 5)


def test_a_feature_map_may_have_its_channels_in_either_place() -> None:
    assert verdict(maps, maps_last) == "parity"


def test_fields_of_listed_boxes_are_no_channels() -> None:
    assert verdict(fields, fields_too) == "parity"
    assert verdict(fields, lambda x: fields_too(x).permute(0, 3, 1, 2)) == "diverged"


def upwards(x: torch.Tensor) -> torch.Tensor:
    """What channels hold is written among the pixels."""
    found = maps(x)[:, :12].reshape(2, 3, 2, 2, 6, 7)
    return found.permute(0, 1, 4, 2, 5, 3).reshape(2, 3, 12, 14)


def test_channels_that_become_pixels_leave_an_image() -> None:
    assert verdict(upwards, lambda x: last(upwards(x.permute(0, 3, 1, 2)))) == "parity"


def tokens(x: torch.Tensor) -> torch.Tensor:
    """All places in a row, and an image again."""
    found = maps(x).flatten(2).transpose(1, 2)
    return torch.softmax(found, 2).transpose(1, 2).reshape(2, 15, 6, 7)


def test_places_in_a_row_become_an_image_again() -> None:
    assert verdict(tokens, lambda x: last(tokens(x.permute(0, 3, 1, 2)))) == "parity"


def of_a_cube(x: torch.Tensor, how: str = "constant") -> torch.Tensor:
    return torch.relu(conv2d(pad(x, (1, 1, 1, 1), how), SMALL))


def test_of_as_many_channels_as_rows_what_was_matched_determines_the_layout() -> None:
    def port(how: str) -> Model:
        return lambda x: last(of_a_cube(x.permute(0, 3, 1, 2), how))

    assert verdict(of_a_cube, port("constant"), CUBE) == "parity"
    assert verdict(of_a_cube, port("reflect"), CUBE) == "diverged"


def test_rows_and_columns_of_a_cube_that_were_exchanged_are_a_difference() -> None:
    def turned(x: torch.Tensor) -> torch.Tensor:
        return last(of_a_cube(x.permute(0, 3, 1, 2)).transpose(2, 3))

    assert verdict(of_a_cube, turned, CUBE) == "diverged"


def test_images_of_one_channel_have_layouts_too() -> None:
    def read_at(images: torch.Tensor, shift: int) -> torch.Tensor:
        rows = (torch.arange(8) + shift) % 8
        return images[:, rows] * torch.sigmoid(images.mean((1, 2), keepdim=True))

    def first(x: torch.Tensor) -> torch.Tensor:
        return read_at(x[:, 0], 2)[:, None]

    gray = X[:, :1]
    assert verdict(first, lambda x: read_at(x[..., 0], 2)[..., None], gray) == "parity"
    assert verdict(first, lambda x: read_at(x[..., 0], 3)[..., None], gray) == "diverged"


def test_an_axis_of_one_that_was_moved_is_a_difference_where_images_lie_alike() -> None:
    models = (lambda x: x[:, 0][:, None] * 2, lambda x: x[:, 0][..., None] * 2)
    report = parity.compare(
        *(parity.wrap(one, framework="torch") for one in models), inputs=X[:, :1]
    )
    assert report.verdict == "diverged"


def test_films_have_their_channels_in_either_place() -> None:
    """What is added to each frame: the frames come before the channels, or the rows."""
    frames = draw.standard_normal((2, 5, 1, 8, 9)).astype("f")
    kernel = KERNEL[:1, :1]

    def films(x: torch.Tensor) -> torch.Tensor:
        steps = [x[:, step] for step in range(5)]
        return torch.stack([torch.tanh(one + conv2d(one, kernel, padding=1)) for one in steps], 1)

    def films_last(x: tf.Tensor) -> tf.Tensor:
        steps, own = [x[:, step] for step in range(5)], kernel.permute(2, 3, 1, 0).numpy()
        return tf.stack([tf.tanh(one + tf.nn.conv2d(one, own, 1, "SAME")) for one in steps], 1)

    def of(other: Callable[[tf.Tensor], tf.Tensor]) -> str:
        there = np.ascontiguousarray(frames.transpose(0, 1, 3, 4, 2))
        return parity.compare(
            parity.wrap(films, framework="torch", inputs=frames),
            parity.wrap(other, framework="tensorflow", inputs=there),
        ).verdict

    assert of(films_last) == "parity"
    assert of(lambda x: tf.reverse(films_last(x), [2])) == "diverged"
    assert of(lambda x: tf.transpose(films_last(x), (0, 1, 3, 2, 4))) == "diverged"


def test_a_product_that_keeps_rows_columns_and_channels_leaves_an_image() -> None:
    """RAFT's convex upsampling: weights of each pixel, over what lies around it."""

    def upsampled(x: torch.Tensor) -> torch.Tensor:
        weight = torch.softmax(conv2d(x, KERNEL)[:, :12].reshape(2, 3, 2, 2, 6, 7), 1)
        around = torch.stack([conv2d(x, SMALL), 2 * conv2d(x, SMALL), conv2d(x, SMALL) ** 2], 1)
        found = (weight[:, :, None] * around[:, :, :, None, None]).sum(1)
        return found.permute(0, 1, 4, 2, 5, 3).reshape(2, 6, 12, 14)

    def upsampled_last(x: torch.Tensor) -> torch.Tensor:
        x = x.permute(0, 3, 1, 2)
        weight = last(conv2d(x, KERNEL)[:, :12]).reshape(2, 6, 7, 3, 2, 2)
        one = last(conv2d(x, SMALL))
        around = torch.stack([one, 2 * one, one**2], 3)
        found = torch.einsum("bhwkij,bhwkc->bhiwjc", torch.softmax(weight, 3), around)
        return found.reshape(2, 12, 14, 6)

    assert verdict(upsampled, upsampled_last) == "parity"
    assert verdict(upsampled, lambda x: upsampled_last(x).permute(0, 1, 3, 2)) == "diverged"


def test_a_product_of_two_images_over_their_channels_is_none() -> None:
    """Of attention over the rows the heads are an axis of their own, not channels."""

    def attention(found: torch.Tensor) -> torch.Tensor:
        columns = found.reshape(2, 5, 3, 6, 7).mean(4)
        return torch.softmax(torch.einsum("bhdq,bhdk->bhqk", columns, 2 * columns), 3)

    def first(x: torch.Tensor) -> torch.Tensor:
        return attention(maps(x))

    def heads_last(x: torch.Tensor) -> torch.Tensor:
        return last(first(x.permute(0, 3, 1, 2)))

    assert verdict(first, lambda x: first(x.permute(0, 3, 1, 2))) == "parity"
    assert verdict(first, heads_last) == "diverged"


def test_a_product_that_sums_over_channels_leaves_an_image_of_one() -> None:
    """A filter's belief, of the moves that were made; summed over places it is no image."""
    shares = torch.softmax(weights(2, 15), 1)

    def belief(x: torch.Tensor) -> torch.Tensor:
        made = shares * (1 + x.mean((1, 2, 3))[:, None])
        return torch.einsum("bahw,ba->bhw", maps(x), made)[:, None]

    def belief_last(x: torch.Tensor) -> torch.Tensor:
        return last(belief(x.permute(0, 3, 1, 2)))

    def of_rows(x: torch.Tensor) -> torch.Tensor:
        rows = torch.softmax(x.mean(1)[:, :6, 0], 1)
        return torch.einsum("bahw,bh->baw", maps(x), rows)[:, None]

    def of_columns(x: torch.Tensor) -> torch.Tensor:
        columns = torch.softmax(x.mean(1)[:, 0, :7], 1)
        return torch.einsum("bahw,bw->bah", maps(x), columns)[:, None]

    assert verdict(belief, belief_last) == "parity"
    assert verdict(belief, lambda x: belief_last(x).transpose(1, 2)) == "diverged"
    for one in (of_rows, of_columns):
        assert verdict(one, lambda x, one=one: last(one(x.permute(0, 3, 1, 2)))) == "diverged"


def test_an_output_in_the_other_layout_is_measured_in_the_references() -> None:
    models = (
        parity.wrap(maps, framework="torch"),
        parity.wrap(lambda x: maps_last(x) + 1e-3, framework="torch", input_layout="NHWC"),
    )
    report = parity.compare(*models, inputs=X)
    (row,) = report.worst.outputs
    assert row.difference is not None and abs(row.difference.largest - 1e-3) < 1e-6
    assert "not comparable" not in str(report)
