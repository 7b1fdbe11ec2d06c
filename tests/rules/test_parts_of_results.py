"""Parts of a result that are read by a method, by another name, as bytes; entries in any order."""

from __future__ import annotations

import json
from datetime import timedelta
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import parity
from parity.diagnosis.printed_numbers import equal_but_for_digits

tf = pytest.importorskip("tensorflow")

X = np.random.default_rng(0).standard_normal((6, 5)).astype("f")
W = np.random.default_rng(1).standard_normal((5, 4)).astype("f")


def in_torch(x):
    return torch.tanh(x @ torch.from_numpy(W))


def in_tensorflow(x):
    return tf.tanh(tf.matmul(x, W))


def verdict(reference, candidate, frameworks=("tensorflow", "torch")):
    sides = zip((reference, candidate), frameworks, strict=True)
    return parity.compare(*(parity.wrap(a, framework=b) for a, b in sides), inputs=X).verdict


def of(head, rest):
    return lambda x: rest(head(x))


# --- what an object offers -----------------------------------------------------------------------


class Action:
    def __init__(self, q, action):
        self.q, self.action = q, action


class Move:
    def __init__(self, q, chosen):
        self.q, self.chosen = q, chosen


class Sized:
    def __init__(self, q, actions):
        self.q, self.actions = q, actions


def test_a_number_that_follows_the_inputs_is_no_setting() -> None:
    def best(sign):
        return of(in_torch, lambda q: Move(q, int((sign * q.sum(0)).argmax())))

    reference = of(in_tensorflow, lambda q: Action(q, int(tf.argmax(tf.reduce_sum(q, 0)))))
    assert verdict(reference, best(1)) == "parity"
    assert verdict(reference, best(-1)) != "parity"
    assert verdict(reference, of(in_torch, lambda q: Sized(q, 4))) != "diverged"


class Table:
    def __init__(self, rows):
        self.rows = rows

    def row(self, at):
        return self.rows[at]


TABLE = Table(W)
LAYERS = [torch.nn.Linear(3, 2) for _ in range(2)]


def squashed(action):
    return np.tanh(action)


def clipped(action):
    return np.clip(action, -1, 1)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (squashed, clipped),
        (TABLE.row, Table(W[::-1]).row),
        (W.take, W[::-1].take),
        (LAYERS[0].forward, LAYERS[1].forward),
    ],
    ids=["a function", "a method", "a method of an array", "a method of a layer"],
)
def test_what_a_result_offers_is_a_part_of_it(right, wrong) -> None:
    def offering(head, offered):
        return of(head, lambda q: SimpleNamespace(q=q, offered=offered))

    same = Table(W.copy()).row if right == TABLE.row else right
    assert verdict(offering(in_tensorflow, right), offering(in_torch, same)) == "parity"
    assert verdict(offering(in_tensorflow, right), offering(in_torch, wrong)) == "unverified"


class Policy:
    def __init__(self, logits, softmax):
        self._logits, self._softmax = logits, softmax

    @property
    def probabilities(self):
        return self._softmax(self._logits)

    def logits(self):
        return self._logits


def test_what_a_method_gives_is_compared_where_a_property_hides_it() -> None:
    reference = of(in_tensorflow, lambda q: Policy(q, tf.nn.softmax))

    def port(more):
        return of(in_torch, lambda q: Policy(q + more, lambda one: torch.softmax(one, -1)))

    assert verdict(reference, port(0.0)) == "parity"
    assert verdict(reference, port(3.0)) == "unverified"


def test_what_a_masked_array_is_filled_with_is_compared() -> None:
    def filled(value):
        def model(x):
            h = np.tanh(x @ W)
            return np.ma.masked_array(h, h < 0, fill_value=value)

        return model

    numpy = ("numpy", "numpy")
    assert verdict(filled(-1.0), filled(-1.0), numpy) == "parity"
    assert verdict(filled(-1.0), filled(0.0), numpy) == "diverged"


# --- entries in any order ------------------------------------------------------------------------

AT = np.array([[5, 70, 800, 2000, 3000, 5999], [9, 4000, 30, 7, 1, 2000]])


def torch_sparse(size, order):
    def model(x):
        values = in_torch(x)[:, 0][order.tolist()]
        return torch.sparse_coo_tensor(torch.from_numpy(AT[:, order].copy()), values, (6000, size))

    return model


def tensorflow_sparse(size, order):
    def model(x):
        return tf.SparseTensor(AT.T[order], tf.gather(in_tensorflow(x)[:, 0], order), (6000, size))

    return model


@pytest.mark.parametrize("sparse", [torch_sparse, tensorflow_sparse])
def test_a_large_sparse_tensor_is_its_entries_and_its_shape(sparse) -> None:
    framework = "torch" if sparse is torch_sparse else "tensorflow"
    reference = tensorflow_sparse(5000, np.arange(6))
    frameworks = ("tensorflow", framework)
    assert verdict(reference, sparse(5000, np.arange(6)[::-1]), frameworks) == "parity"
    assert verdict(reference, sparse(5001, np.arange(6)), frameworks) == "diverged"


@pytest.mark.parametrize("rows", [9, 6_000_000])
def test_the_rows_of_a_gradient_are_in_any_order(rows) -> None:
    ids = np.array([7, 2, 5, 0, 7, 3])

    def port(order, factor=1.0):
        def model(x):
            values = factor * tf.gather(in_tensorflow(x), order)
            return tf.IndexedSlices(values, tf.constant(ids[order]), tf.constant([rows, 4]))

        return model

    frameworks = ("tensorflow", "tensorflow")
    order = np.argsort(ids)
    assert verdict(port(np.arange(6)), port(order), frameworks) == "parity"
    assert verdict(port(np.arange(6)), port(order, 1.01), frameworks) == "diverged"


# --- the last digits -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "packed",
    [
        lambda q: np.asarray(q, "<f4").tobytes(),
        lambda q: json.dumps(np.asarray(q).tolist()),
        lambda q: timedelta(seconds=3000 * float(np.exp(np.asarray(q)).mean())),
        lambda q: frozenset(np.asarray(q)[0].tolist()),
    ],
    ids=["bytes", "json", "timedelta", "frozenset"],
)
def test_computed_numbers_are_packed_with_their_rounding(packed) -> None:
    reference = of(in_tensorflow, lambda q: {"q": q, "packed": packed(q.numpy())})

    def port(factor):
        return of(in_torch, lambda q: {"q": q, "packed": packed(factor * q.numpy())})

    # where nothing moves bytes, it is not known whether they are a number
    right = {"parity", "unverified"} if packed(X[:1, :4]).__class__ is bytes else {"parity"}
    assert verdict(reference, port(1.0)) in right
    assert verdict(reference, port(1.01)) == "diverged"


def test_digits_are_those_of_numbers() -> None:
    assert equal_but_for_digits("q=0.30000001, a=3", "q=0.3, a=3")
    assert not equal_but_for_digits("q=0.3, a=3", "q=0.3, a=4")
    assert not equal_but_for_digits("left", "meft")
    assert not equal_but_for_digits("0.3", "0.4")
    assert not equal_but_for_digits(frozenset({1, 2}), frozenset({1, 3}))


def test_bytes_that_no_rounding_changes_are_no_numbers() -> None:
    one, other = (np.array([3.0, k], "<f4").tobytes() for k in (3.0, 3.0000002))
    assert one != other and equal_but_for_digits(one, other)
    reference = of(in_tensorflow, lambda q: {"q": q, "name": one})
    assert verdict(reference, of(in_torch, lambda q: {"q": q, "name": other})) == "unverified"


# --- computed on the host ------------------------------------------------------------------------


def test_small_elements_of_the_host_count_by_their_own_size() -> None:
    offset = np.array([0, 0, 0, -18], "f")

    def port(least):
        def model(x):
            e = np.exp((in_torch(x) + torch.from_numpy(offset)).numpy())
            return {"q": in_torch(x), "p": np.maximum(e / e.sum(-1, keepdims=True), least)}

        return model

    reference = of(in_tensorflow, lambda q: {"q": q, "p": tf.nn.softmax(q + offset)})
    assert verdict(reference, port(np.float32(3e-8))) == "diverged"
    assert verdict(reference, port(np.float32(0))) == "parity"


def test_what_rounding_does_on_the_host_is_measured() -> None:
    def port(factor):
        def model(x):
            a = 1000 + x.numpy()
            return {"mean": x.mean(1), "spread": factor * ((a * a).mean(1) - a.mean(1) ** 2)}

        return model

    def reference(x):
        a = 1000 + x
        mean = tf.reduce_mean(a, 1)
        return {"mean": tf.reduce_mean(x, 1), "spread": tf.reduce_mean(a * a, 1) - mean * mean}

    assert verdict(reference, port(1.0)) != "diverged"
    assert verdict(reference, port(5.0)) != "parity"
