"""Values that a loop or several layers read again and again, and what else they may be."""

from __future__ import annotations

import tensorflow as tf
import torch

import parity
from tests.rules.pairs import FIRST, SQUARE, X, compare, kinds, weights

GATE = weights(6, 12)


def rounds(x: torch.Tensor, again: bool = True, twin: bool = False) -> tuple[torch.Tensor, ...]:
    h = torch.tanh(x @ FIRST)
    read = (h @ SQUARE).roll(1, 0) @ GATE
    other = read[:, :6] + 0 * x[:, :1] if twin else h
    for number in range(3):
        if again and number:
            read = (h @ SQUARE).roll(1, 0) @ GATE
        a, b = read.chunk(2, 1)
        h = torch.sigmoid(a + h) * torch.tanh(b - h)
    return h, other


def test_what_is_computed_once_and_not_in_every_round():
    report = compare(rounds, lambda x: rounds(x, again=False))
    (found,) = report.divergences
    assert kinds(report) == ["wrong-source"], report
    assert "(2 times)" in found.cause.summary


def test_an_equal_value_may_be_meant():
    report = compare(lambda x: rounds(x, twin=True), lambda x: rounds(x, again=False, twin=True))
    assert kinds(report) == []


def positions(x: tf.Tensor) -> tf.Tensor:
    return tf.cos(tf.cast(tf.range(tf.shape(x)[1]), tf.float32))


def test_positions_that_are_computed_again_are_one():
    """What shapes alone decide is equal on all inputs: whichever is read, it is no doubt."""
    at = torch.cos(torch.arange(6.0))

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(x @ FIRST) + at
        g = torch.sin(h @ SQUARE)
        return (g + at) * torch.relu(h) - torch.cos(g)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.tanh(x @ FIRST.numpy())
        h = h + positions(h)
        g = tf.sin(h @ SQUARE.numpy())
        return (h + positions(g)) * tf.nn.relu(h) - tf.cos(g)

    models = (
        parity.wrap(reference, framework="torch"),
        parity.wrap(candidate, framework="tensorflow"),
    )
    assert kinds(parity.compare(*models, inputs=X)) == ["wrong-source"]


PLACES, OTHERS = torch.tensor([3, 0, 2, 1, 4, 4, 0]), torch.tensor([1, 4, 2, 0, 3, 0, 2])


def test_rows_that_are_summed_by_another_index_in_numbers():
    def summed(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(x @ FIRST)
        return torch.zeros(5, 6).index_add(0, index, h[torch.tensor([0, 1, 2, 3, 4, 1, 3])])

    report = compare(lambda x: summed(x, PLACES), lambda x: summed(x, OTHERS))
    (found,) = report.divergences
    assert kinds(report) == ["wrong-source"]
    assert "the index 1, 4, 2, 0, 3, 0" in found.cause.summary


def test_an_index_and_something_else_is_no_other_index():
    def summed(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(x @ FIRST)
        return torch.zeros(5, 6).index_add(0, index, h[torch.tensor([0, 1, 2, 3, 4, 1, 3])])

    def wrong(x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(x @ FIRST)
        rows = h[torch.tensor([0, 1, 2, 3, 4, 1, 3])] * torch.arange(1.0, 8.0)[:, None]
        return torch.zeros(5, 6).index_add(0, OTHERS, rows)

    report = compare(lambda x: summed(x, PLACES), wrong)
    assert "the index" not in str([one.cause for one in report.divergences])


def apart(x: torch.Tensor, swapped: bool) -> torch.Tensor:
    """Two means and two scales at every step."""
    found = []
    for at in x.split(1, 1):
        a, b = torch.sin(at @ FIRST[:1]), torch.exp(at @ FIRST[1:2])
        c, d = torch.cos(at @ FIRST[2:3]), torch.tanh(at @ FIRST[3:4])
        first, second = ((c, d), (a, b)) if swapped else ((a, b), (c, d))
        found.append(first[0] * torch.sigmoid(first[1]) + torch.exp(second[0]) * second[1])
    return torch.stack(found).sum(0)


def test_two_pairs_have_changed_places_in_every_turn():
    report = compare(lambda x: apart(x, swapped=False), lambda x: apart(x, swapped=True))
    (found,) = report.divergences
    assert kinds(report) == ["wrong-source"], report
    assert found.cause.summary.count(" and ") == 3
