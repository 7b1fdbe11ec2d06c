"""Round 4: what a port has kept of its first batch, and what it draws by a seed."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, normal, tf_, torch_
from benchmarks.attacks.heads import W, X, tf_head, torch_head

KEPT = "kept-of-the-first-batch"
SEEDS = "drawn-by-a-seed"


@attack(
    KEPT,
    "the scale of the activations was calibrated on the first batch",
    4,
    {"number": (float,), "tensor": (torch.tensor,)},
)
def kept_scale(make) -> Case:
    scale = make(float(tf.reduce_max(tf.abs(tf_head(X)))))

    def faulty(x):
        return torch_head(x) / scale

    def twin(x):
        h = torch_head(x)
        return h / h.abs().amax()

    def reference(x):
        h = tf_head(x)
        return h / tf.reduce_max(tf.abs(h))

    return Case(tf_(reference), torch_(faulty), torch_(twin), X, elsewhere=normal(6, 5, seed=9))


@attack(KEPT, "the padding mask is that of the first batch", 4)
def kept_mask() -> Case:
    random = np.random.default_rng(0)
    tokens, others = (random.integers(0, 9, (6, 7)) * (random.random((6, 7)) < 0.7) for _ in "ab")
    table = normal(9, 4)
    first = torch.from_numpy(tokens != 0)

    def port(kept):
        def model(tokens):
            mask = (first if kept else tokens != 0)[..., None].float()
            rows = torch.nn.functional.embedding(tokens, torch.from_numpy(table))
            return (rows * mask).sum(1) / mask.sum(1).clamp(min=1)

        return model

    def reference(tokens):
        mask = tf.cast(tokens != 0, tf.float32)[..., None]
        rows = tf.gather(table, tokens)
        return tf.reduce_sum(rows * mask, 1) / tf.maximum(tf.reduce_sum(mask, 1), 1)

    faulty, twin = torch_(port(True)), torch_(port(False))
    return Case(tf_(reference), faulty, twin, tokens, elsewhere=others)


@attack(KEPT, "the lengths of the first batch's sequences are a list in the port", 4)
def kept_lengths() -> Case:
    def padded(lengths, seed):
        return normal(4, 6, 3, seed=seed) * (np.arange(6) < np.array(lengths)[:, None])[..., None]

    x, other = padded([2, 6, 4, 3], 0), padded([5, 1, 3, 6], 1)

    def last(x, lengths):
        return torch.stack([row[length - 1] for row, length in zip(x, lengths, strict=True)])

    def twin(x):
        return last(x, (x != 0).any(2).sum(1).tolist())

    def reference(x):
        lengths = tf.reduce_sum(tf.cast(tf.reduce_any(x != 0, 2), tf.int32), 1)
        return tf.gather(x, lengths - 1, batch_dims=1)

    faulty = torch_(lambda x: last(x, [2, 6, 4, 3]))
    return Case(tf_(reference), faulty, torch_(twin), x, elsewhere=other)


@attack(KEPT, "the order of the experts was settled by the first batch", 4)
def kept_order() -> Case:
    order = np.argsort(-np.mean(np.tanh(X @ W), 0))

    def port(kept):
        def model(x):
            h = torch_head(x)
            best = torch.from_numpy(order) if kept else h.mean(0).argsort(descending=True)
            return h[:, best[:2]]

        return model

    def reference(x):
        h = tf_head(x)
        best = tf.argsort(tf.reduce_mean(h, 0), direction="DESCENDING")
        return tf.gather(h, best[:2], axis=1)

    faulty, twin = torch_(port(True)), torch_(port(False))
    return Case(tf_(reference), faulty, twin, X, elsewhere=normal(6, 5, seed=9))


# --- seeds ----------------------------------------------------------------------------------------


def _by_numpy(x, seed):
    features = np.random.default_rng(seed).normal(size=(5, 8)).astype(np.float32)
    return torch.cos(x @ torch.from_numpy(features))


def _by_legacy(x, seed):
    features = np.random.RandomState(seed).normal(size=(5, 8)).astype(np.float32)
    return torch.cos(x @ torch.from_numpy(features))


def _by_torch(x, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.cos(x @ torch.randn((5, 8), generator=generator))


@attack(
    SEEDS,
    "random features by a fixed seed, which is another one",
    4,
    {"numpy": (_by_numpy,), "legacy": (_by_legacy,), "torch": (_by_torch,)},
)
def seeded_features(features) -> Case:
    def port(seed):
        return lambda x: features(x, seed)

    return Case(torch_(port(7)), torch_(port(8)), torch_(port(7)), X)


@attack(SEEDS, "random features of TensorFlow's stateless numbers, by another seed", 4)
def stateless_features() -> Case:
    def port(seed):
        return lambda x: tf.cos(tf.matmul(x, tf.random.stateless_normal((5, 8), (seed, 2))))

    return Case(tf_(port(1)), tf_(port(3)), tf_(port(1)), X)


@attack(SEEDS, "the rows that are kept are drawn by a fixed seed, which is another one", 4)
def seeded_rows() -> Case:
    def port(seed):
        def model(x):
            kept = np.random.default_rng(seed).permutation(6)[:4]
            return torch_head(x)[torch.from_numpy(kept)]

        return model

    def reference(x):
        return tf.gather(tf_head(x), np.random.default_rng(7).permutation(6)[:4])

    return Case(tf_(reference), torch_(port(8)), torch_(port(7)), X)
