"""Round 5: outputs that a comparison pairs, reads or compares otherwise than their user does."""

from __future__ import annotations

import enum

import numpy as np
import scipy.sparse
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, numpy_, tf_, torch_
from benchmarks.attacks.heads import OF_ACTIONS, X, tf_q, torch_q

RULE = "outputs-read-otherwise"


def _moves(up):
    return enum.Enum("Move", {"UP": up, "DOWN": (-up[0], -up[1])})


@attack(RULE, "an action is an enumeration whose value is a step: up is another way", 5)
def steps_of_actions() -> Case:
    def port(kind, q):
        return lambda x: {"q": q(x), "action": kind.UP}

    def read(result):
        return [result["q"], np.array(result["action"].value)]

    faulty, twin = (torch_(port(_moves(up), torch_q)) for up in ((0, 1), (0, -1)))
    return Case(tf_(port(_moves((0, -1)), tf_q)), faulty, twin, X, read)


@attack(RULE, "an enumeration of one name stands for another text", 5)
def text_of_a_mode() -> Case:
    def port(text, q):
        mode = enum.Enum("Mode", {"UP": text})
        return lambda x: {"q": q(x), "mode": mode.UP}

    def read(result):
        return [result["q"], np.array(result["mode"].value)]

    faulty, twin = torch_(port("bilinear", torch_q)), torch_(port("nearest", torch_q))
    return Case(tf_(port("nearest", tf_q)), faulty, twin, X, read)


@attack(RULE, "an episode that goes on has no end: its time is NaT in both", 5)
def not_a_time() -> Case:
    ends = np.array(["2024-05-01", "NaT"], "datetime64[D]")

    def port(k, q):
        return lambda x: {"q": k * q(x), "ends": ends.copy()}

    def read(result):
        return [result["q"], result["ends"].astype(str)]

    faulty, twin = torch_(port(1.01, torch_q)), torch_(port(1, torch_q))
    return Case(tf_(port(1, tf_q)), faulty, twin, X, read)


@attack(RULE, "items and their scores: the keys of the dict are ids, which are one too high", 5)
def ids_as_keys() -> Case:
    ids = [10, 20, 30]

    def port(more, q):
        return lambda x: {i + more: one for i, one in zip(ids, q(x).T, strict=True)}

    def reference(x):
        return dict(zip(ids, tf.unstack(tf_q(x), axis=1), strict=True))

    def read(result):
        return [*result.values(), np.array(list(result))]

    faulty, twin = torch_(port(1, torch_q)), torch_(port(0, torch_q))
    return Case(tf_(reference), faulty, twin, X, read)


class _Getter:
    """Q-values, and their value behind a method that gives what is kept."""

    def __init__(self, q, value):
        self.q, self._value = q, value

    def value(self):
        return self._value


@attack(RULE, "a result shows its Q-values, and gives its value by a method", 5)
def behind_a_getter() -> Case:
    def port(at):
        def model(x):
            q = torch_q(x)
            return _Getter(q, q[:, at] * q[:, 0])

        return model

    def reference(x):
        q = tf_q(x)
        return _Getter(q, q[:, 1] * q[:, 0])

    faulty, twin = torch_(port(2)), torch_(port(1))
    return Case(tf_(reference), faulty, twin, X, lambda one: [one.q, one.value()])


class _Store:
    """A batch of tensors by name, which it is asked for like a dict."""

    def __init__(self, name, **items):
        self.name, self._items = name, items

    def __getitem__(self, key):
        return self._items[key]

    def keys(self):
        return self._items.keys()


@attack(RULE, "a part of the output is a batch of the user's own, asked for like a dict", 5)
def own_batch() -> Case:
    def port(k, q):
        def model(x):
            found = q(x)
            return {"q": found, "batch": _Store("replay", best=k * found[:, 0])}

        return model

    def read(result):
        return [result["q"], result["batch"]["best"]]

    faulty, twin = torch_(port(1.1, torch_q)), torch_(port(1, torch_q))
    return Case(tf_(port(1, tf_q)), faulty, twin, X, read)


class _Lazily:
    """A result that works out an attribute by the name that it is asked for."""

    def __init__(self, q, k):
        self.q, self.__k = q, k

    def __getattr__(self, name):
        if name == "best":
            return self.__k * self.q[:, 0]
        raise AttributeError(name)


@attack(RULE, "an attribute is worked out by __getattr__, and listed nowhere", 5)
def attribute_on_demand() -> Case:
    def port(k, q):
        return lambda x: _Lazily(q(x), k)

    faulty, twin = torch_(port(1.1, torch_q)), torch_(port(1, torch_q))
    return Case(tf_(port(1, tf_q)), faulty, twin, X, lambda one: [one.q, one.best])


@attack(RULE, "a sparse matrix of SciPy: the same entries in another order are the same matrix", 5)
def order_of_entries() -> Case:
    rows, columns = np.array([0, 1, 2, 2]), np.array([1, 0, 2, 0])

    def port(q, order, k):
        def model(x):
            found = q(x)
            entries = np.array([0.5, 1.5, 2.5, 3.5 * k])[order]
            places = rows[order], columns[order]
            return {"q": found, "graph": scipy.sparse.coo_array((entries, places), (3, 3))}

        return model

    def read(result):
        return [result["q"], result["graph"].toarray()]

    backwards, forwards = [3, 2, 1, 0], [0, 1, 2, 3]
    faulty, twin = (torch_(port(torch_q, backwards, k)) for k in (1.1, 1))
    return Case(tf_(port(tf_q, forwards, 1)), faulty, twin, X, read)


@attack(RULE, "statistics of a batch are one record of a structured array", 5)
def one_record() -> Case:
    kind = np.dtype([("mean", "f4"), ("count", "i4")])

    def port(k):
        def model(x):
            q = np.tanh(x @ OF_ACTIONS)
            table = np.zeros(1, kind)
            table[0] = k * q.mean(), len(q)
            return {"q": q, "statistics": table[0]}

        return model

    def read(result):
        return [result["q"], np.array(result["statistics"].tolist())]

    return Case(numpy_(port(1)), numpy_(port(1.1)), numpy_(port(1)), X, read)


@attack(RULE, "a hash of the bits of each number, as a memory of states has: it is one off", 5)
def hashes() -> Case:
    def port(more):
        def model(x):
            bits = tf.bitcast(x, tf.int32)
            wide = tf.cast(bits, tf.int64) * 2654435761 + 12345
            return {"q": tf_q(x), "hash": wide + more}

        return model

    def reference(x):
        wide = x.view(torch.int32).to(torch.int64) * 2654435761 + 12345
        return {"q": torch_q(x), "hash": wide}

    def read(result):
        return [result["q"], np.asarray(result["hash"]) % 1000]

    sides = (tf_(port(more)) for more in (1, 0))
    return Case(torch_(reference), *sides, X, read, exact=True)


class _Unit(float):
    """A number with a unit."""

    unit = ""


@attack(RULE, "a number of a class of the user's own carries its unit, which is another one", 5)
def number_with_unit() -> Case:
    def port(unit, q):
        def model(x):
            speed = _Unit(3.5)
            speed.unit = unit
            return {"q": q(x), "speed": speed}

        return model

    def read(result):
        return [result["q"], np.array(result["speed"].unit)]

    faulty, twin = torch_(port("km/h", torch_q)), torch_(port("m/s", torch_q))
    return Case(tf_(port("m/s", tf_q)), faulty, twin, X, read)
