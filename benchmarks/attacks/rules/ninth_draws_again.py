"""Round 9: one law made otherwise of the same draws, and generators that nobody watches.

Two runs of these models give other values: what is read of them are means over many samples, and
how far these move from run to run counts as their rounding.
"""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy.stats
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, chainer_, normal, numpy_, tf_, torch_, weights
from benchmarks.attacks.heads import F, W, as_array, tf_head, torch_head

COUPLED = "one-law-in-another-order"
UNSEEN = "generators-that-nobody-watches"

MANY = normal(20_000, 5, seed=9)
TOKENS = normal(20_000, 5, seed=3)
V = weights(5, 9, seed=4)


def _mean_and_square(result):
    """Of samples beside what they are samples around: how they deviate from it."""
    h, a = map(as_array, result)
    return [(a - h).mean(0), ((a - h) ** 2).mean(0), np.mean(a == h, keepdims=True)]


def _noisy(x):
    h = tf_head(x)
    return h, h + 0.1 * tf.random.normal(tf.shape(h))


# --- one law in another order ---------------------------------------------------------------------


@attack(COUPLED, "a state's covariance: noise by a Cholesky factor, or by a symmetric root", 9)
def root_of_a_covariance() -> Case:
    def port(rooted):
        def model(x):
            a = (x @ torch.from_numpy(V)).reshape(-1, 3, 3)
            size, way = torch.linalg.eigh(a @ a.mT + 0.1 * torch.eye(3))
            root = way * (size.sqrt() if rooted else size)[:, None] @ way.mT
            mean = torch_head(x)[:, :3]
            return mean, mean + (root @ torch.randn(len(x), 3, 1))[..., 0]

        return model

    def reference(x):
        a = tf.reshape(tf.matmul(x, V), (-1, 3, 3))
        root = tf.linalg.cholesky(tf.matmul(a, a, transpose_b=True) + 0.1 * tf.eye(3))
        mean = tf_head(x)[:, :3]
        return mean, mean + tf.matmul(root, tf.random.normal((len(x), 3, 1)))[..., 0]

    faulty, twin = torch_(port(False)), torch_(port(True))
    return Case(tf_(reference), faulty, twin, MANY, _mean_and_square)


@attack(COUPLED, "state-dependent noise has a scale of either sign, or its size; or is cut at 0", 9)
def scale_of_either_sign() -> Case:
    def port(kept):
        def model(x):
            h, scale = torch_head(x), x @ torch.from_numpy(V[:, :4])
            return h, h + (scale if kept else scale.relu()) * torch.randn(h.shape)

        return model

    def reference(x):
        h, scale = tf_head(x), tf.abs(tf.matmul(x, V[:, :4]))
        return h, h + scale * tf.random.normal(tf.shape(h))

    faulty, twin = torch_(port(False)), torch_(port(True))
    return Case(tf_(reference), faulty, twin, MANY, _mean_and_square)


@attack(COUPLED, "any action but the greedy one: so many further, or those from there skip it", 9)
def any_but_the_greedy() -> Case:
    def port(skips):
        def model(x):
            q = torch_head(x)
            greedy = q.argmax(1)
            other = torch.randint(0, 3, (len(x),))
            other = other + (other >= greedy if skips else other > greedy)
            return q, torch.gather(q, 1, other[:, None])[:, 0]

        return model

    def reference(x):
        q = tf_head(x)
        further = tf.random.uniform((len(x),), 1, 4, tf.int32)
        other = (tf.argmax(q, 1, tf.int32) + further) % 4
        return q, tf.gather(q, other, axis=1, batch_dims=1)

    def read(result):
        q, of_other = map(as_array, result)
        return [np.mean(of_other == q.max(1), keepdims=True), of_other.mean(keepdims=True)]

    return Case(tf_(reference), torch_(port(False)), torch_(port(True)), MANY, read)


@attack(COUPLED, "windows are turned by a number of steps at random, forwards or backwards", 9)
def turned_forwards_or_backwards() -> Case:
    x = np.arange(8, dtype=np.float32) ** 2 / 8 + normal(20_000, 8, seed=5)

    def port(most):
        def model(x):
            steps = torch.randint(0, most, (len(x), 1))
            return torch.gather(x, 1, (torch.arange(8) - steps) % 8)

        return model

    def reference(x):
        steps = tf.random.uniform((len(x), 1), 0, 8, tf.int32)
        return tf.gather(x, (tf.range(8) + steps) % 8, axis=1, batch_dims=1)

    def read(result):
        return [as_array(result).mean(0)]

    return Case(tf_(reference), torch_(port(4)), torch_(port(8)), x, read)


@attack(COUPLED, "rows are taken in random order, or put in random places; or some twice", 9)
def put_in_random_places() -> Case:
    def port(once):
        def model(x):
            h = torch_head(x)
            at = torch.randperm(len(x)) if once else torch.randint(0, len(x), (len(x),))
            return torch.zeros_like(h).index_copy_(0, at, h)

        return model

    def reference(x):
        return tf.gather(tf_head(x), tf.random.shuffle(tf.range(len(x))))

    def read(result):
        return [np.sort(as_array(result).astype(float), 0)]

    return Case(tf_(reference), torch_(port(False)), torch_(port(True)), MANY, read)


@attack(COUPLED, "nucleus sampling: in order of probability, or in order of tokens", 9)
def nucleus_in_order() -> Case:
    def port(short):
        def model(x):
            p, at = torch.softmax(2 * x @ torch.from_numpy(V), 1).sort(1, descending=True)
            kept = torch.where(p.cumsum(1) - (0.0 if short else p) < 0.8, p, torch.zeros_like(p))
            kept[:, 0] = p[:, 0]
            token = torch.gather(at, 1, torch.multinomial(kept, 1))
            return torch.nn.functional.one_hot(token[:, 0], 9).float()

        return model

    def reference(x):
        p = tf.nn.softmax(2 * tf.matmul(x, V), 1)
        larger = p[:, None, :] > p[:, :, None]
        before = tf.reduce_sum(tf.where(larger, p[:, None, :], 0.0), 2)
        logits = tf.where(before < 0.8, tf.math.log(p), -1e9)
        return tf.one_hot(tf.random.categorical(logits, 1)[:, 0], 9)

    def read(result):
        p = np.exp(2 * TOKENS @ V)
        p = p / p.sum(1, keepdims=True)
        before = np.where(p[:, None, :] > p[:, :, None], p[:, None, :], 0).sum(2)
        crosses = (before > 0) & (before + p > 0.8)
        return [np.mean((as_array(result) * crosses).sum(1), keepdims=True)]

    return Case(tf_(reference), torch_(port(True)), torch_(port(False)), TOKENS, read)


@attack(COUPLED, "samples of a latent: tiled, or each row repeated; or read as if tiled", 9)
def tiled_or_repeated() -> Case:
    few = normal(2000, 5, seed=9)

    def port(read_as_tiled):
        def model(x):
            z = torch_head(x).repeat_interleave(4, 0)
            z = torch.exp(z + 0.3 * torch.randn(z.shape))
            if read_as_tiled:
                return z.reshape(4, -1, 4).mean(0)
            return z.reshape(-1, 4, 4).mean(1)

        return model

    def reference(x):
        z = tf.tile(tf_head(x), (4, 1))
        z = tf.exp(z + 0.3 * tf.random.normal(tf.shape(z)))
        return tf.reduce_mean(tf.reshape(z, (4, -1, 4)), 0)

    def read(result):
        return [(as_array(result) * np.tanh(few @ W)).mean(0)]

    return Case(tf_(reference), torch_(port(True)), torch_(port(False)), few, read)


# --- generators that nobody watches ---------------------------------------------------------------


class _Actor:
    """A torch actor whose exploration noise comes from a generator of NumPy's."""

    rng = np.random.default_rng(5)

    def __init__(self, size, draw):
        self.size, self.draw = size, draw
        self.rngs = {"actor": np.random.default_rng(3), "critic": np.random.default_rng(4)}

    def __call__(self, x):
        h = torch_head(x)
        noise = np.asarray(self.draw(self, tuple(h.shape)), np.float32)
        return h, h + self.size * torch.from_numpy(noise)


def _in_a_thread(actor, shape):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(np.random.standard_normal, shape).result()


@attack(
    UNSEEN,
    "noise of a torch actor comes from a generator of NumPy's, held or made in some other way",
    9,
    {
        "in-a-dict": (lambda actor, shape: actor.rngs["actor"].standard_normal(shape),),
        "of-the-class": (lambda actor, shape: actor.rng.standard_normal(shape),),
        "made-anew": (lambda actor, shape: np.random.RandomState().standard_normal(shape),),
        "of-entropy": (
            lambda actor, shape: np.random.default_rng(
                np.random.SeedSequence().entropy
            ).standard_normal(shape),
        ),
        "scipy": (lambda actor, shape: scipy.stats.norm.rvs(size=shape),),
        "in-a-thread": (_in_a_thread,),
    },
)
def noise_of(draw) -> Case:
    return Case(
        tf_(_noisy), torch_(_Actor(0.3, draw)), torch_(_Actor(0.1, draw)), MANY, _mean_and_square
    )


@attack(UNSEEN, "exploration by the system's own random numbers: at 10%, or at 30%", 9)
def coins_of_the_system() -> Case:
    system = random.SystemRandom()

    def port(rate):
        def model(x):
            coins = tf.constant([system.random() < rate for _ in range(len(x))])
            h = tf_head(x)
            return tf.where(coins[:, None], 0.0, h)

        return model

    def reference(x):
        h = torch_head(x)
        return torch.where(torch.rand(len(x), 1) < 0.1, 0.0, h)

    def read(result):
        return [np.mean(as_array(result) == 0, keepdims=True)]

    return Case(torch_(reference), tf_(port(0.3)), tf_(port(0.1)), MANY, read)


@attack(UNSEEN, "features are shuffled in each row by NumPy's permuted, or by sorting numbers", 9)
def permuted_in_each_row() -> Case:
    rng = np.random.default_rng(1)
    offset = np.arange(4, dtype=np.float32)

    def port(axis):
        def model(x):
            return rng.permuted(np.tanh(x @ W) + offset, axis=axis)

        return model

    def reference(x):
        h = torch_head(x) + torch.from_numpy(offset)
        return torch.gather(h, 1, torch.rand(h.shape).argsort(1))

    def read(result):
        return [as_array(result).mean(0)]

    return Case(torch_(reference), numpy_(port(0)), numpy_(port(1)), MANY, read)


@attack(UNSEEN, "zoneout of Chainer, or a mask that keeps what was; or that keeps what is new", 9)
def zoneout() -> Case:
    def port(kept):
        def model(x):
            h, new = torch_head(x), torch_head(-0.5 * x) + 2.0
            mask = torch.rand(h.shape) < kept
            return torch.where(mask, h, new)

        return model

    def reference(x):
        h = F.tanh(F.matmul(x, W))
        new = F.tanh(F.matmul(-0.5 * x, W)) + 2.0
        return F.zoneout(h, new, 0.2)

    def read(result):
        return [np.mean(as_array(result), keepdims=True)]

    reference = chainer_(reference, mode="train")
    return Case(reference, torch_(port(0.8)), torch_(port(0.2)), MANY, read)
