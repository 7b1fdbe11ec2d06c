"""Round 6: results of which a part is not looked at, or is looked at more closely than it counts.

What a model's user reads of a result may be worked out by a method, hang on a name of its own, or
be written into bytes or text. The last digits of float32 are no difference there either.
"""

from __future__ import annotations

import json
from datetime import timedelta
from types import SimpleNamespace

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, normal, numpy_, tf_, torch_
from benchmarks.attacks.heads import W, X, answered, tf_head, torch_head

UNREAD = "parts-that-nobody-reads"
DIGITS = "last-digits-of-a-leaf"
ENTRIES = "entries-in-any-order"
ON_HOST = "computed-on-the-host"


# --- parts that nobody reads ----------------------------------------------------------------------


class _Step:
    def __init__(self, q, action):
        self.q, self.action = q, action


class _Move:
    def __init__(self, q, chosen):
        self.q, self.chosen = q, chosen


@attack(
    UNREAD, "an object's action, a plain integer, has another name in the port, and is another", 6
)
def renamed_action() -> Case:
    def port(which):
        def model(x):
            q = torch_head(x)
            return _Move(q, int(which(q.sum(0))))

        return model

    def reference(x):
        q = tf_head(x)
        return _Step(q, int(tf.argmax(tf.reduce_sum(q, 0))))

    def read(result):
        return [result.q, result.action if isinstance(result, _Step) else result.chosen]

    return Case(tf_(reference), torch_(port(torch.argmin)), torch_(port(torch.argmax)), X, read)


class _Decoder:
    def __init__(self, table):
        self.table = table

    def decode(self, ids):
        return self.table[ids]


@attack(UNREAD, "a result offers to decode, by the method of an object: its table is another", 6)
def offered_method() -> Case:
    def port(head, table):
        return lambda x: SimpleNamespace(q=head(x), decode=_Decoder(table).decode)

    def read(result):
        return [result.q, result.decode(np.arange(4))]

    table = normal(4, 3)
    faulty, twin = torch_(port(torch_head, table[::-1])), torch_(port(torch_head, table.copy()))
    return Case(tf_(port(tf_head, table)), faulty, twin, X, read)


def _squashed(action):
    return np.tanh(action)


def _clipped(action):
    return np.clip(action, -1.0, 1.0)


@attack(UNREAD, "a result offers a function that bounds its actions: it clips them in the port", 6)
def offered_function() -> Case:
    def port(head, bound):
        return lambda x: SimpleNamespace(q=head(x), bound=bound)

    def read(result):
        return [result.q, result.bound(np.linspace(-2, 2, 9))]

    faulty, twin = torch_(port(torch_head, _clipped)), torch_(port(torch_head, _squashed))
    return Case(tf_(port(tf_head, _squashed)), faulty, twin, X, read)


class _Policy:
    def __init__(self, logits, softmax):
        self._logits, self._softmax = logits, softmax

    @property
    def probabilities(self):
        return self._softmax(self._logits)

    def logits(self):
        return self._logits


@attack(UNREAD, "logits that a method gives are off by 3: their probabilities do not show it", 6)
def logits_of_a_method() -> Case:
    def port(more):
        return lambda x: _Policy(torch_head(x) + more, lambda one: torch.softmax(one, -1))

    def reference(x):
        return _Policy(tf_head(x), lambda one: tf.nn.softmax(one, -1))

    def read(result):
        return [result.probabilities, result.logits()]

    return Case(tf_(reference), torch_(port(3.0)), torch_(port(0.0)), X, read)


@attack(
    UNREAD, "a masked array is filled by its user: with what it says, which is another number", 6
)
def filled() -> Case:
    def port(value):
        def model(x):
            h = np.tanh(np.einsum("bi,io->bo", x, W))
            return np.ma.masked_array(h, h < -0.5, fill_value=value)

        return model

    def reference(x):
        h = np.tanh(x @ W)
        return np.ma.masked_array(h, h < -0.5, fill_value=-1.0)

    def read(result):
        return [result.filled()]

    return Case(numpy_(reference), numpy_(port(0.0)), numpy_(port(-1.0)), X, read)


def _torch_sparse(values, at, size):
    return torch.sparse_coo_tensor(torch.from_numpy(at), values, (6000, size))


def _tf_sparse(values, at, size):
    return tf.SparseTensor(at.T, values, (6000, size))


def _entries(result):
    """Values, places and shape of a sparse tensor, sorted by place."""
    if isinstance(result, tf.SparseTensor):
        result = tf.sparse.reorder(result)
        return [result.values, tf.transpose(result.indices), result.dense_shape]
    result = result.coalesce()
    return [result.values(), result.indices(), np.array(result.shape)]


AT = np.array([[5, 70, 800, 2000, 3000, 5999], [9, 4000, 30, 7, 1, 2000]])


@attack(
    UNREAD,
    "a large sparse matrix has columns for another vocabulary, behind the last entry",
    6,
    {"torch": (torch_, torch_head, _torch_sparse), "tf": (tf_, tf_head, _tf_sparse)},
)
def sparse_size(side, head, sparse) -> Case:
    def port(size):
        return lambda x: sparse(head(x)[:, 0], AT, size)

    return Case(side(port(5000)), side(port(4001)), side(port(5000)), X, _entries)


class _Node:
    def __init__(self, token, parent):
        self.token, self.parent = token, parent


@attack(
    ON_HOST, "a hypothesis of a beam search is a chain of 1,200 tokens, each with its parent", 6
)
def long_chain() -> Case:
    def port(head, more):
        def model(x):
            node = None
            for token in (np.asarray(x).ravel() > 0).astype(int):
                node = _Node(int(token) + more, node)
            return {"scores": head(x[:, :5]), "best": node}

        return model

    def read(result):
        node, tokens = result["best"], []
        while node is not None:
            tokens.append(node.token)
            node = node.parent
        return [result["scores"], np.array(tokens)]

    faulty, twin = torch_(port(torch_head, 1)), torch_(port(torch_head, 0))
    return Case(tf_(port(tf_head, 0)), faulty, twin, normal(6, 200), read)


# --- entries in any order -------------------------------------------------------------------------


@attack(ENTRIES, "a large sparse matrix of TensorFlow's: its entries are in no order", 6)
def sparse_unsorted() -> Case:
    def port(k):
        def model(x):
            return tf.SparseTensor(AT.T[::-1], k * tf.reverse(tf_head(x)[:, 0], [0]), (6000, 5000))

        return model

    def reference(x):
        return tf.SparseTensor(AT.T, tf_head(x)[:, 0], (6000, 5000))

    return Case(tf_(reference), tf_(port(1.01)), tf_(port(1.0)), X, _entries)


@attack(ENTRIES, "the gradient of a table, by rows: the port looks its ids up in their order", 6)
def rows_of_a_gradient() -> Case:
    ids, rows = np.array([7, 2, 5, 0, 8, 3]), normal(9, 5)

    def port(order, k):
        def model(x):
            table = tf.Variable(rows)
            with tf.GradientTape() as tape:
                taken = tf.gather(table, ids[order])
                loss = k * tf.reduce_sum(tf.tanh(taken * tf.gather(x, order)))
            return tape.gradient(loss, table)

        return model

    def read(result):
        return [tf.convert_to_tensor(result)]

    order = np.argsort(ids)
    faulty, twin = tf_(port(order, 1.01)), tf_(port(order, 1.0))
    return Case(tf_(port(np.arange(6), 1.0)), faulty, twin, X, read)


# --- the last digits of a leaf --------------------------------------------------------------------


def _packed(q):
    return np.asarray(q, "<f4").tobytes()


def _written(q):
    return json.dumps(np.asarray(q).tolist())


@attack(
    DIGITS,
    "the answer of a service: Q-values packed into bytes, or written as text",
    6,
    {
        "bytes": (_packed, lambda found: np.frombuffer(found, "<f4")),
        "json": (_written, lambda found: np.array(json.loads(found), np.float32)),
    },
)
def sent_as(pack, unpack) -> Case:
    return answered(pack, unpack, X)


@attack(DIGITS, "the time that is left is a timedelta, of microseconds", 6)
def time_left() -> Case:
    def port(k):
        def model(x):
            q = torch_head(x)
            left = timedelta(seconds=3000 * k * float(q.exp().mean()))
            return {"q": q, "left": left}

        return model

    def reference(x):
        q = tf_head(x)
        return {"q": q, "left": timedelta(seconds=3000 * float(tf.reduce_mean(tf.exp(q))))}

    def read(result):
        return [result["q"], np.array(result["left"].total_seconds())]

    return Case(tf_(reference), torch_(port(1.01)), torch_(port(1.0)), X, read)


@attack(DIGITS, "the levels that occur are a frozenset of numbers", 6)
def set_of_levels() -> Case:
    def port(k):
        def model(x):
            q = k * torch_head(x)
            return {"q": q, "levels": frozenset(q[0].tolist())}

        return model

    def reference(x):
        q = tf_head(x)
        return {"q": q, "levels": frozenset(q[0].numpy().tolist())}

    def read(result):
        return [result["q"], np.array(sorted(result["levels"]))]

    return Case(tf_(reference), torch_(port(1.01)), torch_(port(1.0)), X, read)


# --- computed on the host -------------------------------------------------------------------------


@attack(ON_HOST, "probabilities by NumPy: those below 3e-8 are lost beside large ones", 6)
def floored_on_the_host() -> Case:
    offsets = np.array([0, 0, 0, -18], np.float32)

    def port(least):
        def model(x):
            q = torch_head(x)
            e = np.exp((q + torch.from_numpy(offsets)).numpy())
            return {"q": q, "p": np.maximum(e / e.sum(-1, keepdims=True), np.float32(least))}

        return model

    def reference(x):
        q = tf_head(x)
        return {"q": q, "p": tf.nn.softmax(q + offsets)}

    return Case(tf_(reference), torch_(port(3e-8)), torch_(port(0.0)), X)


@attack(ON_HOST, "a variance in one pass, by NumPy, far from zero: rounding is a part of it", 6)
def variance_on_the_host() -> Case:
    x = 1000 + normal(6, 40)

    def port(k):
        def model(x):
            a = x.numpy()
            return {"mean": x.mean(1), "spread": k * ((a * a).mean(1) - a.mean(1) ** 2)}

        return model

    def reference(x):
        mean = tf.reduce_mean(x, 1)
        return {"mean": mean, "spread": tf.reduce_mean(x * x, 1) - mean * mean}

    return Case(tf_(reference), torch_(port(5.0)), torch_(port(1.0)), x)


@attack(
    "regimes-near-the-limit",
    "a NumPy port's epsilon is the root of its dtype's: 1e-4 of what is divided",
    6,
)
def root_epsilon() -> Case:
    w = 2 * W

    def port(epsilon):
        def model(x):
            h = x @ w.astype(x.dtype)
            return (h - h.mean(0)) / (h.std(0) + epsilon(x.dtype))

        return model

    def reference(x):
        h = tf.matmul(x, w)
        return (h - tf.reduce_mean(h, 0)) / (tf.math.reduce_std(h, 0) + 1e-8)

    faulty = numpy_(port(lambda dtype: np.finfo(dtype).eps ** 0.5))
    return Case(tf_(reference), faulty, numpy_(port(lambda dtype: 1e-8)), X)
