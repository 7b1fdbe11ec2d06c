"""Round 8: what is made of random draws that a few samples, or samples of one shape, do not show.

Two runs of these models give other numbers: what is read of them are their ends, shares and means
over many samples, and how far these move from run to run counts as their rounding.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, chainer_, normal, numpy_, tf_, torch_
from benchmarks.attacks.heads import W, X, tf_head, torch_head
from parity.frameworks.chainer_numpy import import_chainer

chainer = import_chainer()
F = chainer.functions

RARE = "rare-among-draws"
BESIDE = "draws-beside-what-is-large"
NOT_REDRAWN = "draws-never-drawn-anew"
COARSE = "coarse-draws"
SHAPED = "shapes-by-draws"
BRANCHES = "branches-by-draws"

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

    return Case(
        chainer_(reference), torch_(port(4.0)), torch_(port(3.6)), X, read, elsewhere=MANY
    )


@attack(BESIDE, "actions come in one array with a clock; their noise is clipped, or is not", 8)
def noise_beside_a_clock() -> Case:
    clock = np.array([1.7e9, 1.0, 1.0, 1.0, 1.0], np.float32)

    def port(clip):
        def model(x):
            noise = torch.clamp(torch.randn(len(x), 2), -clip, clip)
            return torch.cat([x[:, :1], 0.1 * torch_head(x / torch.from_numpy(clock))[:, 1:2] + noise], 1)

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


@attack(COARSE, "dropout's uniform numbers are in half precision: at a rate of 0.002 it is double", 8)
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

    many = np.tile(MANY, (10, 1))
    faulty, twin = torch_(port(torch.bfloat16)), torch_(port(torch.float32))
    return Case(tf_(reference), faulty, twin, X, read, elsewhere=many)


# --- shapes that draws decide ---------------------------------------------------------------------


@attack(SHAPED, "a bootstrap mask picks rows, each is given noise of its own: its rate is another", 8)
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


# --- draws by which Python branches ---------------------------------------------------------------


@attack(BRANCHES, "stochastic depth: a block is kept by Python's if, or by a mask; it is too large", 8)
def depth_by_an_if() -> Case:
    def port(k):
        def model(x):
            h = torch_head(x)
            if float(torch.rand(())) < 0.8:
                h = h + k * torch.tanh(2 * h)
            return h

        return model

    def reference(x):
        h = tf_head(x)
        keep = tf.cast(tf.random.uniform(()) < 0.8, tf.float32)
        return h + keep * tf.tanh(2 * h)

    return Case(tf_(reference), torch_(port(60.0)), torch_(port(1.0)), X)


@attack(BRANCHES, "a truncated normal by rejection: what is too large is drawn again in a loop", 8)
def rejected_and_drawn_again() -> Case:
    def port(bound):
        def model(x):
            z = torch.randn(len(x), 4)
            while bool((z.abs() > bound).any()):
                z = torch.where(z.abs() > bound, torch.randn(z.shape), z)
            return torch_head(x) * 0.0 + z

        return model

    def reference(x):
        return tf_head(x) * 0.0 + tf.random.truncated_normal((len(x), 4))

    return Case(
        tf_(reference), torch_(port(1.0)), torch_(port(2.0)), X, _least_and_largest, elsewhere=MANY
    )
