"""Another formula of the same values, which no cause with a narrower name describes."""

from __future__ import annotations

from typing import Any

import chainer.functions as F
import keras
import numpy as np
import tensorflow as tf
import torch

from benchmarks.corpus.gallery._layers import dense
from benchmarks.corpus.gallery.entry import fault, normal, sizes
from benchmarks.corpus.scenarios.pair import Pair, Side


@fault("centres-not-weighed", "different-formula", family="formulas")
def centres_not_weighed(random: np.random.Generator) -> Pair:
    """Residuals to centres: each centre counts as often as it is assigned."""
    batch, places, width, centres = sizes(random, 4)
    assign, out = dense(random, width, centres), dense(random, centres * width, 3)
    centre = normal(random, centres, width)

    def reference(x: tf.Tensor) -> tf.Tensor:
        near = tf.nn.softmax(assign.in_tf(x))
        mass = tf.reduce_sum(near, 1)[..., None]
        summed = tf.einsum("bnk,bnd->bkd", near, x)
        apart = summed - mass * centre  # centres-not-weighed: reference
        return out.in_tf(tf.reshape(apart, (len(x), -1)))

    def candidate(x: torch.Tensor) -> torch.Tensor:
        near = torch.softmax(assign.in_torch(x), -1)
        summed = torch.einsum("bnk,bnd->bkd", near, x)
        apart = summed - torch.from_numpy(centre)  # centres-not-weighed: candidate
        return out.in_torch(apart.flatten(1))

    x = normal(random, batch, places, width)
    return Pair(Side("tensorflow", reference), Side("torch", candidate), (x,))


@fault("scores-normalised", "different-formula", family="formulas")
def scores_normalised(random: np.random.Generator) -> Pair:
    """A mean over the steps that are there, weighed by scores that are no probabilities."""
    batch, steps, width, hidden = sizes(random, 4)
    first, second = dense(random, width, hidden), dense(random, hidden, 1)
    out = dense(random, width, 3)

    def reference(x: Any, there: Any) -> Any:
        flat = F.reshape(x, (-1, width))
        score = F.reshape(second.in_chainer(F.tanh(first.in_chainer(flat))), (-1, steps, 1))
        score = score * there  # scores-normalised: reference
        return out.in_chainer(F.sum(F.broadcast_to(score, x.shape) * x, 1))

    def candidate(x: torch.Tensor, there: torch.Tensor) -> torch.Tensor:
        score = second.in_torch(torch.tanh(first.in_torch(x)))
        known = torch.where(there > 0, score, -1e9)
        score = torch.softmax(known, 1)  # scores-normalised: candidate
        return out.in_torch((score * x).sum(1))

    x = normal(random, batch, steps, width)
    there = (np.arange(steps) < random.integers(2, steps, batch)[:, None]).astype("f")[..., None]
    return Pair(Side("chainer", reference), Side("torch", candidate), (x, there))


@fault("neighbours-without-itself", "different-formula", family="formulas")
def neighbours_without_itself(random: np.random.Generator) -> Pair:
    """The nearest points of each, one of which is the point itself."""
    batch, points, width, hidden = sizes(random, 4)
    first, out = dense(random, width, hidden), dense(random, hidden, 3)
    near = max(2, points // 2)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(first.in_torch(x))
        apart = (h[:, :, None] - h[:, None]).square().sum(-1)
        index = (-apart).topk(near)[1]  # neighbours-without-itself: reference
        rows = torch.arange(len(x))[:, None, None]
        return out.in_torch(h[rows, index].amax(2))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.tanh(first.in_tf(x))
        apart = keras.ops.sum(tf.square(h[:, :, None] - h[:, None]), -1)
        index = tf.math.top_k(-apart, near + 1)[1][..., 1:]  # neighbours-without-itself: candidate
        return out.in_tf(tf.reduce_max(tf.gather(h, index, batch_dims=1), 2))

    x = normal(random, batch, points, width)
    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x,))
