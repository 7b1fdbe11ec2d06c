"""Round 8: what is made of random draws that a few samples, or samples of one shape, do not show.

Two runs of these models give other values: what is read of them are their ends, shares and means
over many samples, and how far these move from run to run counts as their rounding.
"""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, chainer_, normal, numpy_, tf_, torch_
from benchmarks.attacks.heads import F, W, X, tf_head, torch_head

RARE = "rare-among-draws"
BESIDE = "draws-beside-what-is-large"
NOT_REDRAWN = "draws-never-drawn-anew"
COARSE = "coarse-draws"
SHAPED = "shapes-by-draws"
LAWS = "one-law-written-otherwise"

MANY = normal(100_000, 5, seed=8)


def _least_and_largest(result):
    """The ends of all that was drawn, which for many samples are those of the law."""
    array = np.asarray(result.detach() if hasattr(result, "detach") else result)
    return [array.min(keepdims=True), array.max(keepdims=True)]


# --- what seldom happens --------------------------------------------------------------------------


@attack(RARE, "TD3's smoothing noise is clipped at 3.5 deviations, or not at all", 8)
def smoothing_noise() -> Case:
    def port(clip):
        def model(x):
            noise = torch.clamp(0.1 * torch.randn(len(x), 4), -clip, clip)
            return (0.0 * torch_head(x) + noise, torch_head(x))

        return model

    def reference(x):
        h = tf_head(x)
        noise = tf.clip_by_value(0.1 * tf.random.normal(tf.shape(h)), -0.35, 0.35)
        return 0.0 * h + noise, h

    def read(result):
        return _least_and_largest(result[0])

    return Case(tf_(reference), torch_(port(1.0)), torch_(port(0.35)), X, read, elsewhere=MANY)


@attack(RARE, "a policy's log deviation is exp'd, and its action clipped at 3.6 of them or at 4", 8)
def action_bound() -> Case:
    def port(bound):
        def model(x):
            noise = torch.randn(len(x), 4)
            return 0.0 * torch_head(x) + torch.clamp(noise, -bound, bound)

        return model

    def reference(x):
        return 0.0 * F.tanh(F.matmul(x, W)) + F.clip(
            np.random.standard_normal((len(x), 4)).astype(np.float32), -3.6, 3.6
        )

    def read(result):
        return _least_and_largest(getattr(result, "array", result))

    return Case(chainer_(reference), torch_(port(4.0)), torch_(port(3.6)), X, read, elsewhere=MANY)


@attack(BESIDE, "actions come in one array with a clock; their noise is clipped, or is not", 8)
def noise_beside_a_clock() -> Case:
    clock = np.array([1.7e9, 1.0, 1.0, 1.0, 1.0], np.float32)

    def port(clip):
        def model(x):
            noise = torch.clamp(torch.randn(len(x), 2), -clip, clip)
            return torch.cat(
                [x[:, :1], 0.1 * torch_head(x / torch.from_numpy(clock))[:, 1:2] + noise], 1
            )

        return model

    def reference(x):
        noise = tf.clip_by_value(tf.random.normal((len(x), 2)), -3.0, 3.0)
        return tf.concat([x[:, :1], 0.1 * tf_head(x / clock)[:, 1:2] + noise], 1)

    def read(result):
        return [np.abs(np.asarray(result)[:, 1:]).max(keepdims=True) > 3.6]

    x = clock * np.abs(1 + 0.1 * X)
    many = (clock * np.abs(1 + 0.1 * MANY)).astype(np.float32)
    torch.manual_seed(1)
    faulty, twin = torch_(port(9.0)), torch_(port(3.0))
    return Case(tf_(reference), faulty, twin, x, read, elsewhere=many)


@attack(BESIDE, "noise is clipped or not, beside a large table: two more samples are drawn", 8)
def noise_beside_a_large_table() -> Case:
    table = normal(5, 600_000, seed=3)

    def port(clip):
        def model(x):
            w = torch.from_numpy(table)
            w = w / torch.linalg.vector_norm(w, dim=0)
            h = torch.tanh(x @ w[:, :2])
            return h, h + torch.clamp(0.2 * torch.randn(h.shape), -clip, clip)

        return model

    def reference(x):
        w = table / tf.norm(tf.constant(table), axis=0)
        h = tf.tanh(tf.matmul(x, w[:, :2]))
        return h, h + tf.clip_by_value(0.2 * tf.random.normal(tf.shape(h)), -0.5, 0.5)

    def read(result):
        return [np.abs(np.asarray(result[1]) - np.asarray(result[0])).max(keepdims=True) > 0.7]

    torch.manual_seed(1)
    return Case(tf_(reference), torch_(port(9.0)), torch_(port(0.5)), X, read, elsewhere=MANY)


# --- draws of kernels of their own ----------------------------------------------------------------


@attack(
    NOT_REDRAWN,
    "a Beta policy made of two gammas: its action is kept off the ends by 0.03, or by 1e-3",
    8,
)
def beta_policy() -> Case:
    def policy(off):
        def model(x):
            alpha = 2 + torch.nn.functional.softplus(x @ torch.from_numpy(W))
            a = torch._standard_gamma(alpha)
            b = torch._standard_gamma(alpha + 0.5)
            return torch.clamp(a / (a + b), off, 1 - off)

        return model

    reference, faulty, twin = (torch_(policy(off)) for off in (0.03, 1e-3, 0.03))
    return Case(reference, faulty, twin, X, _least_and_largest, elsewhere=MANY)


@attack(NOT_REDRAWN, "arrivals by Poisson's law: a queue holds 4 of them, or as many as come", 8)
def arrivals_in_a_queue() -> Case:
    def queue(size):
        def model(x):
            rate = torch.sigmoid(x @ torch.from_numpy(W))
            return torch.clamp(torch.poisson(rate), max=size), rate

        return model

    def read(result):
        return _least_and_largest(result[0])

    torch.manual_seed(4)
    reference, faulty, twin = (torch_(queue(size)) for size in (4.0, 9.0, 4.0))
    return Case(reference, faulty, twin, X, read, elsewhere=MANY)


@attack(NOT_REDRAWN, "heavy-tailed noise by log-normal draws is cut at 12, or at 50", 8)
def log_normal_noise() -> Case:
    def noise(cut):
        def model(x):
            h = torch_head(x)
            return torch.clamp(torch.empty_like(h).log_normal_(0.0, 1.0), max=cut) + 0.0 * h

        return model

    reference, faulty, twin = (torch_(noise(cut)) for cut in (12.0, 50.0, 12.0))
    return Case(reference, faulty, twin, X, _least_and_largest, elsewhere=MANY)


# --- draws of few bits ----------------------------------------------------------------------------


@attack(COARSE, "Gumbel noise is made of numbers in bfloat16, which are at most 0.996", 8)
def gumbel_of_bfloat16() -> Case:
    def port(kind):
        def model(x):
            u = torch.rand(len(x), 4, dtype=kind).float().clamp(1e-6, 1 - 1e-6)
            return torch_head(x) * 0.0 - torch.log(-torch.log(u))

        return model

    def reference(x):
        u = tf.clip_by_value(tf.random.uniform((len(x), 4)), 1e-6, 1 - 1e-6)
        return tf_head(x) * 0.0 - tf.math.log(-tf.math.log(u))

    def read(result):
        array = np.asarray(result)
        return [np.array([len(np.unique(array)) > 10_000], np.float32)]

    faulty, twin = torch_(port(torch.bfloat16)), torch_(port(torch.float32))
    return Case(tf_(reference), faulty, twin, X, read, elsewhere=MANY)


@attack(
    COARSE, "dropout's uniform numbers are in half precision: at a rate of 0.002 it is double", 8
)
def dropout_of_bfloat16() -> Case:
    def port(kind):
        def model(x):
            u = torch.rand(len(x), 4, dtype=kind)
            return torch_head(x) * 0.0 + (u.float() >= 0.002).float() / 0.998

        return model

    def reference(x):
        u = tf.random.uniform((len(x), 4))
        return tf_head(x) * 0.0 + tf.cast(u >= 0.002, tf.float32) / 0.998

    def read(result):
        return [np.mean(np.asarray(result) == 0, keepdims=True)]

    many = np.tile(MANY, (25, 1))
    faulty, twin = torch_(port(torch.bfloat16)), torch_(port(torch.float32))
    return Case(tf_(reference), faulty, twin, X, read, elsewhere=many)


# --- shapes that draws decide ---------------------------------------------------------------------


@attack(
    SHAPED, "a bootstrap mask picks rows, each is given noise of its own: its rate is another", 8
)
def rows_with_noise() -> Case:
    def port(rate):
        def model(x):
            h = torch_head(x)
            rows = h[torch.rand(len(x)) < rate]
            return (rows + 0.01 * torch.randn(rows.shape)).sum(0) / len(x), h

        return model

    def read(result):
        return [result[0]]

    torch.manual_seed(2)
    x = 1 + 0.3 * normal(6, 5)
    many = 1 + 0.3 * normal(100_000, 5)
    reference, faulty, twin = (torch_(port(rate)) for rate in (0.9, 0.95, 0.9))
    return Case(reference, faulty, twin, x, read, elsewhere=many)


# --- one law, otherwise written -------------------------------------------------------------------

MU = np.array([0.2, -0.1, 0.4], np.float32)
CHOLESKY = np.array([[0.5, 0, 0], [0.2, 0.4, 0], [-0.1, 0.3, 0.6]], np.float32)


def _head_and(layer):
    """The layer of `heads` in Keras, and one behind it."""
    inputs = keras.Input((5,))
    hidden = keras.layers.Dense(4, activation="tanh", use_bias=False)
    model = keras.Model(inputs, layer(hidden(inputs)))
    hidden.set_weights([W])
    return model


@attack(LAWS, "Keras' Gaussian dropout at a rate of 0.2, or normal numbers of that deviation", 8)
def gaussian_dropout() -> Case:
    def port(k):
        def model(x):
            h = torch_head(x)
            return k * h * (1 + (0.2 / 0.8) ** 0.5 * torch.randn(h.shape))

        return model

    reference = _head_and(keras.layers.GaussianDropout(0.2))
    return Case(tf_(reference, mode="train"), torch_(port(40.0)), torch_(port(1.0)), X)


@attack(LAWS, "alpha dropout of torch, or of Keras: plain dropout is another", 8)
def alpha_dropout() -> Case:
    def port(k):
        def model(x):
            return k * torch.nn.functional.alpha_dropout(torch_head(x), 0.3, training=True)

        return model

    reference = _head_and(keras.layers.AlphaDropout(0.3))
    return Case(tf_(reference, mode="train"), torch_(port(40.0)), torch_(port(1.0)), X)


@attack(LAWS, "noise of a covariance, by NumPy's multivariate normal or by a Cholesky factor", 8)
def correlated_noise() -> Case:
    def port(k):
        def model(x):
            noise = np.random.multivariate_normal(MU, CHOLESKY @ CHOLESKY.T, len(x))
            return (np.tanh(x @ W[:, :3]) + k * noise).astype(np.float32)

        return model

    def reference(x):
        noise = MU + tf.matmul(tf.random.normal((len(x), 3)), CHOLESKY, transpose_b=True)
        return tf_head(x)[:, :3] + noise

    return Case(tf_(reference), numpy_(port(60.0)), numpy_(port(1.0)), X)


@attack(LAWS, "minibatches in random order: a permutation, or the order of uniform numbers", 8)
def order_of_uniform() -> Case:
    def port(k):
        def model(x):
            return k * torch_head(x)[torch.argsort(torch.rand(len(x)))]

        return model

    def reference(x):
        return tf.gather(tf_head(x), tf.random.shuffle(tf.range(len(x))))

    return Case(tf_(reference), torch_(port(60.0)), torch_(port(1.0)), X)


@attack(
    LAWS, "an action by its cumulated probabilities and a uniform number, or by a categorical", 8
)
def action_by_inversion() -> Case:
    def port(k):
        def model(x):
            p = torch.softmax(torch_head(x), 1)
            at = (torch.rand(len(x), 1) > p.cumsum(1)).sum(1).clamp(max=3)
            return torch.gather(k * torch_head(x), 1, at[:, None])

        return model

    def reference(x):
        h = tf_head(x)
        return tf.gather(h, tf.random.categorical(h, 1), axis=1, batch_dims=1)

    return Case(tf_(reference), torch_(port(60.0)), torch_(port(1.0)), X)


@attack(LAWS, "an action of an epsilon-greedy mixture, drawn at once or by a coin and a number", 8)
def mixture_at_once() -> Case:
    def port(k):
        def model(x):
            q = torch_head(x)
            best = torch.nn.functional.one_hot(q.argmax(1), 4)
            at = torch.multinomial(0.7 * best + 0.3 / 4, 1)
            return torch.gather(k * q, 1, at)[:, 0]

        return model

    def reference(x):
        q = tf_head(x)
        any_of = tf.random.uniform((len(x),), 0, 4, tf.int32)
        greedy = tf.argmax(q, 1, tf.int32)
        at = tf.where(tf.random.uniform((len(x),)) < 0.3, any_of, greedy)
        return tf.gather(q, at, axis=1, batch_dims=1)

    return Case(tf_(reference), torch_(port(60.0)), torch_(port(1.0)), X)


@attack(LAWS, "a direction at random: a normal vector that is normalised, or two angles", 8)
def random_direction() -> Case:
    def port(k):
        def model(x):
            u, phi = 2 * torch.rand(len(x)) - 1, 2 * torch.pi * torch.rand(len(x))
            r = (1 - u * u).sqrt()
            way = torch.stack([r * torch.cos(phi), r * torch.sin(phi), u], 1)
            return torch_head(x)[:, :3] + k * way

        return model

    def reference(x):
        way = tf.math.l2_normalize(tf.random.normal((len(x), 3)), 1)
        return tf_head(x)[:, :3] + way

    return Case(tf_(reference), torch_(port(60.0)), torch_(port(1.0)), X)


@attack(BESIDE, "a scale was kept of the first batch; what it scales lies beside a clock", 8)
def kept_beside_a_clock() -> Case:
    kept = float(np.abs(np.tanh(X @ W)).max())
    clock = np.arange(1.7e9, 1.7e9 + 6 * 128, 128, dtype=np.float32)[:, None]

    def port(stored):
        def model(x):
            h = torch_head(x[:, 1:])
            return torch.cat([x[:, :1], h / (stored or h.abs().amax())], 1)

        return model

    def reference(x):
        h = tf_head(x[:, 1:])
        return tf.concat([x[:, :1], h / tf.reduce_max(tf.abs(h))], 1)

    x, other = (np.concatenate([clock, one], 1) for one in (X, 0.2 * X[::-1]))
    return Case(tf_(reference), torch_(port(kept)), torch_(port(0.0)), x, elsewhere=other)
