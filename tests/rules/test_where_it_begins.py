"""A fault is placed where it begins, though what follows agrees in another order, or cancels it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tensorflow as tf
import torch

import parity
from parity.findings import Divergence

draw = np.random.default_rng(83)
X = draw.standard_normal((4, 5, 6)).astype("f")
IDS = draw.integers(0, 9, (4, 12)).astype("int64")
EDGE, LAST = draw.standard_normal((12, 6)).astype("f") / 3, draw.standard_normal((6, 3)).astype("f")
ADVANTAGE, STATE = (draw.standard_normal((6, n)).astype("f") for n in (4, 1))
TABLE = draw.standard_normal((60, 3)).astype("f")


def diverging(
    reference: Callable[..., object], candidate: Callable[..., object], inputs: np.ndarray = X
) -> list[Divergence]:
    report = parity.compare(
        parity.wrap(reference, framework="torch"),
        parity.wrap(candidate, framework="tensorflow"),
        inputs=inputs,
    )
    return list(report.divergences)


# --- an order that layers pass on -----------------------------------------------------------------


def of_edges(x: torch.Tensor) -> torch.Tensor:
    shape = (len(x), 5, 5, 6)
    pairs = torch.cat([x[:, :, None].expand(shape), x[:, None].expand(shape)], -1)
    messages = torch.tanh(pairs @ torch.from_numpy(EDGE))
    return torch.relu(messages @ torch.from_numpy(LAST)).sum(2)


def of_edges_in_tf(x: tf.Tensor, receiver_first: bool) -> tf.Tensor:
    shape = (len(x), 5, 5, 6)
    receiver, sender = tf.broadcast_to(x[:, :, None], shape), tf.broadcast_to(x[:, None], shape)
    ends = [receiver, sender] if receiver_first else [sender, receiver]
    flat = tf.tanh(tf.reshape(tf.concat(ends, -1), (-1, 12)) @ EDGE)
    messages = tf.nn.relu(tf.reshape(flat, (-1, 5, 5, 6)) @ LAST)
    return tf.reduce_sum(messages, 2)


def test_ends_of_edges_that_are_joined_the_other_way_round() -> None:
    assert not diverging(of_edges, lambda x: of_edges_in_tf(x, True))
    (found,) = diverging(of_edges, lambda x: of_edges_in_tf(x, False))
    assert found.cause is not None and found.cause.confirmed
    assert found.cause.kind == "concat-order" and "tf.concat(ends" in found.candidate.code


# --- a state's value that cancels ----------------------------------------------------------------


def advantage_of_a_choice(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    a = x @ torch.from_numpy(ADVANTAGE)
    q = x @ torch.from_numpy(STATE) + (a - a.mean(-1, keepdim=True))
    taken, best = q[..., 0], torch.where(q > -9, q, -99.0).amax(-1)
    return (taken - best).sum(1), taken.tanh().sum(1), best.sum(1)


def centred_in_tf(x: tf.Tensor, axis: int | None) -> tuple[tf.Tensor, ...]:
    a = x @ ADVANTAGE
    q = x @ STATE + a - tf.reduce_mean(a, axis, keepdims=True)
    taken, best = q[..., 0], tf.reduce_max(tf.where(q > -9, q, -99.0), -1)
    return tf.reduce_sum(taken - best, 1), tf.reduce_sum(tf.tanh(taken), 1), tf.reduce_sum(best, 1)


def test_advantages_that_are_centred_over_all() -> None:
    assert not diverging(advantage_of_a_choice, lambda x: centred_in_tf(x, -1))
    (found,) = diverging(advantage_of_a_choice, lambda x: centred_in_tf(x, None))
    assert found.cause is not None and found.cause.confirmed
    assert found.cause.kind == "dueling-mean-axis"


# --- rows of whole numbers ------------------------------------------------------------------------


def looked_up(ids: torch.Tensor) -> torch.Tensor:
    return torch.tanh(torch.from_numpy(TABLE)[ids + (torch.arange(4) * 9).repeat(3)])


def test_offsets_that_are_repeated_and_not_tiled() -> None:
    def candidate(ids: tf.Tensor) -> tf.Tensor:
        offsets = tf.repeat(tf.range(4, dtype=tf.int64) * 9, 3)
        return tf.tanh(tf.gather(tf.constant(TABLE), ids + offsets))

    (found,) = diverging(looked_up, candidate, IDS)
    assert found.cause is not None and found.cause.kind == "axis-order"
    assert found.cause.parameters == {"rows": ("tiled", "repeated")}


# --- another call of the same layers --------------------------------------------------------------


def test_an_attention_is_not_the_other_one_with_two_faults() -> None:
    """With the mask of the other one; its scores turned as well it would be that one."""
    other = draw.standard_normal((4, 5, 6)).astype("f")
    lengths = np.array([[5, 3, 4, 2], [2, 5, 3, 4]]).T

    def attends(scores: torch.Tensor, values: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        scores = torch.where(seen[:, None], scores, torch.full((), -1e7))
        return torch.softmax(scores, -1) @ values

    def reference(a: torch.Tensor, b: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        seen = [torch.arange(5) < lengths[:, at : at + 1] for at in (0, 1)]
        scores = a @ b.mT
        found = attends(scores, b, seen[1]), attends(scores.mT, a, seen[0])
        return torch.cat([one @ torch.from_numpy(LAST) for one in found], 1)

    def candidate(a: tf.Tensor, b: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
        seen = [tf.range(5, dtype=lengths.dtype) < lengths[:, at : at + 1] for at in (0, 1)]
        scores, found = tf.einsum("bid,bjd->bij", a, b), []
        for turned, values in ((scores, b), (tf.transpose(scores, (0, 2, 1)), a)):
            hidden = tf.where(seen[1][:, None], turned, -1e7)  # of the first, both times
            found.append((tf.nn.softmax(hidden) @ values) @ LAST)
        return tf.concat(found, 1)

    models = (
        parity.wrap(reference, framework="torch"),
        parity.wrap(candidate, framework="tensorflow"),
    )
    (found,) = parity.compare(*models, inputs=(X, other, lengths)).divergences
    assert found.candidate.code.startswith("hidden = tf.where(seen[1]")
    assert found.cause.kind == "wrong-source" and "the result of Less" in found.cause.summary
