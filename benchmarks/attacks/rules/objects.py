"""Round 4: what a model returns beside its tensors, and inputs and outputs that hold nothing."""

from __future__ import annotations

import dataclasses
import enum
import functools
import time
import types
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, normal, numpy_, tf_, torch_
from benchmarks.attacks.heads import OF_ACTIONS, X, tf_q, torch_q

RULE = "objects-returned"
HOST = "numbers-of-the-host"
EMPTY = "nothing-given"


def _action(left, right):
    """An action's enumeration, as each of two packages has its own."""
    return enum.IntEnum("Action", {"LEFT": left, "RIGHT": right})


@attack(RULE, "actions of two packages have one name and other numbers", 4)
def enumeration_renumbered() -> Case:
    def port(kind):
        return lambda x: {"q": tf_q(x), "action": kind.LEFT}

    def reference(kind):
        return lambda x: {"q": torch_q(x), "action": kind.LEFT}

    def read(thing):
        return [thing["q"], int(thing["action"])]

    faulty, twin = tf_(port(_action(1, 0))), tf_(port(_action(0, 1)))
    return Case(torch_(reference(_action(0, 1))), faulty, twin, X, read)


class _Answer(NamedTuple):
    """Q-values, and the best of them as a property."""

    q: Any
    factor: Any = 1.0

    @property
    def best(self):
        return self.q[:, 0] * self.q[:, 1]


class _WrongAnswer(_Answer):
    @property
    def best(self):
        return self.q[:, 0] * self.q[:, 2]


@attack(RULE, "a property of a named tuple is another one in the port", 4)
def property_of_a_tuple() -> Case:
    def port(kind):
        return lambda x: kind(tf_q(x))

    def read(thing):
        return [thing.q, thing.best]

    faulty, twin = tf_(port(_WrongAnswer)), tf_(port(_Answer))
    return Case(torch_(lambda x: _Answer(torch_q(x))), faulty, twin, X, read)


class _Named(dict):
    """A dict of tensors that also has attributes."""


class _Listed(list):
    """A list of tensors that also has attributes."""


def _named(q, k):
    found = _Named(q=q)
    found.best = k * q[:, 0]
    return found


def _listed(q, k):
    found = _Listed([q])
    found.best = k * q[:, 0]
    return found


@attack(
    RULE,
    "an attribute of a dict, or of a list, that a class has beside its items",
    4,
    {"dict": (_named,), "list": (_listed,)},
)
def attribute_of_a(make) -> Case:
    def read(thing):
        return [thing["q"] if isinstance(thing, dict) else thing[0], thing.best]

    def port(k):
        return lambda x: make(tf_q(x), k)

    return Case(torch_(lambda x: make(torch_q(x), 1.0)), tf_(port(1.5)), tf_(port(1.0)), X, read)


@attack(RULE, "attention weights hang on the tensor that is returned, as an attribute", 4)
def attribute_of_a_tensor() -> Case:
    def port(k):
        def model(x):
            q = torch_q(x)
            q.attention = torch.softmax(k * q, 1)
            return q

        return model

    def read(thing):
        return [thing, thing.attention]

    return Case(torch_(port(1.0)), torch_(port(1.5)), torch_(port(1.0)), X, read)


@dataclasses.dataclass
class _Decision:
    """Q-values, and what is made of them when it is built."""

    q: Any
    factor: dataclasses.InitVar[float] = 1.0

    def __post_init__(self, factor):
        self.best = factor * self.q[:, 0]


class _Lazy:
    """Q-values, and what is made of them when it is first asked for."""

    def __init__(self, q, factor):
        self.q, self._factor = q, factor

    @functools.cached_property
    def best(self):
        return self._factor * self.q[:, 0]


@attack(
    RULE,
    "an attribute that no field declares, or that is made when it is first asked for",
    4,
    {"dataclass": (_Decision,), "cached": (_Lazy,)},
)
def undeclared(make) -> Case:
    def port(k):
        return lambda x: make(tf_q(x), k)

    def read(thing):
        return [thing.q, thing.best]

    return Case(torch_(lambda x: make(torch_q(x), 1.0)), tf_(port(1.5)), tf_(port(1.0)), X, read)


@attack(RULE, "an object holds a function that gives the exploration rate of a step", 4)
def function_held() -> Case:
    def held(q, decay):
        return types.SimpleNamespace(q=q, rate=lambda step: decay**step)

    def port(decay):
        return lambda x: held(tf_q(x), decay)

    def read(thing):
        return [thing.q, thing.rate(100)]

    return Case(torch_(lambda x: held(torch_q(x), 0.99)), tf_(port(0.9)), tf_(port(0.99)), X, read)


class _Mirrored:
    """Q-values that can be mirrored: a property gives another object of the same class."""

    def __init__(self, q):
        self.q = q

    @property
    def mirrored(self):
        return _Mirrored(-self.q)


@attack(RULE, "a property gives another object of its own class, which has the property too", 4)
def property_without_end() -> Case:
    def port(k):
        return lambda x: _Mirrored(k * tf_q(x))

    def read(thing):
        return [thing.q]

    return Case(torch_(lambda x: _Mirrored(torch_q(x))), tf_(port(1.5)), tf_(port(1.0)), X, read)


@attack(RULE, "a name is text in one framework and a tensor of bytes in the other", 4)
def text_and_bytes() -> Case:
    def port(name):
        return lambda x: {"q": tf_q(x), "policy": tf.constant(name)}

    def reference(x):
        return {"q": torch_q(x), "policy": "left"}

    def read(thing):
        name = thing["policy"]
        return [thing["q"], name if isinstance(name, str) else name.numpy().decode()]

    return Case(torch_(reference), tf_(port("right")), tf_(port("left")), X, read)


@attack(RULE, "a model says how long it took, beside its Q-values", 4)
def seconds_taken() -> Case:
    def timed(head, k=1.0):
        def model(x):
            started = time.perf_counter()
            q = k * head(x)
            return {"q": q, "seconds": time.perf_counter() - started}

        return model

    def read(thing):
        return [thing["q"]]

    return Case(torch_(timed(torch_q)), tf_(timed(tf_q, 1.5)), tf_(timed(tf_q)), X, read)


# --- computed by the host -------------------------------------------------------------------------


@attack(HOST, "statistics of the host: the spread is off by 0.1% beside a count of 9,000", 4)
def host_statistics() -> Case:
    x = normal(1800, 5)

    def port(k):
        def model(x):
            q = torch_q(x)
            a = q.numpy().astype(np.float64)
            return {"q": q, "stats": np.array([a.size + 3600, k * a.std(), a.min(), a.max()])}

        return model

    return Case(torch_(port(1.0)), torch_(port(1.001)), torch_(port(1.0)), x)


@attack(HOST, "a table of the host's: one small price of many is off", 4)
def host_table() -> Case:
    prices = np.array([2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 60000.0])

    def port(k):
        def model(x):
            return {"q": tf_q(x), "prices": prices * np.array([k, 1, 1, 1, 1, 1, 1])}

        return model

    def reference(x):
        return {"q": torch_q(x), "prices": prices}

    return Case(torch_(reference), tf_(port(1.0005)), tf_(port(1.0)), X)


# --- nothing --------------------------------------------------------------------------------------


@attack(EMPTY, "no neighbours in this frame: an input without rows comes first", 4)
def input_without_rows() -> Case:
    given = {"near": np.zeros((0, 5), np.float32), "x": X}

    def port(k):
        def model(near, x):
            return k * tf_q(x) + tf.reduce_sum(near)

        return model

    def reference(near, x):
        return torch_q(x) + near.sum()

    return Case(torch_(reference), tf_(port(1.01)), tf_(port(1.0)), given)


@attack(EMPTY, "a detector finds nothing: boxes without rows, beside scores", 4)
def output_without_rows() -> Case:
    def port(k):
        def model(x):
            q = torch_q(x)
            return {"boxes": q[q[:, 0] > 2], "scores": k * q}

        return model

    def reference(x):
        q = tf_q(x)
        return {"boxes": tf.boolean_mask(q, q[:, 0] > 2), "scores": q}

    return Case(tf_(reference), torch_(port(1.01)), torch_(port(1.0)), X)


@attack(EMPTY, "a NumPy port finds one box where the other finds none", 4)
def one_box_too_many() -> Case:
    def port(least):
        def model(x):
            q = np.tanh(x @ OF_ACTIONS)
            return {"scores": q, "boxes": q[q[:, 0] > least]}

        return model

    def reference(x):
        q = torch_q(x)
        return {"scores": q, "boxes": q[q[:, 0] > 2]}

    least = float(np.sort(np.tanh(X @ OF_ACTIONS)[:, 0])[-2:].mean())
    return Case(torch_(reference), numpy_(port(least)), numpy_(port(2.0)), X)
