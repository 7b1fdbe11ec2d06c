"""Pairs for benchmarks/search.py: faults that only some observations show, and clean pairs.

Each is two small models of two frameworks that hold the same values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as functional
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from parity.frameworks.chainer_numpy import import_chainer

chainer = import_chainer()
F = chainer.functions
ops = keras.ops


def weights(*shape: int, seed: int = 0) -> Any:
    random = np.random.default_rng([seed, *shape])
    return (random.standard_normal(shape) / np.sqrt(shape[0])).astype("float32")


W74, W45, W33, TABLE = weights(7, 4), weights(4, 5), weights(3, 3), weights(9, 4)
KERNEL = weights(2, 3, 3, 3, seed=1)  # (in, out, height, width) before it is laid out


def floats(*shape: int, low: float = -3.0, high: float = 3.0) -> st.SearchStrategy[Any]:
    """Batches of one to four observations of a box."""
    return st.integers(1, 4).flatmap(lambda rows: box((rows, *shape), low, high))


def box(shape: tuple[int, ...], low: float, high: float) -> st.SearchStrategy[Any]:
    return arrays(np.float32, shape, elements=st.floats(low, high, width=32))


def images(*shape: int, high: int = 255) -> st.SearchStrategy[Any]:
    return st.integers(1, 2).flatmap(
        lambda rows: arrays(np.uint8, (rows, *shape), elements=st.integers(0, high))
    )


def indices(count: int, *shape: int) -> st.SearchStrategy[Any]:
    return st.integers(1, 4).flatmap(
        lambda rows: arrays(np.int64, (rows, *shape), elements=st.integers(0, count - 1))
    )


def masked() -> st.SearchStrategy[Any]:
    """Logits with a mask of the actions, of which one at least may be taken."""

    def of(rows: int) -> st.SearchStrategy[Any]:
        masks = arrays(np.float32, (rows, 5), elements=st.sampled_from([0.0, 1.0]))
        return st.fixed_dictionaries(
            {
                "logits": box((rows, 5), -3, 3),
                "mask": masks.filter(lambda mask: bool(mask.any(axis=1).all())),
            }
        )

    return st.integers(1, 3).flatmap(of)


def sequences(longest: int = 6) -> st.SearchStrategy[Any]:
    """Sequences (batch, time, 3) of one step or more."""
    sizes = st.tuples(st.integers(1, 3), st.integers(1, longest))
    return sizes.flatmap(lambda size: box((*size, 3), -3, 3))


@dataclass(frozen=True)
class Pair:
    """Two models and what they take.

    Attributes:
        shows: on which observations they diverge; "" where on none.
        models: each with its framework.
        observations: what is drawn.
    """

    name: str
    shows: str
    models: tuple[tuple[Callable[..., Any], str], tuple[Callable[..., Any], str]]
    observations: st.SearchStrategy[Any]


def torch_head(x: Any) -> Any:
    return x @ torch.from_numpy(W74)


def tf_head(x: Any) -> Any:
    return tf.matmul(x, W74)


def chainer_head(x: Any) -> Any:
    return F.matmul(x, W74)


TORCH, TF, CHAINER = "torch", "tensorflow", "chainer"


def _tanh_that_saturates(x: Any) -> Any:
    h = tf_head(x) * 1.5
    return tf.where(abs(h) > 6, tf.sign(h), tf.tanh(h))


def _faults() -> list[Pair]:
    found = []

    def fault(
        name: str, shows: str, a: tuple[Any, str], b: tuple[Any, str], observations: Any
    ) -> None:
        found.append(Pair(name, shows, (a, b), observations))

    fault(
        "clipped-output",
        "an action value beyond 5",
        (torch_head, TORCH),
        (lambda x: tf.clip_by_value(tf_head(x), -5.0, 5.0), TF),
        floats(7),
    )
    fault(
        "early-saturation",
        "a pre-activation beyond 6, where tanh is not 1 yet",
        (lambda x: torch.tanh(torch_head(x) * 1.5), TORCH),
        (_tanh_that_saturates, TF),
        floats(7),
    )
    fault(
        "clipped-logit",
        "a logit beyond 10",
        (lambda x: torch.sigmoid(torch_head(x) * 3), TORCH),
        (lambda x: F.sigmoid(F.clip(chainer_head(x) * 3, -10.0, 10.0)), CHAINER),
        floats(7),
    )
    fault(
        "one-mask-pattern",
        "a mask that leaves the last action alone",
        (lambda logits, mask: torch.where(mask > 0, logits, torch.zeros(())), TORCH),
        (
            lambda logits, mask: tf.where(
                (mask > 0) & (tf.reduce_sum(mask, 1, keepdims=True) > 1),
                logits,
                tf.zeros_like(logits),
            ),
            TF,
        ),
        masked(),
    )
    fault(
        "full-mask",
        "a mask that forbids nothing",
        (lambda logits, mask: torch.softmax(logits + (mask - 1) * 30, 1), TORCH),
        (
            lambda logits, mask: tf.nn.softmax(
                logits
                + (mask - 1) * 30 * tf.cast(tf.reduce_all(mask > 0, 1, keepdims=True), "float32")
            ),
            TF,
        ),
        masked(),
    )
    fault(
        "padding-index",
        "the index 0, which one side takes for padding",
        (lambda x: functional.embedding(x, torch.from_numpy(TABLE)).sum(1), TORCH),
        (
            lambda x: tf.reduce_sum(tf.gather(TABLE, x) * tf.cast(x > 0, "float32")[..., None], 1),
            TF,
        ),
        indices(9, 3),
    )
    fault(
        "last-index",
        "the last value of a Discrete",
        (lambda x: functional.one_hot(x, 9).float() @ torch.from_numpy(TABLE), TORCH),
        (lambda x: tf.matmul(tf.one_hot(tf.minimum(x, 7), 9), TABLE), TF),
        indices(9),
    )
    fault(
        "ties-in-argmax",
        "two actions of one value",
        (
            lambda x: functional.one_hot(torch.argmax(x, 1), 4).float() * x.sum(1, keepdim=True),
            TORCH,
        ),
        (
            lambda x: (
                tf.one_hot(3 - tf.argmax(tf.reverse(x, [1]), 1), 4)
                * tf.reduce_sum(x, 1, keepdims=True)
            ),
            TF,
        ),
        st.integers(1, 3).flatmap(
            lambda rows: arrays(np.float32, (rows, 4), elements=st.integers(-3, 3).map(float))
        ),
    )
    fault(
        "ties-in-the-maximum",
        "two largest values: all are kept, or the first",
        (lambda x: torch.where(x >= x.max(1, keepdim=True).values, x, torch.zeros(())), TORCH),
        (lambda x: x * tf.one_hot(tf.argmax(x, 1), 5), TF),
        st.integers(1, 3).flatmap(
            lambda rows: arrays(
                np.float32, (rows, 5), elements=st.integers(-9, 9).map(lambda one: one / 2)
            )
        ),
    )
    fault(
        "negative-border",
        "a negative number at the border: padded with 0 or with -inf",
        (lambda x: functional.max_pool2d(x, 3, 2, 1), TORCH),
        (
            lambda x: tf.transpose(
                tf.nn.max_pool2d(
                    tf.pad(tf.transpose(x, (0, 2, 3, 1)), [[0, 0], [1, 1], [1, 1], [0, 0]]),
                    3,
                    2,
                    "VALID",
                ),
                (0, 3, 1, 2),
            ),
            TF,
        ),
        floats(2, 5, 5),
    )
    fault(
        "one-step",
        "a sequence of one step",
        (lambda x: x - x.mean(1, keepdim=True) + x[:, -1:], TORCH),
        (
            lambda x: (
                x - tf.reduce_mean(x, 1, keepdims=True) + (x[:, -1:] if x.shape[1] > 1 else 0)
            ),
            TF,
        ),
        sequences(),
    )
    fault(
        "long-sequence",
        "a sequence of more than five steps",
        (lambda x: torch.cumsum(x, 1), TORCH),
        (lambda x: F.concat([F.cumsum(x[:, :5], 1), x[:, 5:]], 1), CHAINER),
        sequences(7),
    )
    fault(
        "single-observation",
        "a batch of one, which is squeezed away",
        (lambda x: torch.softmax(torch_head(x), 1), TORCH),
        (
            lambda x: tf.reshape(
                tf.nn.softmax(tf.squeeze(tf_head(x)) * (0.5 if len(x) == 1 else 1)), (len(x), 4)
            ),
            TF,
        ),
        floats(7),
    )
    fault(
        "batch-statistics",
        "a batch of two or more",
        (lambda x: torch_head(x), TORCH),
        (lambda x: tf_head(x - 0.01 * tf.math.reduce_std(x, 0)), TF),
        floats(7),
    )
    fault(
        "one-of-discrete",
        "one value of a Discrete(9)",
        (lambda x: functional.embedding(x, torch.from_numpy(TABLE)), TORCH),
        (
            lambda x: F.embed_id(
                x.astype("int32"),
                np.where(
                    np.arange(9)[:, None] == 5,
                    TABLE[::-1],
                    TABLE * (1 + (np.arange(9)[:, None] == 4)),
                ),
            ),
            CHAINER,
        ),
        indices(9),
    )
    fault(
        "large-pixels",
        "a pixel beyond 127, in signed bytes",
        (lambda x: x.float() / 255, TORCH),
        (lambda x: tf.cast(tf.cast(x, tf.int8), tf.float32) / 255, TF),
        images(2, 3, 3),
    )
    fault(
        "white-pixels",
        "a pixel of 255, which wraps to 0 when 1 is added in bytes",
        (lambda x: (x.float() + 1) / 256, TORCH),
        (lambda x: tf.cast(x + tf.constant(1, tf.uint8), tf.float32) / 256, TF),
        images(2, 3, 3),
    )
    fault(
        "leaky-slope",
        "a negative pre-activation",
        (lambda x: functional.leaky_relu(torch_head(x), 0.01), TORCH),
        (lambda x: F.leaky_relu(chainer_head(x), 0.0101), CHAINER),
        floats(7),
    )
    fault(
        "huber-corner",
        "an error beyond 1, where one side goes on with the square",
        (
            lambda x: functional.huber_loss(x, torch.zeros_like(x), reduction="none", delta=2.0),
            TORCH,
        ),
        (lambda x: tf.where(abs(x) < 2.2, x * x / 2, 2 * abs(x) - 2), TF),
        floats(3),
    )
    fault(
        "zero-division", "a row of zeros: divided by its norm, with epsilon or without",
        (lambda x: x / (x.norm(dim=1, keepdim=True) + 1e-9), TORCH),
        (lambda x: tf.math.divide(x, tf.norm(x, axis=1, keepdims=True)), TF),
        st.integers(1, 3).flatmap(lambda rows: arrays(
            np.float32, (rows, 2), elements=st.integers(-4, 4).map(float))),
    )  # fmt: skip
    return found


def _clean() -> list[Pair]:
    def both(name: str, a: tuple[Any, str], b: tuple[Any, str], observations: Any) -> Pair:
        return Pair(name, "", (a, b), observations)

    kernel = np.ascontiguousarray(KERNEL.transpose(1, 0, 2, 3))
    return [
        both("linear", (torch_head, TORCH), (tf_head, TF), floats(7)),
        both("tanh", (lambda x: torch.tanh(torch_head(x)), TORCH),
             (lambda x: F.tanh(chainer_head(x)), CHAINER), floats(7)),
        both("softmax", (lambda x: torch.softmax(torch_head(x) * 4, 1), TORCH),
             (lambda x: tf.nn.softmax(tf_head(x) * 4), TF), floats(7)),
        both("mlp", (lambda x: torch.relu(torch_head(x)) @ torch.from_numpy(W45), TORCH),
             (lambda x: F.matmul(F.relu(chainer_head(x)), W45), CHAINER), floats(7)),
        both("norm", (lambda x: functional.layer_norm(x, (7,), eps=1e-5), TORCH),
             (lambda x: (x - tf.reduce_mean(x, 1, keepdims=True)) * tf.math.rsqrt(
                 tf.math.reduce_variance(x, 1, keepdims=True) + 1e-5), TF), floats(7)),
        both("convolution", (lambda x: functional.conv2d(x, torch.from_numpy(kernel)), TORCH),
             (lambda x: F.convolution_2d(x, kernel), CHAINER), floats(2, 5, 5)),
        both("embedding", (lambda x: functional.embedding(x, torch.from_numpy(TABLE)), TORCH),
             (lambda x: tf.gather(TABLE, x), TF), indices(9, 3)),
        both("masked", (lambda logits, mask: torch.softmax(logits + (mask - 1) * 1e9, 1), TORCH),
             (lambda logits, mask: tf.nn.softmax(logits + (mask - 1) * 1e9), TF), masked()),
        both("pixels", (lambda x: x.float() / 255, TORCH),
             (lambda x: tf.cast(x, tf.float32) / 255, TF), images(2, 3, 3)),
        both("recurrence", (_torch_recurrence, TORCH), (_tf_recurrence, TF), sequences()),
    ]  # fmt: skip


def _torch_recurrence(x: Any) -> Any:
    state = torch.zeros(len(x), 3)
    for step in range(x.shape[1]):
        state = torch.tanh(x[:, step] + state @ torch.from_numpy(W33))
    return state


def _tf_recurrence(x: Any) -> Any:
    state = tf.zeros((len(x), 3))
    for step in range(x.shape[1]):
        state = tf.tanh(x[:, step] + tf.matmul(state, W33))
    return state


FAULTS = _faults()
CLEAN = _clean()
