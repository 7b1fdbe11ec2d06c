"""An order is stated of what is ordered: shifted places are no heads, rows no channels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
import torch
from torch.nn.functional import conv2d, leaky_relu

import parity
from tests.rules.pairs import compare, draw, weights

IMAGES = draw.standard_normal((3, 8, 8, 6)).astype("f")
TOKENS = draw.standard_normal((3, 5, 12)).astype("f")
ROWS = draw.standard_normal((20, 7)).astype("f")
SQUARE, KERNEL, WIDE = weights(6, 6), weights(4, 6, 3, 3), weights(12, 12)

Model = Callable[[torch.Tensor], torch.Tensor]


def cause(reference: Model, candidate: Model, inputs: np.ndarray) -> Any:
    (found,) = compare(reference, candidate, inputs=inputs).divergences
    return found.cause


def rolled(*places: int) -> Model:
    return lambda x: torch.tanh(torch.tanh(x).roll(places, (1, 2)) @ SQUARE)


def test_a_roll_by_half_a_turn_and_the_other_way_is_reported_as_that() -> None:
    for reference, candidate in (((2, 2), (-2, -2)), ((1, 3), (1, -2))):
        found = cause(rolled(*reference), rolled(*candidate), IMAGES)
        assert (found.kind, found.confirmed) == ("roll-shift", True)
        assert found.parameters == {"shift": (reference, candidate)}


def test_slices_that_are_joined_make_a_roll() -> None:
    def sliced(x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(x)
        return torch.tanh(torch.cat([h[:, 3:], h[:, :3]], 1) @ SQUARE)

    found = cause(lambda x: torch.tanh(torch.tanh(x).roll(1, 1) @ SQUARE), sliced, IMAGES)
    assert found.summary == "shifted by -3 places along axis 1; the reference by 1"


def test_an_axis_that_is_split_is_the_one_that_is_named() -> None:
    def means(*parts: int) -> Model:
        return lambda x: torch.tanh(x).view(*parts, 7).mean(parts.index(5))

    found = cause(means(4, 5), means(5, 4), ROWS)
    assert found.summary.startswith("axis 0 of (20, 7) is split otherwise")


def test_what_only_the_reference_regroups_is_not_split_by_the_candidate() -> None:
    def shuffled(x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x.view(3, 5, 3, 4).mT.reshape(3, 5, 12))

    found = cause(shuffled, torch.tanh, TOKENS)
    assert found.summary.endswith("which the reference regroups as (4, 3), is not regrouped")


def test_key_positions_and_rows_of_images_are_no_channels() -> None:
    def attended(positions: torch.Tensor) -> Model:
        def model(x: torch.Tensor) -> torch.Tensor:
            keys = torch.sin(positions[:, None].float() / torch.arange(1, 13)) @ WIDE
            return torch.softmax(x @ keys.T, -1) @ x

        return model

    found = cause(attended(torch.arange(5)), attended(torch.arange(4, -1, -1)), TOKENS)
    assert found is not None and "channel" not in found.kind + found.summary

    def convolved(order: Model) -> Model:
        return lambda x: torch.tanh(conv2d(order(torch.tanh(x)).permute(0, 3, 1, 2), KERNEL))

    for axis, kinds in ((1, {"axis-order"}), (3, {"channel-order", "frame-order"})):
        found = cause(convolved(lambda x: x), convolved(lambda x, a=axis: x.flip(a)), IMAGES)
        assert found.kind in kinds and found.confirmed


def test_frames_are_what_images_stack() -> None:
    def convolved(order: Model) -> Model:
        return lambda x: torch.tanh(conv2d(order(x).permute(0, 3, 1, 2), KERNEL))

    for axis, kind in ((2, "axis-order"), (3, "frame-order")):
        found = cause(convolved(lambda x: x), convolved(lambda x, a=axis: x.flip(a)), IMAGES)
        assert (found.kind, found.confirmed) == (kind, True)


def test_atoms_have_probabilities() -> None:
    def means(x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x).view(3, 5, 3, 4).mean(3)

    found = cause(means, lambda x: torch.tanh(x).view(3, 5, 4, 3).mean(2), TOKENS)
    assert found.kind == "head-split-order" and "atoms" not in found.summary
    support = torch.linspace(-3, 3, 4)

    def expected(x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(torch.tanh(x).view(3, 5, 3, 4), 3) @ support

    def mixed(x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(torch.tanh(x).view(3, 5, 4, 3).mT, 3) @ support

    assert cause(expected, mixed, TOKENS).kind == "atoms-actions-order"


def test_a_kernel_is_a_convolutions() -> None:
    """Ascending relative positions reverse what is computed from them, not a weight."""

    def scored(*ends: int) -> Model:
        def model(x: torch.Tensor) -> torch.Tensor:
            angles = torch.arange(*ends)[:, None].float() / torch.arange(1, 13)
            r = (torch.sin(angles) @ WIDE).view(5, 3, 4).permute(1, 2, 0)
            return torch.tanh(x).view(3, 5, 3, 4).transpose(1, 2) @ r

        return model

    found = cause(scored(4, -1, -1), scored(5), TOKENS)
    assert found.kind != "kernel-flipped" and "positions are in reverse order" in found.summary

    def correlated(kernel: torch.Tensor) -> Model:
        return lambda x: torch.tanh(conv2d(x.permute(0, 3, 1, 2), kernel))

    assert cause(correlated(KERNEL), correlated(KERNEL.flip(3)), IMAGES).kind == "kernel-flipped"


def test_rows_and_columns_are_exchanged_where_something_exchanges_them() -> None:
    """Kernels that are transposed before a mean over all places give what images would."""
    kernel, gate = weights(6, 1, 3, 3), weights(6, 6)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = torch.sigmoid(conv2d(torch.tanh(x), kernel, stride=2, padding=1, groups=6))
        return torch.tanh(h.mean((2, 3)) @ gate)

    def other(axes: tuple[int, ...], order: tuple[int, ...]) -> Callable[[tf.Tensor], tf.Tensor]:
        def model(x: tf.Tensor) -> tf.Tensor:
            h = tf.pad(tf.transpose(tf.tanh(x), order), ((0, 0), (1, 1), (1, 1), (0, 0)))
            kernels = kernel.permute(axes).numpy()
            h = tf.nn.depthwise_conv2d(h, kernels, (1, 2, 2, 1), "VALID")
            return tf.tanh(tf.reduce_mean(tf.sigmoid(h), (1, 2)) @ gate.numpy())

        return model

    def reported(axes: tuple[int, ...], order: tuple[int, ...]) -> Any:
        models = (
            parity.wrap(reference, framework="torch", input_layout="NCHW"),
            parity.wrap(other(axes, order), framework="tensorflow", input_layout="NHWC"),
        )
        images = np.ascontiguousarray(IMAGES.transpose(0, 3, 1, 2))
        (found,) = parity.compare(*models, inputs=images).divergences
        return found.cause

    kernels = reported((3, 2, 0, 1), (0, 1, 2, 3))
    assert (kernels.kind, kernels.confirmed) == ("spatial-swap", True)
    assert kernels.summary == "height and width of constant of (6, 1, 3, 3) are exchanged"
    images = reported((2, 3, 0, 1), (0, 2, 1, 3))
    assert (images.kind, images.confirmed) == ("spatial-swap", True)
    assert "constant" not in images.summary


def test_images_that_exchanged_kernels_give_are_not_said_to_be_exchanged() -> None:
    first, second = weights(4, 6, 3, 3), weights(2, 4, 3, 3)

    def reference(x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(conv2d(leaky_relu(conv2d(x, first), 0.2), second))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        one, two = (kernel.permute(3, 2, 1, 0).numpy() for kernel in (first, second))
        h = tf.nn.leaky_relu(tf.nn.conv2d(x, one, 1, "VALID"), 0.2)
        return tf.sigmoid(tf.nn.conv2d(h, two, 1, "VALID"))

    models = (
        parity.wrap(reference, framework="torch", input_layout="NCHW"),
        parity.wrap(candidate, framework="tensorflow", input_layout="NHWC"),
    )
    images = np.ascontiguousarray(IMAGES.transpose(0, 3, 1, 2))
    causes = [one.cause for one in parity.compare(*models, inputs=images).divergences]
    assert causes[0].kind == "spatial-swap" and "constant" in causes[0].summary
    assert all(one is None or "constant" in one.summary for one in causes)


# --- an order beside another fault ----------------------------------------------------------------


PROJECTIONS = [[weights(16, 16) for _ in range(3)] for _ in range(2)]


def attention(heads_first: bool, axis: int) -> Model:
    """Attention whose heads come before the samples or after them, which makes no difference."""

    def in_heads(x: torch.Tensor) -> torch.Tensor:
        order = (2, 0, 1, 3) if heads_first else (0, 2, 1, 3)
        return x.reshape(4, 9, 4, 4).permute(order).reshape(16, 9, 4)

    def model(x: torch.Tensor) -> torch.Tensor:
        shape, order = ((4, 4, 9, 4), (1, 2, 0, 3)) if heads_first else ((4, 4, 9, 4), (0, 2, 1, 3))
        for block in PROJECTIONS:
            q, k, v = (in_heads(x @ one) for one in block)
            found = torch.softmax(q @ k.transpose(1, 2) / 2, axis) @ v
            x = torch.tanh(x + found.reshape(shape).permute(order).reshape(4, 9, 16))
        return x

    return model


def test_an_order_that_is_put_back_beside_another_fault_is_not_confirmed() -> None:
    right = attention(False, -1)
    for size in (0.3, 1.0, 3.0):
        x = size * draw.standard_normal((4, 9, 16)).astype("f")
        assert compare(right, attention(True, -1), inputs=x).verdict == "parity"
        report = compare(right, attention(True, 1), inputs=x)
        assert report.verdict == "diverged"
        causes = [one.cause for one in report.divergences if one.cause is not None]
        assert not [one.kind for one in causes if one.confirmed and "order" in one.kind], str(
            report
        )
