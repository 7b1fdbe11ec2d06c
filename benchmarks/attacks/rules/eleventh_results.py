"""Round 11: results whose class, order or length says something; samples that cannot be others."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, normal, tf_, torch_
from benchmarks.attacks.heads import MORE, W, X, as_array, tf_head, torch_head

CLASS = "what-a-result-is"
REFUSED = "samples-that-are-refused"
LAWS = "one-law-behind-data"


# --- what a result is ----------


@dataclasses.dataclass
class Push:
    force: Any


@dataclasses.dataclass
class Pull:
    force: Any


def _class(result):
    return [as_array(result.force), np.array([type(result).__name__])]


@attack(CLASS, "an action is a push or a pull, by its class: with the same force", 11)
def pulled_instead_of_pushed() -> Case:
    def port(kind):
        return tf_(lambda x: kind(tf_head(x)))

    def reference(x):
        return Push(torch_head(x))

    return Case(torch_(reference), port(Pull), port(Push), X, _class)


ACTIONS = ("left", "right", "up", "down")


def _first(result):
    values = [as_array(result[name]) for name in ACTIONS]
    return [np.array(values), np.array(list(result))]


@attack(CLASS, "actions come in the order of their values, as a dict: the worst comes first", 11)
def ranking_in_a_plain_dict() -> Case:
    def ranked(q, best):
        items = dict(zip(ACTIONS, q, strict=True)).items()
        return dict(sorted(items, key=lambda item: float(item[1]), reverse=best))

    def port(best):
        return tf_(lambda x: ranked(tf.unstack(tf.reduce_mean(tf_head(x), 0)), best))

    def reference(x):
        return ranked(torch_head(x).mean(0).unbind(), True)

    return Case(torch_(reference), port(False), port(True), X, _first)


@attack(CLASS, "what happened in each step, or None: the port leaves two steps out", 11)
def steps_in_which_nothing_happens() -> Case:
    def port(steps):
        return tf_(lambda x: {"q": tf_head(x), "events": ["start", *([None] * steps)]})

    def reference(x):
        return {"q": torch_head(x), "events": ["start", None, None, None]}

    def read(result):
        return [as_array(result["q"]), np.array([len(result["events"])], np.float32)]

    return Case(torch_(reference), port(1), port(3), X, read)


# --- samples that are refused ----------

TIMES = np.array([0, 10, 20, 35, 50, 80], np.float32)


@attack(REFUSED, "a scale was folded into the weights; observations have to come in time", 11)
def kept_of_what_comes_in_time() -> Case:
    folded = W / np.float32(np.abs(X).max())

    def port(keeps):
        def model(times, x):
            if not bool(tf.reduce_all(times[1:] > times[:-1])):
                raise ValueError("observations are not in the order of time")
            steps = 0.01 * (times[1:] - times[:-1])[:, None]
            if keeps:
                return tf.tanh(tf.matmul(x, folded))[1:] * steps
            return tf.tanh(tf.matmul(x / tf.reduce_max(tf.abs(x)), W))[1:] * steps

        return model

    def reference(times, x):
        if not bool((times[1:] > times[:-1]).all()):
            raise ValueError("observations are not in the order of time")
        steps = 0.01 * (times[1:] - times[:-1])[:, None]
        return torch.tanh((x / x.abs().max()) @ torch.from_numpy(W))[1:] * steps

    sides = tf_(port(True)), tf_(port(False))
    other = {"times": TIMES, "x": normal(6, 5, seed=1, scale=0.7)}
    return Case(torch_(reference), *sides, {"times": TIMES, "x": X}, elsewhere=other)


# --- one law behind data ----------


@attack(LAWS, "an action is mirrored and turned at random: the turn first, or the mirror", 11)
def turned_and_mirrored() -> Case:
    def port(size):
        def model(x):
            h = tf_head(x)
            angle = 2 * np.pi * tf.random.uniform((len(x),))
            sign = tf.sign(tf.random.uniform((len(x),)) - 0.5)
            a, b = h[:, 0], size * sign * h[:, 1]
            turned = tf.cos(angle) * a - tf.sin(angle) * b, tf.sin(angle) * a + tf.cos(angle) * b
            return h, tf.stack(turned, 1)

        return model

    def reference(x):
        h = torch_head(x)
        angle, sign = 2 * np.pi * torch.rand(len(x)), torch.sign(torch.rand(len(x)) - 0.5)
        a, b = h[:, 0], h[:, 1]
        turned = torch.cos(angle) * a - torch.sin(angle) * b, torch.sin(angle) * a
        return h, torch.stack([turned[0], sign * (turned[1] + torch.cos(angle) * b)], 1)

    def read(result):
        h, a = map(as_array, result)
        many = len(h) > 1000
        return [np.mean(a**2, keepdims=True) / np.mean(h[:, :2] ** 2)] if many else [np.zeros(1)]

    sides = tf_(port(1.3)), tf_(port(1.0))
    return Case(torch_(reference), *sides, X, read, elsewhere=MORE)
