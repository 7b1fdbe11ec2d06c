"""Round 7: what the closing checks allow where numbers were moved, or have no float64."""

from __future__ import annotations

import base64

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, normal, numpy_, tf_, torch_, uniform
from benchmarks.attacks.heads import W, X, answered, tf_head, torch_head

ALLOWED = "allowed-to-others"
HOST = "host-numbers-near-a-tie"
STEPS = "small-steps"
FORMATS = "formats-of-a-leaf"


def _standardised(x):
    return ((x - np.float32(0.1)) / np.float32(1.3)).astype(np.float32)


@attack(ALLOWED, "a py_function standardises, and small probabilities are floored far behind it", 7)
def floored_behind_a_py_function() -> Case:
    x = 9 * normal(40, 6)

    def port(floor):
        def model(x):
            h = tf.py_function(lambda one: _standardised(one.numpy()), [x], tf.float32)
            h.set_shape((40, 6))
            return tf.maximum(tf.nn.softmax(h), floor)

        return model

    def reference(x):
        return torch.softmax((x - 0.1) / 1.3, 1)

    return Case(torch_(reference), tf_(port(2e-8)), tf_(port(0.0)), x)


@attack(ALLOWED, "small numbers lie scattered in a model without float64: their gain is off", 7)
def small_gains_behind_a_py_function() -> Case:
    x = normal(40, 6)
    tall = np.where(np.eye(40, 6) + np.eye(40, 6, -6) > 0, 1e-3, 1.0).astype(np.float32)

    def port(off):
        def model(x):
            h = tf.py_function(lambda one: _standardised(one.numpy()), [x], tf.float32)
            h.set_shape((40, 6))
            return tf.sigmoid(h) * tall * np.where(tall < 1, 1 + np.float32(off), 1)

        return model

    def reference(x):
        return torch.sigmoid((x - 0.1) / 1.3) * torch.from_numpy(tall)

    return Case(torch_(reference), tf_(port(2e-4)), tf_(port(0.0)), x)


@attack(
    HOST, "an advantage in a list of the host's, beside large returns: its baseline is stale", 7
)
def advantage_beside_returns() -> Case:
    x = uniform(6, 5, low=0.5, high=1.5)

    def port(stale):
        def model(x):
            q, large = torch_head(x), (400 * x.sum(1)).tolist()
            advantage = float(20 * x[0, 0] - 20 * x[0, 1]) + stale
            return {"q": q, "stated": [*large, advantage]}

        return model

    def reference(x):
        q, large = tf_head(x), (400 * tf.reduce_sum(x, 1)).numpy().tolist()
        return {"q": q, "stated": [*large, float(20 * x[0, 0] - 20 * x[0, 1])]}

    def read(result):
        return [result["q"], *map(np.array, result["stated"])]

    return Case(tf_(reference), torch_(port(9e-5)), torch_(port(0.0)), x, read)


@attack(HOST, "prices are whole numbers of Python's: a few lie near a half", 7)
def whole_prices() -> Case:
    x = normal(400, 5, seed=11)

    def make(q, k):
        return [round(10_000 * k * float(one)) for one in q.ravel()]

    def port(k):
        def model(x):
            q = torch_head(x)
            return {"q": q, "prices": make(q.numpy(), k)}

        return model

    def reference(x):
        q = tf_head(x)
        return {"q": q, "prices": make(q.numpy(), 1.0)}

    def read(result):
        return [result["q"], np.array(result["prices"])]

    return Case(tf_(reference), torch_(port(1.01)), torch_(port(1.0)), x, read)


# --- right, and by small steps --------------------------------------------------------------------


@attack(STEPS, "AdamW's decay is a factor of the weight before the step, or a part of the step", 7)
def decoupled_decay() -> Case:
    def port(decay):
        def model(x):
            w = torch.from_numpy(W)
            for _ in range(3):
                update = torch.tanh(x.T @ torch.tanh(x @ w))
                w = w * (1 - 5e-5 * decay)
                w = w - 5e-5 * update
            return torch.tanh(x @ w), w

        return model

    def reference(x):
        w = tf.constant(W)
        for _ in range(3):
            update = tf.tanh(tf.matmul(x, tf.tanh(tf.matmul(x, w)), transpose_a=True))
            w = w - 5e-5 * (update + 0.1 * w)
        return tf.tanh(tf.matmul(x, w)), w

    return Case(tf_(reference), torch_(port(0.3)), torch_(port(0.1)), X)


@attack(STEPS, "a target network follows by 5e-5, written as a mean or as a step", 7)
def soft_target() -> Case:
    other = normal(5, 4, seed=4)

    def port(rate):
        def model(x):
            online, target = torch.from_numpy(W) + 0.1 * x[:5, :4], torch.from_numpy(other)
            for _ in range(4):
                target = (1 - rate) * target + rate * online
            return x @ target

        return model

    def reference(x):
        online, target = W + 0.1 * x[:5, :4], tf.constant(other)
        for _ in range(4):
            target = target + 5e-5 * (online - target)
        return tf.matmul(x, target)

    return Case(tf_(reference), torch_(port(7e-5)), torch_(port(5e-5)), X)


@attack(STEPS, "frequencies of positions are computed by NumPy in float32, or by a power", 7)
def frequencies_by_exp() -> Case:
    x = uniform(6, 8, low=0, high=300)

    def port(base):
        rates = np.exp(np.arange(16, dtype=np.float32) * np.float32(-np.log(base) / 16))
        return lambda x: torch.sin(x[..., None] * torch.from_numpy(rates))

    def reference(x):
        return tf.sin(x[..., None] * tf.pow(10000.0, -tf.range(16.0) / 16))

    return Case(tf_(reference), torch_(port(10010.0)), torch_(port(10000.0)), x)


@attack(STEPS, "an angle between vectors is guarded by bounds of 1 - 1e-7, or taken by arctan2", 7)
def guarded_angle() -> Case:
    x, y = normal(8, 3), normal(8, 3, seed=2)

    def port(scale):
        def model(x, y):
            a, b = (v / torch.linalg.vector_norm(v, dim=1, keepdim=True) for v in (x, y))
            cosine = (a * b).sum(1).clamp(-1 + 1e-7, 1 - 1e-7)
            return scale * torch.arccos(cosine)

        return model

    def reference(x, y):
        across = tf.norm(tf.linalg.cross(x, y), axis=1)
        return tf.atan2(across, tf.reduce_sum(x * y, 1))

    return Case(tf_(reference), torch_(port(1.001)), torch_(port(1.0)), (x, y))


@attack(STEPS, "a normal distribution function by NumPy's polynomial, as its error function", 7)
def normal_by_polynomial() -> Case:
    x = uniform(6, 5, low=0.3, high=2.5)
    factors = 0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429

    def port(k):
        def model(x):
            z = x / np.sqrt(2.0)
            t = 1 / (1 + 0.3275911 * z)
            series = sum(c * t ** (i + 1) for i, c in enumerate(factors))
            return 0.5 * (1 + k * (1 - series * np.exp(-z * z)))

        return model

    def reference(x):
        return 0.5 * (1 + tf.math.erf(x / np.float32(np.sqrt(2.0))))

    return Case(tf_(reference), numpy_(port(0.999)), numpy_(port(1.0)), x)


@attack(
    STEPS,
    "a softplus less the log of 2, as float32 has it: with seven digits, or of a tensor's item",
    7,
    {"digits": (0.6931472,), "item": (float(np.float32(np.log(2.0))),)},
)
def shifted_softplus(shift) -> Case:
    def port(shift):
        return lambda x: torch.nn.functional.softplus(x @ torch.from_numpy(W)) - shift

    def reference(x):
        return tf.math.log(0.5 * tf.exp(tf.matmul(x, W)) + 0.5)

    return Case(tf_(reference), torch_(port(0.6935)), torch_(port(shift)), X + 2)


@attack(STEPS, "a loss of log cosh: the log of 2 is written with seven digits", 7)
def logarithm_of_cosh() -> Case:
    x = uniform(6, 5, low=0.7, high=3.0)

    def port(constant):
        return lambda x: x + torch.nn.functional.softplus(-2 * x) - constant

    def reference(x):
        return tf.math.log(tf.math.cosh(x))

    return Case(tf_(reference), torch_(port(0.6935)), torch_(port(0.6931472)), x)


@attack(STEPS, "numbers less their mean, which is a sum times a seventh as float32 has it", 7)
def mean_by_a_seventh() -> Case:
    x = normal(8, 7)

    def port(share):
        return lambda x: torch.tanh(torch.sub(x, x.sum(1, keepdim=True), alpha=share))

    def reference(x):
        return tf.tanh(x - tf.reduce_mean(x, 1, keepdims=True))

    return Case(tf_(reference), torch_(port(1 / 6)), torch_(port(0.14285715)), x)


# --- texts that are right -------------------------------------------------------------------------


def _of_base64(text):
    return np.frombuffer(base64.b64decode(text), "<f4")


def _of_words(convert):
    return lambda text: np.array([convert(one) for one in text.split()])


@attack(
    FORMATS,
    "Q-values as a text: base64 of their bytes, with decimal commas, or in hexadecimals",
    7,
    {
        "base64": (lambda q: base64.b64encode(q.astype("<f4").tobytes()).decode(), _of_base64),
        "comma": (
            lambda q: " ".join(f"{one:.9f}".replace(".", ",") for one in q.ravel()),
            _of_words(lambda one: float(one.replace(",", "."))),
        ),
        "hexadecimal": (
            lambda q: " ".join(float(one).hex() for one in q.ravel()),
            _of_words(float.fromhex),
        ),
    },
)
def text_of_numbers(write, parse) -> Case:
    return answered(write, parse, normal(40, 5))


@attack(FORMATS, "the levels that occur are a set, one of which is a whole 0", 7)
def levels_and_zero() -> Case:
    def port(k):
        def model(x):
            q = k * torch_head(x)
            return {"q": q, "levels": frozenset([0, *q.amax(1).tolist()])}

        return model

    def reference(x):
        q = tf_head(x)
        return {"q": q, "levels": frozenset([0, *tf.reduce_max(q, 1).numpy().tolist()])}

    def read(result):
        return [result["q"], np.array(sorted(result["levels"]))]

    return Case(tf_(reference), torch_(port(1.01)), torch_(port(1.0)), normal(40, 5), read)


@attack(
    FORMATS, "a mean and a deviation have other names in the port, and come in another order", 7
)
def names_in_another_order() -> Case:
    def reference(x):
        h = tf_head(x)
        return {"mean": h, "scale": tf.exp(h)}

    def port(k):
        def model(x):
            h = torch_head(x)
            return {"sigma": k * torch.exp(h), "mu": h}

        return model

    def read(result):
        return [result.get("mean", result.get("mu")), result.get("scale", result.get("sigma"))]

    return Case(tf_(reference), torch_(port(1.01)), torch_(port(1.0)), X, read)
