"""Means and their divisors, statistics around zero, and several reductions that are wrong alike."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

from benchmarks.corpus.gallery._layers import dense
from benchmarks.corpus.gallery.entry import clean, fault, normal, sizes
from benchmarks.corpus.scenarios.pair import Pair, Side


def _padded_sets(random: np.random.Generator, counts_all: bool) -> Pair:
    """A mean of sets of which some elements are padding, and zero before the sum."""
    batch, elements, features, hidden, outputs = sizes(random, 5)
    first, second = dense(random, features, hidden), dense(random, hidden, outputs)
    real = np.arange(elements) < random.integers(1, elements, (batch, 1))
    real[0] = np.arange(elements) < 2  # one at least is padded

    def reference(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        h = torch.relu(first.in_torch(x)) * mask[..., None]
        count = mask.sum(1, keepdim=True).clamp(min=1)  # padding-counted-in-a-mean: reference
        return second.in_torch(h.sum(1) / count)  # padding-counted-in-a-mean: reference

    def candidate(x: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(first.in_tf(x)) * mask[..., None]
        mean = tf.reduce_mean(h, 1)  # padding-counted-in-a-mean: candidate
        if not counts_all:
            mean = tf.reduce_sum(h, 1) / tf.reduce_sum(mask, 1, keepdims=True)
        return second.in_tf(mean)

    inputs = normal(random, batch, elements, features), real.astype(np.float32)
    return Pair(Side("torch", reference), Side("tensorflow", candidate), inputs)


@fault("padding-counted-in-a-mean", "mean-divisor", family="reduction")
def padding_counted_in_a_mean(random: np.random.Generator) -> Pair:
    return _padded_sets(random, counts_all=True)


@clean("mean-of-what-is-no-padding", family="reduction")
def mean_of_what_is_no_padding(random: np.random.Generator) -> Pair:
    return _padded_sets(random, counts_all=False)
