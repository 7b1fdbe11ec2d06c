"""Round 2: sorting, dynamic shapes, linear algebra, spectra, images; and outputs of rare kinds."""

from __future__ import annotations

import array
import decimal
import enum
import fractions
import types

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, normal, numpy_, tf_, torch_, uniform
from benchmarks.attacks.heads import W, X, tf_head, torch_head

ALGEBRA = "algebra"
RARE = "outputs-of-rare-kinds"


@attack(ALGEBRA, "the order of equal numbers when sorted from the largest", 2)
def descending_ties() -> Case:
    x = np.round(X)
    x[0] = [1, 1, 0, 1, 2]

    def reference(x):
        return torch.argsort(x, dim=1, descending=True, stable=True)

    return Case(
        torch_(reference),
        tf_(lambda x: tf.reverse(tf.argsort(x, 1, stable=True), [1])),
        tf_(lambda x: tf.argsort(x, 1, "DESCENDING", stable=True)),
        x,
        exact=True,
    )


@attack(ALGEBRA, "values of the top three, and the indices of the wrong ones", 2)
def top_three() -> Case:
    def port(sign):
        def model(x):
            return {
                "values": tf.math.top_k(x, 3).values,
                "indices": tf.cast(tf.math.top_k(sign * x, 3).indices, tf.int64),
            }

        return model

    def reference(x):
        found = torch.topk(x, 3, dim=1)
        return {"values": found.values, "indices": found.indices}

    return Case(torch_(reference), tf_(port(-1.0)), tf_(port(1.0)), X)


@attack(ALGEBRA, "numbers above a bound are picked out: one more in one model", 2)
def picked_out() -> Case:
    def port(bound):
        return lambda x: tf.boolean_mask(tf.tanh(x), x > bound)

    least = float(np.sort(X[X > 0.3])[0])
    return Case(
        torch_(lambda x: torch.tanh(x)[x > 0.3]), tf_(port(least)), tf_(port(0.3)), X, exact=True
    )


@attack(ALGEBRA, "sums of segments: one element is counted to its neighbour", 2)
def segments() -> Case:
    x = normal(12, 3)
    ids = np.array([0, 0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3])
    other = ids.copy()
    other[4] = 2

    def reference(x):
        return torch.zeros(4, 3).index_add(0, torch.from_numpy(ids), x)

    def port(ids):
        return lambda x: tf.math.segment_sum(x, ids)

    return Case(torch_(reference), tf_(port(other)), tf_(port(ids)), x)


@attack(ALGEBRA, "V of a singular value decomposition taken for its transpose", 2)
def singular_vectors() -> Case:
    x = normal(3, 4, 4)

    def reference(x):
        u, s, vh = torch.linalg.svd(x)
        return u @ torch.diag_embed(1 / (1 + s)) @ vh

    def port(adjoint):
        def model(x):
            s, u, v = tf.linalg.svd(x)
            middle = tf.linalg.diag(1 / (1 + s))
            return tf.matmul(tf.matmul(u, middle), v, adjoint_b=adjoint)

        return model

    return Case(torch_(reference), tf_(port(False)), tf_(port(True)), x)


@attack(ALGEBRA, "a jitter of 1e-4 on the diagonal of a covariance", 2)
def jitter() -> Case:
    x = normal(3, 4, 9)

    def reference(x):
        cov = x @ x.transpose(1, 2) / 9 + 1e-6 * torch.eye(4)
        return torch.linalg.cholesky(cov)

    def port(size):
        def model(x):
            cov = tf.matmul(x, x, transpose_b=True) / 9 + size * tf.eye(4)
            return tf.linalg.cholesky(cov)

        return model

    return Case(torch_(reference), tf_(port(1e-4)), tf_(port(1e-6)), x)


@attack(ALGEBRA, "a determinant without its sign", 2)
def determinant() -> Case:
    x = normal(7, 3, 3)
    return Case(
        torch_(lambda x: torch.linalg.det(x)),
        tf_(lambda x: tf.abs(tf.linalg.det(x))),
        tf_(lambda x: tf.linalg.det(x)),
        x,
    )


@attack(ALGEBRA, "a spectrum conjugated: phases of the other sign", 2)
def conjugated() -> Case:
    x = normal(4, 16)
    return Case(
        torch_(lambda x: torch.fft.rfft(x)),
        tf_(lambda x: tf.math.conj(tf.signal.rfft(x))),
        tf_(lambda x: tf.signal.rfft(x)),
        x,
    )


@attack(ALGEBRA, "a Hann window that is symmetric instead of periodic", 2)
def hann_window() -> Case:
    x = normal(4, 32)

    def reference(x):
        return torch.fft.rfft(x * torch.hann_window(32)).abs()

    def port(periodic):
        window = tf.signal.hann_window(32, periodic=periodic)
        return lambda x: tf.abs(tf.signal.rfft(x * window))

    return Case(torch_(reference), tf_(port(False)), tf_(port(True)), x)


@attack(ALGEBRA, "bilinear resizing with the corners aligned", 2)
def resized() -> Case:
    x = uniform(2, 3, 6, 5)

    def reference(x):
        kind = {"size": (9, 10), "mode": "bilinear", "align_corners": False}
        return torch.nn.functional.interpolate(x, **kind).mean((2, 3))

    def port(corners):
        def model(x):
            images = tf.transpose(x, (0, 2, 3, 1))
            resize = tf.compat.v1.image.resize_bilinear
            y = resize(images, (9, 10), corners, half_pixel_centers=not corners)
            return tf.reduce_mean(y, (1, 2))

        return model

    return Case(torch_(reference), tf_(port(True)), tf_(port(False)), x)


@attack(ALGEBRA, "a mean over windows counts the padding", 2)
def padded_mean() -> Case:
    x = uniform(2, 3, 7, 7)

    def reference(x):
        return torch.nn.functional.avg_pool2d(x, 3, 2, 1, count_include_pad=False).sum(1)

    def port(counted):
        def model(x):
            images = tf.transpose(x, (0, 2, 3, 1))
            if counted:
                y = tf.nn.avg_pool2d(
                    tf.pad(images, [[0, 0], [1, 1], [1, 1], [0, 0]]), 3, 2, "VALID"
                )
            else:
                y = tf.nn.avg_pool2d(images, 3, 2, "SAME")
            return tf.reduce_sum(y, 3)

        return model

    return Case(torch_(reference), tf_(port(True)), tf_(port(False)), x)


@attack(ALGEBRA, "relative positions: the index table is turned round", 2)
def relative_positions() -> Case:
    table = normal(9)
    gaps = np.arange(5)[:, None] - np.arange(5)[None] + 4
    x = normal(2, 5, 5)

    def reference(x):
        return torch.softmax(x + torch.from_numpy(table)[torch.from_numpy(gaps)], -1)

    def port(gaps):
        return lambda x: tf.nn.softmax(x + tf.gather(table, gaps))

    return Case(torch_(reference), tf_(port(gaps.T.copy())), tf_(port(gaps)), x)


# --- outputs of rare kinds ------------------------------------------------------------------------


class Move(enum.Enum):
    """An action as an enumeration."""

    LEFT = 0
    RIGHT = 1


def _frozen_mapping(q, k):
    return {"q": q, "more": types.MappingProxyType({"v": k * q})}


def _array_of_c(q, k):
    return {"q": q, "more": array.array("d", [1.0, float(k)])}


def _memory(q, k):
    return {"q": q, "more": memoryview(np.array([1.0, float(k)]))}


def _decimal(q, k):
    return {"q": q, "more": decimal.Decimal(str(k))}


def _fraction(q, k):
    return {"q": q, "more": fractions.Fraction(k)}


def _complex_scalar(q, k):
    return {"q": q, "more": np.complex64(1j * k)}


def _set_of_floats(q, k):
    return {"q": q, "more": {1.0, 2.0 * k}}


def _enumeration(q, k):
    return {"q": q, "more": Move.LEFT if k == 1 else Move.RIGHT}


def _datetime(q, k):
    return {"q": q, "more": np.datetime64("2024-01-01") + int(2 * k)}


def _shape(q, k):
    return {"q": q, "more": torch.Size([3, int(2 * k)])}


def _bytes(q, k):
    return {"q": q, "more": bytes([1, int(2 * k)])}


class _Sequence:
    """A sequence of the user's own, by the old protocol."""

    __slots__ = ("_items",)

    def __init__(self, items):
        self._items = items

    def __len__(self):
        return len(self._items)

    def __getitem__(self, at):
        return self._items[at]


def _own_sequence(q, k):
    return {"q": q, "more": _Sequence([q, k * q])}


def _list_of_strings(q, k):
    return {"q": q, "more": ["up", "down" if k == 1 else "left"]}


def _zip(q, k):
    return {"q": q, "more": zip([q], [k * q], strict=True)}


def _read(thing):
    more = thing["more"]
    return [thing["q"], *_plain(more)]


def _plain(more):
    if isinstance(more, types.MappingProxyType):
        return list(more.values())
    if isinstance(more, zip):
        return [leaf for pair in more for leaf in pair]
    if isinstance(more, (_Sequence, list)):
        return [more[at] for at in range(len(more))]
    if isinstance(more, enum.Enum):
        return [more.value]
    if isinstance(more, np.datetime64):
        return [more.astype(np.int64)]
    if isinstance(more, (set, tuple, bytes, array.array, memoryview)):
        return [np.array(sorted(more), np.float64)]
    if isinstance(more, (decimal.Decimal, fractions.Fraction)):
        return [float(more)]
    return [more]


_MAKERS = {
    make.__name__.strip("_").replace("_", "-"): (make,)
    for make in (
        *(_frozen_mapping, _array_of_c, _memory, _decimal, _fraction, _complex_scalar),
        *(_set_of_floats, _enumeration, _datetime, _shape, _bytes, _own_sequence),
        *(_list_of_strings, _zip),
    )
}


@attack(RARE, "a part of the output of a rare kind", 2, _MAKERS)
def rare(make) -> Case:
    return Case(
        torch_(lambda x: make(torch_head(x), 1)),
        tf_(lambda x: make(tf_head(x), 1.5)),
        tf_(lambda x: make(tf_head(x), 1)),
        X,
        _read,
    )


@attack(RARE, "NumPy's masked constant and a plain number", 2)
def masked_constant() -> Case:
    def port(hidden):
        def model(x):
            q = np.tanh(x @ W)
            return {"q": q, "v": np.ma.masked if hidden else np.float64(0.0)}

        return model

    def read(thing):
        v = thing["v"]
        return [thing["q"], np.array(v is np.ma.masked)]

    return Case(numpy_(port(False)), numpy_(port(True)), numpy_(port(False)), X, read)
