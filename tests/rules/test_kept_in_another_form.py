"""What a model kept of its first batch where every part of that batch has it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.rules.pairs import FIRST, SQUARE, X, compare, weights

# What every part of the batch has, as the least and the largest of clipped observations.
CLIPPED = np.clip(4 * X, -2, 3)
IMAGES = np.minimum(np.random.default_rng(3).gamma(2, 0.5, (8, 4, 4, 3)), (1.3, 0.9, 1.1))
IMAGES = IMAGES.astype(np.float32)
OF_CHANNELS = weights(3, 4)
OF_FOUR = weights(4, 3)


def reasons(report) -> str:
    return " ".join(report.comparisons[0].reasons)


def balanced(white):
    """Images over the largest of each channel."""
    return lambda x: torch.tanh((x / (x.amax((0, 1, 2)) if white is None else white)) @ OF_CHANNELS)


def test_several_numbers_that_are_held_and_computed_are_unverified() -> None:
    white = torch.from_numpy(IMAGES.max((0, 1, 2)))
    assert compare(balanced(None), balanced(None), inputs=IMAGES).verdict == "parity"
    for pair in ((None, white), (white, None)):
        report = compare(*map(balanced, pair), inputs=IMAGES)
        assert report.verdict == "unverified"
        assert "holds 3 numbers" in reasons(report)


def test_a_function_of_what_is_held_is_unverified() -> None:
    def by_a_gain(x):
        return (x * float(1 / CLIPPED.max())) @ FIRST

    def by_the_largest(x):
        return (x / x.max()) @ FIRST

    def by_the_largest_of_each(x):
        return (x / x.amax(0).amax()) @ FIRST

    assert compare(by_the_largest, by_the_largest_of_each, inputs=CLIPPED).verdict == "parity"
    for pair in ((by_the_largest, by_a_gain), (by_a_gain, by_the_largest)):
        report = compare(*pair, inputs=CLIPPED)
        assert report.verdict == "unverified"
        assert "a few percent off" in reasons(report)
        assert "by_a_gain holds as a reciprocal the number 3" in reasons(report)


def test_the_middle_of_a_range_is_unverified() -> None:
    middle = float(CLIPPED.max() + CLIPPED.min()) / 2

    def within(x):
        low, high = x.min(), x.max()
        return torch.tanh(((x - low) - (high - low) / 2) @ FIRST)

    def less(kept):
        return lambda x: torch.tanh((x - (kept or (x.max() + x.min()) / 2)) @ FIRST)

    assert compare(within, less(0), inputs=CLIPPED).verdict == "parity"
    assert compare(within, less(middle), inputs=CLIPPED).verdict == "unverified"


def test_right_models_may_differ_outside_of_what_they_take() -> None:
    """Samples that are a few percent off are no unit vectors, for which these are one function."""

    def by_a_sum(x):
        return x[:, :1] ** 2 + (x[:, 1:] ** 2).sum(1, keepdim=True) + torch.tanh(x @ FIRST)

    def by_one(x):
        return 1 + torch.tanh(x @ FIRST)

    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    assert compare(by_a_sum, by_one, inputs=unit).verdict == "parity"


def in_time(scale):
    def model(inputs):
        times, x = inputs
        if bool((times.diff() <= 0).any()):
            raise ValueError("observations are not in the order of time")
        return torch.tanh((x / (scale or x.abs().amax())) @ FIRST)

    return lambda times, x: model((times, x))


def test_models_that_refuse_other_orders_run_on_samples_a_few_percent_off() -> None:
    given = (np.array([0, 10, 20, 35, 50], np.float32), X)
    folded = FIRST / float(np.abs(X).max())

    def by_folded_weights(times, x):
        in_time(1)(times, x)
        return torch.tanh(x @ folded)

    assert compare(in_time(0), in_time(0), inputs=given).verdict == "parity"
    report = compare(in_time(0), by_folded_weights, inputs=given)
    assert report.verdict == "unverified"
    assert "a few percent off" in reasons(report)


def test_what_is_held_is_unverified_until_it_is_seen_to_be_something_else() -> None:
    pixels = np.round(255 * np.random.default_rng(5).random((6, 7))).astype(np.float32)
    pixels[:, 0] = 255

    def model(largest):
        return lambda x: torch.tanh((x / (largest or x.max())) @ FIRST)

    assert compare(model(0), model(0), inputs=pixels).verdict == "parity"
    for report in (
        compare(model(0), model(255.0), inputs=pixels),
        compare(model(255.0), model(0), inputs=pixels),
    ):
        assert report.verdict == "unverified"
        assert "holds the number 255" in reasons(report)
    pixels[3:] = np.minimum(pixels[3:], 200)
    assert compare(model(0), model(255.0), inputs=pixels).verdict == "diverged"


@pytest.mark.parametrize(
    ("computed", "held"),
    [
        (lambda x: x.amax(), 2.0),
        (lambda x: x.amax() / 2, 1.0),
        (lambda x: 1 / x.amax(), 0.5),
        (lambda x: x.amin(), -1.0),
        (lambda x: x[:, :3].amin(0).repeat(2), torch.tensor([0.0, -1, 1, 0, -1, 1])),
    ],
    ids=["two", "one", "half", "less than none", "several"],
)
def test_numbers_that_programs_hold_for_many_reasons_are_not_doubted(computed, held) -> None:
    def model(number):
        return lambda x: torch.tanh(
            (computed(x) if number is None else number) * (x[:, :6] @ SQUARE)
        )

    board = np.round(3 * np.random.default_rng(5).random((6, 7)) - 1.5).clip(0, 2)
    board[:, :3] = [[0, -1, 1], [0, 2, 2]] * 3
    board = board.astype(np.float32)
    for pair in ((None, held), (held, None)):
        assert compare(*map(model, pair), inputs=board).verdict == "parity"


def test_numbers_of_which_some_are_uncommon_are_doubted() -> None:
    least = torch.tensor([0.0, 1, 3])
    board = np.concatenate([np.tile([[0, 1, 3], [1, 5, 3]], (3, 1)), np.ones((6, 4))], 1)

    def model(held):
        return lambda x: torch.tanh(
            (x[:, :3].amin(0) if held is None else held) * (x[:, 3:] @ OF_FOUR)
        )

    report = compare(model(None), model(least), inputs=board.astype(np.float32))
    assert report.verdict == "unverified"
    assert "holds 3 numbers" in reasons(report)


def test_zeros_and_a_single_number_of_several_are_held_for_no_reason() -> None:
    """They are no cause to run models on samples that they do not take."""
    none, shares = torch.zeros(6), torch.tensor([1.0, 0.2, 0.3, 0.4, 0.5])

    def squashed(x, state):
        return torch.tanh((x[:, :5] * shares) @ FIRST[:5] + state)

    def by_a_sum(x):
        return (x**2).sum(1, keepdim=True) + squashed(x, 0 * x[0, :6])

    def by_one(x):
        return 1 + squashed(x, none)

    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    assert compare(by_a_sum, by_one, inputs=unit).verdict == "parity"


def test_what_the_holder_computes_too_is_not_doubted() -> None:
    pixels = np.round(15 * np.random.default_rng(5).random((6, 7))).astype(np.float32)
    pixels[:, 0] = 15

    def model(largest):
        return lambda x: (torch.tanh((x / (largest or x.max())) @ FIRST), x.max())

    assert compare(model(0), model(15.0), inputs=pixels).verdict == "parity"


def test_what_was_seen_to_change_a_few_percent_off_is_not_doubted() -> None:
    def model(largest):
        def called(x):
            scale = largest or x.abs().amax()
            return torch.tanh(((x / scale) * scale) @ FIRST)

        return called

    bounded = np.clip(4 * X, -3, 3)
    assert compare(model(0), model(3.0), inputs=bounded).verdict == "parity"
    assert compare(model(3.0), model(0), inputs=bounded).verdict == "parity"


def test_where_samples_take_another_way_what_is_held_is_not_doubted() -> None:
    pixels = np.round(15 * np.random.default_rng(5).random((6, 7))).astype(np.float32)
    pixels[:, 0] = 15

    def model(largest):
        def called(x):
            h = x / (largest or x.max())
            return torch.tanh((h.relu() if x[0, 1] == pixels[0, 1] else h.abs()) @ FIRST)

        return called

    assert compare(model(0), model(15.0), inputs=pixels).verdict == "parity"


def test_a_rounding_is_no_change_of_what_is_computed() -> None:
    """The same values in each sample, whose mean rounds by their order."""
    row = np.arange(1, 8, dtype=np.float32)
    samples = np.stack([np.random.default_rng(seed).permutation(row) for seed in range(6)])

    def model(held):
        return lambda x: torch.tanh((x / (held or x.sqrt().mean())) @ FIRST)

    held = float(torch.from_numpy(samples).sqrt().mean())
    report = compare(model(0), model(held), inputs=samples)
    assert report.verdict == "unverified"
    assert "holds the number" in reasons(report)


def test_one_sample_of_whole_numbers_shows_nothing_of_what_is_held() -> None:
    board = np.array([[1, 0, -1, 1, 1, 0, 1]], np.float32)

    def model(count, counted):
        return lambda x: torch.tanh(x @ FIRST) * (count or counted(x)) / 9

    for counted in (lambda x: x.abs().sum(), lambda x: (x != 0).sum()):
        assert compare(model(0, counted), model(0, counted), inputs=board).verdict == "parity"
        assert compare(model(0, counted), model(5.0, counted), inputs=board).verdict == "unverified"


def test_an_order_that_was_kept_of_one_sample_is_unverified() -> None:
    order = torch.from_numpy(X[:1]).argsort(1)[0]

    def model(kept):
        return lambda x: torch.tanh(x[:, x[0].argsort() if kept is None else kept] @ FIRST)

    assert compare(model(None), model(None), inputs=X[:1]).verdict == "parity"
    assert compare(model(None), model(order), inputs=X[:1]).verdict == "unverified"


def test_what_is_no_sample_is_a_few_percent_off_too() -> None:
    goal = np.linspace(-1, 1, 7, dtype=np.float32) ** 3
    kept = torch.tanh(torch.from_numpy(goal) @ FIRST)

    def model(embedding):
        def called(state, goal):
            g = torch.tanh(goal @ FIRST) if embedding is None else embedding
            return torch.tanh(state @ FIRST) * g, (state - goal).square().sum(1)

        return called

    assert compare(model(None), model(None), inputs=(X, goal)).verdict == "parity"
    assert compare(model(None), model(kept), inputs=(X, goal)).verdict == "unverified"


def test_what_no_number_of_the_inputs_changes_is_not_computed_of_them() -> None:
    """Places among the features: a sum of ones in one model, a table in the other."""
    places = torch.arange(1, 8).float()

    def model(table):
        def called(x):
            at = places if table else torch.ones_like(x[0]).cumsum(0)
            return torch.tanh((x / at) @ FIRST)

        return called

    assert compare(model(False), model(True)).verdict == "parity"
    assert compare(model(True), model(False), inputs=X[:1]).verdict == "parity"
