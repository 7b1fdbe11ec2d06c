"""Outputs that are dropped in silence, or paired with others."""

from __future__ import annotations

import collections
import dataclasses
import types

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, chainer_, numpy_, tf_, torch_
from benchmarks.attacks.heads import OF_ACTIONS, F, X, chainer, tf_q, torch_q

RULE = "outputs-dropped"


class Slotted:
    """An action value as a class with slots."""

    __slots__ = ("q", "greedy")

    def __init__(self, q, greedy):
        self.q, self.greedy = q, greedy


class Lazy:
    """An action value that works out its maximum when it is asked for."""

    def __init__(self, q, factor):
        self.q, self._factor = q, factor

    @property
    def best(self):
        return self._factor * self.q[:, 0]


def _both(thing):
    return [thing[key] for key in thing]


# Each makes an output of Q-values and something else of them; `k` is 1 where it is right.
def _integer(q, k):
    return {"q": q, "count": 3 + (k != 1)}


def _bool(q, k):
    return {"q": q, "done": k == 1}


def _string(q, k):
    return {"q": q, "action": "left" if k == 1 else "right"}


def _complex(q, k):
    return {"q": q, "pole": complex(1, k)}


def _numpy_integer(q, k):
    return {"q": q, "action": np.int64(2 if k == 1 else 1)}


def _numpy_bool(q, k):
    return {"q": q, "legal": np.bool_(k == 1)}


def _deque(q, k):
    return {"q": q, "recent": collections.deque([k * q, q])}


def _values_view(q, k):
    return {"q": q, "v": {"a": k * q}.values()}


def _deep(q, k):
    thing = k * q
    for _ in range(8):
        thing = [thing]
    return {"q": q, "nest": thing}


def _colliding_keys(q, k):
    return {"q": q, "head": {1: k * q, "1": q}}


def _colliding_paths(q, k):
    return {"q": q, "a": {"b": k * q}, "a/b": q}


def _generator(q, k):
    return {"q": q, "each": (k * one for one in [q, q])}


def _frozenset(q, k):
    return {"q": q, "legal": frozenset([1, 2, 3 if k == 1 else 4])}


def _range(q, k):
    return {"q": q, "steps": range(3 if k == 1 else 4)}


def _object_array(q, k):
    held = np.empty(2, object)
    held[:] = [3, 4 if k == 1 else 5]
    return {"q": q, "held": held}


def _slots(q, k):
    return Slotted(q, k * q)


def _property(q, k):
    return Lazy(q, k)


@dataclasses.dataclass
class Answer:
    """An answer whose second part is a class variable by mistake of its annotation."""

    q: object
    extra: object = None


def _dataclass_integer(q, k):
    return Answer(q, 3 if k == 1 else 4)


_MAKERS = {
    make.__name__.strip("_").replace("_", "-"): make
    for make in (
        *(_integer, _bool, _string, _complex, _numpy_integer, _numpy_bool, _deque, _values_view),
        *(_deep, _colliding_keys, _colliding_paths, _generator, _frozenset, _range),
        *(_object_array, _slots, _property, _dataclass_integer),
    )
}


def leaves(thing):
    """Everything in an output that holds a number or a word."""
    if isinstance(thing, dict):
        return [leaf for item in thing.values() for leaf in leaves(item)]
    if isinstance(thing, frozenset):
        return [np.array(sorted(thing))]
    if isinstance(thing, np.ndarray) and thing.dtype == object:
        return [np.array(list(thing))]
    if isinstance(thing, (list, tuple, collections.deque, range, types.GeneratorType)) or (
        type(thing).__name__ == "dict_values"
    ):
        return [leaf for item in thing for leaf in leaves(item)]
    if isinstance(thing, Slotted):
        return [thing.q, thing.greedy]
    if isinstance(thing, Lazy):
        return [thing.q, thing.best]
    if isinstance(thing, Answer):
        return [thing.q, thing.extra]
    return [thing]


@attack(
    RULE,
    "a part of the output that is not looked at",
    variants={name: (make,) for name, make in _MAKERS.items()},
)
def part(make) -> Case:
    return Case(
        torch_(lambda x: make(torch_q(x), 1)),
        tf_(lambda x: make(tf_q(x), 1.5)),
        tf_(lambda x: make(tf_q(x), 1)),
        X,
        leaves,
    )


@attack(RULE, "the greedy action as a list of Python integers, .tolist()")
def to_list() -> Case:
    def port(axis_sign):
        def model(x):
            q = tf_q(x)
            return {"q": q, "action": tf.argmax(axis_sign * q, 1).numpy().tolist()}

        return model

    def reference(x):
        q = torch_q(x)
        return {"q": q, "action": q.argmax(1).tolist()}

    return Case(torch_(reference), tf_(port(-1)), tf_(port(1)), X)


@attack(RULE, "the mask of a masked array")
def masked_array() -> Case:
    def port(least):
        def model(x):
            q = np.tanh(x @ OF_ACTIONS)
            return np.ma.masked_array(q, mask=q < least)

        return model

    def read(thing):
        return [np.ma.getdata(thing), np.ma.getmaskarray(thing)]

    return Case(numpy_(port(0.0)), numpy_(port(0.4)), numpy_(port(0.0)), X, read)


@attack(RULE, "a structured array: of its fields none is a number")
def structured_array() -> Case:
    kind = np.dtype([("q", np.float32), ("n", np.int32)])

    def port(k):
        def model(x):
            q = np.tanh(x @ OF_ACTIONS)[:, 0]
            found = np.zeros(6, kind)
            found["q"] = k * q
            return {"q": q, "both": found}

        return model

    def read(thing):
        return [thing["q"], thing["both"]["q"]]

    return Case(numpy_(port(1)), numpy_(port(1.5)), numpy_(port(1)), X, read)


@attack(RULE, "a Chainer distribution's parameters, which are computed when asked for")
def chainer_distribution() -> Case:
    def port(k):
        def model(x):
            loc = F.tanh(F.matmul(x, OF_ACTIONS))
            return chainer.distributions.Normal(loc, log_scale=loc * k)

        return model

    def reference(x):
        loc = torch_q(x)
        return {"loc": loc, "log_scale": loc * 1}

    def read(thing):
        if isinstance(thing, dict):
            return [thing["loc"], thing["log_scale"]]
        return [thing.loc, F.log(thing.scale)]

    return Case(torch_(reference), chainer_(port(1.5)), chainer_(port(1)), X, read)


@attack(RULE, "a torch distribution: a method gives what the attributes do not")
def torch_distribution() -> Case:
    class Squashed(torch.distributions.Normal):
        bonus = 0.0

        @property
        def mode(self):
            return torch.tanh(self.loc) + self.bonus

    class Other(Squashed):
        bonus = 0.25

    def model(kind):
        return lambda x: kind(x @ torch.from_numpy(OF_ACTIONS), torch.ones(6, 3))

    def read(thing):
        return [thing.loc, thing.scale, thing.mode]

    return Case(torch_(model(Squashed)), torch_(model(Other)), torch_(model(Squashed)), X, read)


@attack(RULE, "an output is a function of the step: its closure holds the values")
def callable_output() -> Case:
    def model(kind, q_of, k):
        def run(x):
            q = q_of(x)
            return {"q": q, "value": lambda: k * q}

        return kind(run)

    def read(thing):
        return [thing["q"], thing["value"]()]

    return Case(model(torch_, torch_q, 1), model(tf_, tf_q, 1.5), model(tf_, tf_q, 1), X, read)


@attack(RULE, "the values of an output are NaN where the other model returns None")
def none_instead() -> Case:
    def port(extra):
        def model(x):
            q = tf_q(x)
            return {"q": q, "state": extra(q)}

        return model

    def reference(x):
        q = torch_q(x)
        return {"q": q, "state": q.sum(1)}

    def read(thing):
        state = thing["state"]
        return [thing["q"], *([] if state is None else [state])]

    return Case(
        torch_(reference),
        tf_(port(lambda q: None)),
        tf_(port(lambda q: tf.reduce_sum(q, 1))),
        X,
        read,
    )
