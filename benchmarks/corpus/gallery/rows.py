"""The right values at other places: another index, rows that are repeated and not tiled."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

from benchmarks.corpus.gallery._layers import dense
from benchmarks.corpus.gallery.entry import clean, fault, normal, sizes
from benchmarks.corpus.scenarios.pair import Pair, Side


@fault("token-before", "index-value", family="rows")
def token_before(random: np.random.Generator) -> Pair:
    """Actions that are predicted from the return's token, not from the state's."""
    batch, width, hidden, steps, outputs = sizes(random, 5)
    first, out = dense(random, width, hidden), dense(random, hidden, outputs)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(first.in_torch(x)).cumsum(1)
        tokens = h.reshape(batch, steps, 3, hidden)
        state = tokens[:, :, 1]  # token-before: reference
        return out.in_torch(torch.sin(state))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.cumsum(tf.tanh(first.in_tf(x)), 1)
        tokens = tf.reshape(h, (batch, steps, 3, hidden))
        state = tokens[:, :, 0]  # token-before: candidate
        return out.in_tf(tf.sin(state))

    x = normal(random, batch, steps * 3, width)
    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x,))


def _quantiles(random: np.random.Generator, wrong: bool) -> Pair:
    """An image's features beside each of its quantiles' features."""
    batch, width, hidden, count, outputs = sizes(random, 5)
    first, basis = dense(random, width, hidden), dense(random, 1, hidden)
    out = dense(random, hidden, outputs)

    def reference(x: torch.Tensor, taus: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(first.in_torch(x))
        phi = torch.relu(basis.in_torch(taus.reshape(-1, 1)))
        rows = h.repeat_interleave(count, 0)  # features-tiled: reference
        return out.in_torch(rows * phi)

    def candidate(x: tf.Tensor, taus: tf.Tensor) -> tf.Tensor:
        h = tf.tanh(first.in_tf(x))
        phi = tf.nn.relu(basis.in_tf(tf.reshape(taus, (-1, 1))))
        if wrong:
            rows = tf.tile(h, (count, 1))  # features-tiled: candidate
        else:
            rows = tf.repeat(h, count, 0)
        return out.in_tf(rows * phi)  # features-tiled: candidate

    x, taus = normal(random, batch, width), random.uniform(0, 1, (batch, count)).astype("f")
    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x, taus))


@fault(
    *("features-tiled", "axis-order"),
    family="rows",
    parameters=[{"rows": ("repeated", "tiled")}],
)
def features_tiled(random: np.random.Generator) -> Pair:
    return _quantiles(random, wrong=True)


@clean("features-repeated", family="rows")
def features_repeated(random: np.random.Generator) -> Pair:
    return _quantiles(random, wrong=False)


@fault(
    *("agents-in-turn", "axis-order"),
    family="rows",
    parameters=[{"rows": ("tiled", "repeated")}],
)
def agents_in_turn(random: np.random.Generator) -> Pair:
    """Ids of agents that are joined to observations, agent by agent and not sample by sample."""
    batch, width, agents, outputs = sizes(random, 4)
    out, each = dense(random, width + agents, outputs), np.eye(agents, dtype=np.float32)

    def reference(x: torch.Tensor) -> torch.Tensor:
        ids = torch.from_numpy(each).expand(batch, agents, agents)
        whole = torch.cat([torch.tanh(x), ids], -1)
        rows = whole.reshape(batch * agents, -1)  # agents-in-turn: reference
        return torch.sin(out.in_torch(rows))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        ids = each[np.repeat(np.arange(agents), batch)]
        rows = tf.reshape(tf.tanh(x), (batch * agents, width))
        whole = tf.concat([rows, ids], -1)  # agents-in-turn: candidate
        return tf.sin(out.in_tf(whole))

    x = normal(random, batch, agents, width)
    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x,))


@fault(
    *("distances-of-the-other-sign", "axis-order"),
    family="rows",
    parameters=[{"axes": ((1, 2), (2, 1))}],
)
def distances_of_the_other_sign(random: np.random.Generator) -> Pair:
    """A bias that is looked up by the distance of two steps, the query's from the key's."""
    batch, width, steps, heads = sizes(random, 4)
    first, out = dense(random, width, heads), dense(random, heads, width)
    table = normal(random, 2 * steps, heads)
    apart = np.arange(steps)[None, :] - np.arange(steps)[:, None] + steps

    def reference(x: torch.Tensor) -> torch.Tensor:
        bias = torch.from_numpy(table)[torch.from_numpy(apart)].permute(2, 0, 1)
        h = first.in_torch(x).mT[..., None]
        scores = torch.sin(h) + bias  # distances-of-the-other-sign: reference
        return out.in_torch(torch.softmax(scores, -1)[..., 0].mT)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        bias = tf.transpose(tf.gather(table, 2 * steps - apart), (2, 0, 1))
        h = tf.linalg.matrix_transpose(first.in_tf(x))[..., None]
        scores = tf.sin(h) + bias  # distances-of-the-other-sign: candidate
        weights = tf.nn.softmax(scores, -1)[..., 0]
        return out.in_tf(tf.linalg.matrix_transpose(weights))

    x = normal(random, batch, steps, width)
    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x,))
