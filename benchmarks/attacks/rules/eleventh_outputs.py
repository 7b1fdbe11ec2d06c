"""Round 11: what results keep to themselves and is no number, and names that are not shared."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import tensorflow as tf

from benchmarks.attacks.corpus import Case, attack, tf_, torch_
from benchmarks.attacks.heads import X, as_array, tf_head, torch_head

PRIVATE = "private-and-no-number"
NAMES = "settings-of-other-names"
HASHES = "whole-numbers-of-64-bits"


def _actions(result):
    return [as_array(result.action())]


# --- private attributes that hold no number ----------


class _Squashed:
    """An action distribution that is squashed by what it was given."""

    def __init__(self, mean, squash):
        self.mean = mean
        self._squash = squash

    def action(self):
        return self._squash(as_array(self.mean))


def _tanh(z):
    return np.tanh(z)


def _softsign(z):
    return z / (1 + np.abs(z))


@attack(PRIVATE, "a distribution keeps to itself the function that squashes its actions", 11)
def squash_in_private() -> Case:
    def port(squash):
        return tf_(lambda x: _Squashed(tf_head(x), squash))

    def reference(x):
        return _Squashed(torch_head(x), _tanh)

    return Case(torch_(reference), port(_softsign), port(_tanh), X, _actions)


class _Angle:
    """A joint's angle, in a unit that it keeps to itself."""

    def __init__(self, value, unit):
        self.value = value
        self._unit = unit

    def action(self):
        scale = math.pi / 180 if self._unit == "degrees" else 1.0
        return as_array(self.value) * np.float32(scale)


@attack(PRIVATE, "an angle keeps its unit to itself: radians, or degrees in the port", 11)
def unit_in_private() -> Case:
    def port(unit):
        return tf_(lambda x: _Angle(tf_head(x), unit))

    def reference(x):
        return _Angle(torch_head(x), "radians")

    return Case(torch_(reference), port("degrees"), port("radians"), X, _actions)


class _Tanh:
    def __call__(self, z):
        return np.tanh(z)


class _Identity:
    def __call__(self, z):
        return z


@attack(PRIVATE, "a distribution keeps its bijector to itself, as an object without numbers", 11)
def bijector_in_private() -> Case:
    def port(kind):
        return tf_(lambda x: _Squashed(tf_head(x), kind()))

    def reference(x):
        return _Squashed(torch_head(x), _Tanh())

    return Case(torch_(reference), port(_Identity), port(_Tanh), X, _actions)


@dataclasses.dataclass
class _Actuator:
    """What moves a joint; two are one if they have one name."""

    name: str
    gain: float = dataclasses.field(compare=False)


class _Command:
    def __init__(self, value, actuator):
        self.value = value
        self._actuator = actuator

    def action(self):
        return as_array(self.value) * np.float32(self._actuator.gain)


@attack(PRIVATE, "a command keeps its actuator to itself: two of one name are equal", 11)
def actuator_of_one_name() -> Case:
    def port(gain):
        return tf_(lambda x: _Command(tf_head(x), _Actuator("hip", gain)))

    def reference(x):
        return _Command(torch_head(x), _Actuator("hip", 0.5))

    return Case(torch_(reference), port(0.25), port(0.5), X, _actions)


# --- settings whose names the models do not share ----------


class _Board:
    def __init__(self, values, rows, columns):
        self.values, self.rows, self.columns = values, rows, columns

    def shape_of(self):
        return self.rows, self.columns


class _Grid:
    def __init__(self, values, height, width):
        self.values, self.height, self.width = values, height, width

    def shape_of(self):
        return self.height, self.width


def _shape(result):
    return [as_array(result.values), np.array(result.shape_of(), np.float32)]


@attack(NAMES, "a board of 3 rows and 8 columns: the port says height and width, exchanged", 11)
def height_and_width_exchanged() -> Case:
    def port(*sizes):
        return tf_(lambda x: _Grid(tf_head(x), *sizes))

    def reference(x):
        return _Board(torch_head(x), 3, 8)

    return Case(torch_(reference), port(8, 3), port(3, 8), X, _shape)


class _Plan:
    def __init__(self, values, steps):
        self.values, self.steps = values, steps

    def until(self):
        return self.steps


class _PortedPlan:
    def __init__(self, values, horizon):
        self.values, self.horizon, self.version = values, horizon, 2

    def until(self):
        return self.horizon


def _until(result):
    return [as_array(result.values), np.array([result.until()], np.float32)]


@attack(NAMES, "a plan's number of steps has another name in the port, beside a version", 11)
def horizon_beside_a_version() -> Case:
    def port(horizon):
        return tf_(lambda x: _PortedPlan(tf_head(x), horizon))

    def reference(x):
        return _Plan(torch_head(x), 12)

    return Case(torch_(reference), port(3), port(12), X, _until)


# --- integers that float64 does not distinguish ----------

IDS = np.arange(1, 9, dtype=np.int64) * 7_919_191


@attack(HASHES, "states are known by a hash of 64 bits, of which the last constant is off by 2", 11)
def hash_of_a_state() -> Case:
    def port(constant):
        def model(ids):
            return ids * tf.constant(6364136223846793005, tf.int64) + tf.constant(
                constant, tf.int64
            )

        return model

    def reference(ids):
        return ids * 6364136223846793005 + 1442695040888963407

    def read(result):  # float64 would round them
        array = as_array(result).astype(np.int64)
        return [(array & 0xFFFF).astype(np.float64), (array >> 16 & 0xFFFF).astype(np.float64)]

    faulty, twin = tf_(port(1442695040888963409)), tf_(port(1442695040888963407))
    return Case(torch_(reference), faulty, twin, IDS, read, exact=True)
