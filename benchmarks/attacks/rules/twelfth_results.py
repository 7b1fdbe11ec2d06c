"""Round 12: what users do with a result: unpack it, index by it, call its methods."""

from __future__ import annotations

import enum
import functools
from typing import NamedTuple

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, numpy_, tf_, torch_
from benchmarks.attacks.heads import W, X, as_array, tf_head, torch_head

ORDER = "order-of-what-has-names"
KEYS = "keys-that-are-objects"
NEST = "nests-without-names"
KINDS = "kinds-that-are-indices"
OFFERED = "functions-of-one-name"
WRAPPED = "wrappers-without-numbers"
CARRIED = "what-an-array-carries"
CLASS = "private-and-of-the-class"
MISSING = "settings-that-are-missing"


# --- structures ----------


class Moments(NamedTuple):
    mean: object
    spread: object


class PortedMoments(NamedTuple):
    spread: object
    mean: object


@attack(
    ORDER, "a policy is unpacked to mean and spread; the port's named tuple has them exchanged", 12
)
def fields_in_another_order() -> Case:
    def port(kind):
        def model(x):
            h = tf_head(x)
            return kind(mean=h, spread=tf.nn.softplus(h))

        return tf_(model)

    def reference(x):
        h = torch_head(x)
        return Moments(h, torch.nn.functional.softplus(h))

    return Case(torch_(reference), port(PortedMoments), port(Moments), X)


def _actions(**numbers):
    return enum.Enum("Action", numbers)


@attack(
    KEYS, "Q-values by action, an enumeration; the port's has other numbers for the same names", 12
)
def keys_of_an_enumeration() -> Case:
    right = _actions(LEFT=0, RIGHT=1)

    def port(actions):
        def model(x):
            q = tf_head(x)
            return {actions.LEFT: q[:, 0], actions.RIGHT: q[:, 1]}

        return tf_(model)

    def reference(x):
        q = torch_head(x)
        return {right.LEFT: q[:, 0], right.RIGHT: q[:, 1]}

    def read(result):  # as an environment takes its actions
        return [as_array(q) for _, q in sorted((key.value, q) for key, q in result.items())]

    faulty, twin = port(_actions(LEFT=1, RIGHT=0)), port(_actions(LEFT=0, RIGHT=1))
    return Case(torch_(reference), faulty, twin, X, read)


def _leaves(thing):
    if isinstance(thing, tuple):
        return [leaf for one in thing for leaf in _leaves(one)]
    return [as_array(thing)]


@attack(
    NEST, "a recurrent cell gives its output and its state; the port (output, hidden), cell", 12
)
def state_in_another_nest() -> Case:
    def parts(x):
        h = tf_head(x)
        return tf.sigmoid(h), h, 2 * h

    def faulty(x):
        out, hidden, cell = parts(x)
        return (out, hidden), cell

    def twin(x):
        out, hidden, cell = parts(x)
        return out, (hidden, cell)

    def reference(x):
        h = torch_head(x)
        return torch.sigmoid(h), (h, 2 * h)

    def read(result):
        _, state = result
        return [np.stack(_leaves(state))]

    return Case(torch_(reference), tf_(faulty), tf_(twin), X, read)


@attack(KINDS, "which actions are legal comes as booleans, or as 0 and 1: users index by them", 12)
def legal_as_integers() -> Case:
    def port(kind):
        def model(x):
            return {"q": tf_head(x), "legal": tf.cast(x[:, :4] > -0.5, kind)}

        return tf_(model)

    def reference(x):
        return {"q": torch_head(x), "legal": x[:, :4] > -0.5}

    def read(result):
        return [as_array(result["q"])[as_array(result["legal"])]]

    return Case(torch_(reference), port(tf.int32), port(tf.bool), X, read, exact=True)


# --- functions and wrappers ----------


class _Head:
    """Advantages before the activation that the head was made with."""

    def __init__(self, scores, activation):
        self.scores, self.activation = scores, activation

    def advantages(self):
        return self.activation(self.scores)


@attack(
    OFFERED, "a head holds its activation: leaky_relu, whose slope each framework has its own", 12
)
def slope_of_a_framework() -> Case:
    def port(activation):
        return tf_(lambda x: _Head(tf.matmul(x, W), activation))

    def reference(x):
        return _Head(x @ torch.from_numpy(W), torch.nn.functional.leaky_relu)

    def read(result):
        return [as_array(result.advantages())]

    twin = port(functools.partial(tf.nn.leaky_relu, alpha=0.01))
    return Case(torch_(reference), port(tf.nn.leaky_relu), twin, X, read)


@attack(WRAPPED, "a policy's distribution is Independent over its joints; the port's is not", 12)
def independent_forgotten() -> Case:
    from torch.distributions import Independent, Normal

    def policy(wrapped):
        def model(x):
            h = torch_head(x)
            normal = Normal(h, torch.nn.functional.softplus(h))
            return Independent(normal, 1) if wrapped else normal

        return torch_(model)

    def read(result):
        return [as_array(result.log_prob(torch.zeros(6, 4)))]

    return Case(policy(True), policy(False), policy(True), X, read)


# --- what goes with arrays and classes ----------


class _Torque(np.ndarray):
    """Torques, and the unit in which they are."""

    def __array_finalize__(self, other):
        self._unit = getattr(other, "_unit", "Nm")

    @property
    def unit(self):
        return self._unit

    def newton_metres(self):
        return np.asarray(self) * np.float32({"Nm": 1.0, "kgfcm": 0.0980665}[self._unit])


def _in_unit(array, unit):
    torque = array.view(_Torque)
    torque._unit = unit
    return torque


@attack(CARRIED, "torques are an array of the user's own class, whose property states the unit", 12)
def torques_in_another_unit() -> Case:
    def script(unit):
        return numpy_(lambda x: _in_unit(np.tanh(x @ W), unit))

    def read(result):
        return [np.asarray(result.newton_metres())]

    return Case(script("Nm"), script("kgfcm"), script("Nm"), X, read)


class _TorchCommand:
    _gain = 0.5

    def __init__(self, value):
        self.value = value

    def force(self):
        return self.value * self._gain


class _TfCommand:
    _gain = 0.25

    def __init__(self, value):
        self.value = value

    def force(self):
        return self.value * self._gain


class _TfCommandToo(_TfCommand):
    _gain = 0.5


@attack(
    CLASS, "a command's gain is a private attribute of its class, which the port has halved", 12
)
def gain_of_a_class() -> Case:
    def port(kind):
        return tf_(lambda x: kind(tf_head(x)))

    def reference(x):
        return _TorchCommand(torch_head(x))

    def read(result):
        return [as_array(result.force())]

    return Case(torch_(reference), port(_TfCommand), port(_TfCommandToo), X, read)


class _Scores:
    def __init__(self, scores, **said):
        self.scores = scores
        self.__dict__.update(said)


@attack(MISSING, "a result says that its scores are normalised; the port's says nothing", 12)
def flag_forgotten() -> Case:
    def port(**said):
        return tf_(lambda x: _Scores(tf.nn.softmax(tf.matmul(x, W)), **said))

    def reference(x):
        return _Scores(torch.softmax(x @ torch.from_numpy(W), 1), normalised=True)

    def read(result):
        scores = as_array(result.scores)
        if not getattr(result, "normalised", False):
            scores = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
        return [scores]

    return Case(torch_(reference), port(), port(normalised=True), X, read)


class _Plan:
    def __init__(self, values, steps):
        self.values, self._steps = values, steps

    def until(self):
        return self._steps


class _PortedPlan:
    def __init__(self, values, horizon):
        self.values, self._horizon = values, horizon

    def until(self):
        return self._horizon


@attack(
    MISSING, "a plan keeps to itself how many steps it holds, under another name in the port", 12
)
def steps_of_another_private_name() -> Case:
    def port(horizon):
        return tf_(lambda x: _PortedPlan(tf_head(x), horizon))

    def reference(x):
        return _Plan(torch_head(x), 12)

    def read(result):
        return [as_array(result.values)[:, : result.until() // 4], np.array([result.until()])]

    return Case(torch_(reference), port(4), port(12), X, read)
