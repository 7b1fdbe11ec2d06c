"""Other values and other rows are read: as another side lays them, by an index, in every turn."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
import torch

from benchmarks.corpus.gallery._layers import dense
from benchmarks.corpus.gallery.entry import clean, fault, normal, sizes
from benchmarks.corpus.scenarios.pair import Pair, Side, chainer

F = chainer.functions


@fault("residual-of-the-norm", "wrong-source", family="wiring")
def residual_of_the_norm(random: np.random.Generator) -> Pair:
    """Tokens are mixed in a transposed norm's result, which is added in place of what it takes."""
    batch, tokens, features, outputs = sizes(random, 4)
    first, mix = dense(random, features, features), dense(random, tokens, tokens)
    out = dense(random, features, outputs)

    def reference(x: torch.Tensor) -> torch.Tensor:
        x = first.in_torch(x)
        y = torch.nn.functional.layer_norm(x, (features,)).transpose(1, 2)
        y = torch.tanh(mix.in_torch(y)).transpose(1, 2)
        return out.in_torch(torch.relu(x + y))  # residual-of-the-norm: reference

    def candidate(x: tf.Tensor) -> tf.Tensor:
        x = first.in_tf(x)
        mean, variance = tf.nn.moments(x, -1, keepdims=True)
        x = tf.transpose((x - mean) * tf.math.rsqrt(variance + 1e-5), (0, 2, 1))
        x = x + tf.tanh(mix.in_tf(x))  # residual-of-the-norm: candidate
        return out.in_tf(tf.nn.relu(tf.transpose(x, (0, 2, 1))))

    x = normal(random, batch, tokens, features)
    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x,))


def _quantile_loss(random: np.random.Generator, wrong: bool) -> Pair:
    """The candidate's mask of errors below zero is NumPy's."""
    batch, width, steps = sizes(random, 3)
    first = dense(random, width, steps)

    def reference(x: torch.Tensor, taus: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        error = target[:, None, :] - first.in_torch(x)[:, :, None]
        weight = taus[:, :, None] - (error < 0).float()  # taus-of-the-targets: reference
        weight = weight.abs()
        return (weight * error**2).sum(1).mean(1)

    def candidate(x: Any, taus: Any, target: Any) -> Any:
        error = target[:, None, :] - F.expand_dims(first.in_chainer(x), 2)
        error = F.reshape(error, (batch, steps, steps))
        below = (error.array < 0).astype(np.float32)
        taus = F.broadcast_to(F.expand_dims(taus, 1 if wrong else 2), error.shape)
        weight = F.absolute(taus - below)  # taus-of-the-targets: candidate
        return F.mean(F.sum(weight * error**2, axis=1), axis=1)

    taus = random.uniform(0.0, 1.0, (batch, steps)).astype(np.float32)
    inputs = normal(random, batch, width), taus, normal(random, batch, steps)
    return Pair(Side("torch", reference), Side("chainer", candidate), inputs)


@fault("taus-of-the-targets", "broadcast-axis", family="rewired")
def taus_of_the_targets(random: np.random.Generator) -> Pair:
    return _quantile_loss(random, wrong=True)


@clean("mask-of-the-host", family="rewired")
def mask_of_the_host(random: np.random.Generator) -> Pair:
    return _quantile_loss(random, wrong=False)


@fault("ids-without-offsets", "wrong-source", family="indices")
def ids_without_offsets(random: np.random.Generator) -> Pair:
    """One table for several fields of ids, of which the second reader forgets where each begins."""
    batch, fields, width, outputs, rows = sizes(random, 5)
    table, bias = normal(random, fields * rows, width), normal(random, fields * rows, outputs)
    starts, out = rows * np.arange(fields), dense(random, width, outputs)

    def reference(ids: tf.Tensor) -> tf.Tensor:
        ids = ids + starts
        deep = tf.tanh(tf.reduce_sum(tf.gather(table, ids), 1))
        wide = tf.reduce_sum(tf.gather(bias, ids), 1)  # ids-without-offsets: reference
        return out.in_tf(deep) + wide

    def candidate(ids: torch.Tensor) -> torch.Tensor:
        found = ids + torch.from_numpy(starts)
        deep = torch.tanh(torch.from_numpy(table)[found].sum(1))
        wide = torch.from_numpy(bias)[ids].sum(1)  # ids-without-offsets: candidate
        return out.in_torch(deep) + wide

    ids = random.integers(0, rows, (batch, fields))
    return Pair(Side("tensorflow", reference), Side("torch", candidate), (ids,))


def _edges(random: np.random.Generator, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Edges to every node, from others."""
    receivers = random.permutation(np.repeat(np.arange(nodes), 2))
    return (receivers + random.integers(1, nodes, receivers.size)) % nodes, receivers


@fault("summed-at-their-senders", "wrong-source", family="indices")
def summed_at_their_senders(random: np.random.Generator) -> Pair:
    """Messages between the nodes of a graph, summed where they come from."""
    batch, nodes, width, hidden, outputs = sizes(random, 5)
    first, out = dense(random, width, hidden), dense(random, hidden, outputs)
    senders, receivers = _edges(random, nodes)

    def reference(x: torch.Tensor) -> torch.Tensor:
        sent = torch.tanh(first.in_torch(x[:, torch.from_numpy(senders)]))
        to, shape = torch.from_numpy(receivers), (batch, nodes, hidden)
        summed = x.new_zeros(shape).index_add(1, to, sent)  # summed-at-their-senders: reference
        return out.in_torch(torch.relu(summed))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        sent = tf.tanh(first.in_tf(tf.gather(x, senders, axis=1)))
        sent = tf.transpose(sent, (1, 0, 2))
        summed = tf.math.unsorted_segment_sum(  # summed-at-their-senders: candidate
            sent, senders, nodes
        )
        return out.in_tf(tf.nn.relu(tf.transpose(summed, (1, 0, 2))))

    x = normal(random, batch, nodes, width)
    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x,))


@fault("divergence-the-other-way-round", "wrong-source", family="repeated")
def divergence_the_other_way_round(random: np.random.Generator) -> Pair:
    """KL(prior, posterior) in place of KL(posterior, prior), at every step of a sequence."""
    batch, steps, width, state = sizes(random, 4)
    layers = [dense(random, width, state) for _ in range(4)]

    def reference(x: tf.Tensor) -> tf.Tensor:
        found = []
        for t in range(steps):
            pm, ps, qm, qs = (layer.in_tf(x[:, t]) for layer in layers)
            ps, qs = tf.nn.softplus(ps) + 0.1, tf.nn.softplus(qs) + 0.1
            ratio = tf.math.log(qs / ps)  # divergence-the-other-way-round: reference
            found.append(ratio + (ps**2 + (pm - qm) ** 2) / (2 * qs**2) - 0.5)
        return tf.reduce_sum(tf.stack(found, 1), -1)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        states = []
        for at in x.unbind(1):
            a, b, c, d = (layer.in_torch(at) for layer in layers)
            b, d = (torch.nn.functional.softplus(one) + 0.1 for one in (b, d))
            states.append(torch.stack([a, b, c, d]))
        pm, ps, qm, qs = torch.stack(states, 2)
        p, q = torch.distributions.Normal(pm, ps), torch.distributions.Normal(qm, qs)
        found = torch.distributions.kl_divergence(q, p)  # divergence-the-other-way-round: candidate
        return found.sum(-1)

    x = normal(random, batch, steps, width)
    return Pair(Side("tensorflow", reference), Side("torch", candidate), (x,))


@fault("gates-of-the-first-round", "wrong-source", family="repeated")
def gates_of_the_first_round(random: np.random.Generator) -> Pair:
    """What a gated update reads is computed once, and not in every round."""
    batch, width, hidden, outputs = sizes(random, 4)
    first, out = dense(random, width, hidden), dense(random, hidden, outputs)
    inner, state = dense(random, hidden, 2 * hidden), dense(random, hidden, 2 * hidden)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(first.in_torch(x))
        for _ in range(3):
            read = inner.in_torch(h.flip(0))  # gates-of-the-first-round: reference
            (a, b), (c, d) = read.chunk(2, 1), state.in_torch(h).chunk(2, 1)
            gate = torch.sigmoid(a + c)
            h = gate * h + (1 - gate) * torch.tanh(b * d)
        return out.in_torch(h)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.tanh(first.in_tf(x))
        a, b = tf.split(inner.in_tf(tf.reverse(h, [0])), 2, 1)
        for _ in range(3):
            c, d = tf.split(state.in_tf(h), 2, 1)
            gate = tf.sigmoid(a + c)  # gates-of-the-first-round: candidate
            h = gate * h + (1 - gate) * tf.tanh(b * d)
        return out.in_tf(h)

    x = normal(random, batch, width)
    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x,))


@fault(
    "blocks-in-parallel",
    "wrong-source",
    family="repeated",
    also={"wrong-source": ("branch-missing",)},  # the sum that it reads is missing on the way
)
def blocks_in_parallel(random: np.random.Generator) -> Pair:
    """The second half of each block reads what the first half reads, not what that gives."""
    batch, width, outputs = sizes(random, 3)
    blocks = [(dense(random, width, width), dense(random, width, width)) for _ in range(2)]
    out = dense(random, width, outputs)

    def reference(x: torch.Tensor) -> torch.Tensor:
        for first, second in blocks:
            x = x + torch.relu(first.in_torch(torch.sin(x)))  # blocks-in-parallel: reference
            x = x + torch.tanh(second.in_torch(torch.sin(x)))
        return out.in_torch(x)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        for first, second in blocks:
            y = tf.sin(x)
            b = tf.tanh(tf.matmul(y, second.weight) + second.bias)  # blocks-in-parallel: candidate
            x = x + (tf.nn.relu(first.in_tf(y)) + b)
        return out.in_tf(x)

    x = normal(random, batch, width)
    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x,))


@fault("last-block-for-the-skips", "wrong-source", family="wiring")
def last_block_for_the_skips(random: np.random.Generator) -> Pair:
    """The end reads the blocks' last result, where the reference adds up what each has besides."""
    batch, width, outputs = sizes(random, 3)
    blocks = [(dense(random, width, width), dense(random, width, width)) for _ in range(6)]
    out = dense(random, width, outputs)

    def reference(x: torch.Tensor) -> torch.Tensor:
        total = torch.zeros(())
        for block, skip in blocks:
            y = torch.tanh(block.in_torch(x))
            x, total = x + y, total + skip.in_torch(y)  # last-block-for-the-skips: reference
        return torch.stack([out.in_torch(torch.relu(total)), out.in_torch(x)])

    def candidate(x: tf.Tensor) -> tf.Tensor:
        skips = []
        for block, skip in blocks:
            y = tf.tanh(block.in_tf(x))
            x = x + y
            skips.append(skip.in_tf(y))
        end = tf.nn.relu(x)  # last-block-for-the-skips: candidate
        return tf.stack([out.in_tf(end), out.in_tf(x)])

    x = normal(random, batch, width)
    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x,))
