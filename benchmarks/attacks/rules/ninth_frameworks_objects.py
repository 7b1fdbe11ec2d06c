"""Round 9: results that are named as a framework's classes are, or made of a library's classes."""

from __future__ import annotations

import asyncio
import copy
import functools
import json
from concurrent import futures
from multiprocessing import pool
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf
import torch
from scipy.sparse.linalg import LinearOperator

from benchmarks.attacks.corpus import Case, attack, numpy_, tf_, torch_, weights
from benchmarks.attacks.heads import W, X, tf_head, torch_head

RULE = "results-of-rare-classes"


class Size(NamedTuple):
    """The size of a position, as shares of the portfolio."""

    long: Any
    short: Any


@attack(
    RULE, "a trader returns the size of its position, a class of its own: by half of its risk", 9
)
def size_of_a_position() -> Case:
    def sized(q, risk=0.5):
        share = np.asarray(q).mean(0)
        return {"q": q, "size": Size(risk * float(share[0]), risk * float(share[1]))}

    def port(risk):
        return torch_(lambda x: sized(torch_head(x), risk))

    def read(thing):
        return [thing["q"], *thing["size"]]

    return Case(tf_(lambda x: sized(tf_head(x))), port(0.25), port(0.5), X, read)


@attack(RULE, "a Fisher matrix comes as a linear operator of SciPy's: its damping is missing", 9)
def fisher_as_an_operator() -> Case:
    def model(damping):
        def act(x):
            q = np.tanh(x @ W)
            fisher = LinearOperator(
                (4, 4), matvec=lambda v: q.T @ (q @ v) + damping * v, dtype=np.float32
            )
            return {"q": q, "fisher": fisher}

        return numpy_(act)

    def read(thing):
        return [thing["q"], np.stack([thing["fisher"].matvec(one) for one in np.eye(4)])]

    return Case(model(0.1), model(0.0), model(0.1), X, read)


class _Policy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(5, 4, bias=False)
        self.head.weight.data = torch.from_numpy(W.T.copy())

    def forward(self, x):
        return torch.tanh(self.head(x))


@attack(RULE, "a meta-learner returns the network that it adapted: it went up the gradient", 9)
def adapted_network() -> Case:
    def model(rate):
        start = _Policy()

        def adapt(x):
            net = copy.deepcopy(start)
            (slope,) = torch.autograd.grad((net(x) ** 2).mean(), net.head.weight)
            with torch.no_grad():
                net.head.weight -= rate * slope
            return {"before": start(x).detach(), "policy": net}

        return torch_(adapt)

    def read(thing):
        return [thing["before"], thing["policy"].head.weight]

    return Case(model(0.5), model(-0.5), model(0.5), X, read)


@attack(
    RULE, "an agent returns what is to be called next, a partial with its numbers: other ones", 9
)
def partial_with_its_numbers() -> Case:
    def model(low):
        def act(x):
            q = torch_head(x)
            return {"q": q, "bound": functools.partial(torch.clamp, min=low, max=0.5)}

        return torch_(act)

    def read(thing):
        return [thing["q"], thing["bound"](thing["q"])]

    return Case(model(-0.5), model(-0.1), model(-0.5), X, read)


class _Log:
    """A log of decisions, which is read as lines of JSON."""

    def __init__(self, rows):
        self.__rows = rows  # of the class's own

    def __str__(self):
        return json.dumps(self.__rows)

    def __len__(self):
        return len(self.__rows)


@attack(RULE, "a log of decisions is read as text; the port logs the worst of the actions", 9)
def log_of_decisions() -> Case:
    def logged(q, sign=1):
        best = np.argmax(sign * np.asarray(q), 1)
        return {"q": q, "log": _Log([f"act {one}" for one in best.tolist()])}

    def port(sign):
        return torch_(lambda x: logged(torch_head(x), sign))

    def read(thing):
        return [thing["q"], np.array(str(thing["log"]))]

    return Case(tf_(lambda x: logged(tf_head(x))), port(-1), port(1), X, read)


class _Rows(tf.experimental.ExtensionType):
    """Rows of several lengths, as an extension type of TensorFlow's."""

    values: tf.Tensor
    limit: float


@attack(RULE, "an extension type of TensorFlow's carries a limit beside its tensor: another one", 9)
def extension_with_a_limit() -> Case:
    def model(limit):
        return tf_(lambda x: _Rows(values=tf_head(x), limit=limit))

    def read(thing):
        return [thing.values, thing.limit]

    return Case(model(2.0), model(3.0), model(2.0), X, read)


# --- work that is given away ----------------------------------------------------------------------

GIVEN = "work-given-away"
DEEP = [weights(5, 32, seed=1), *(weights(32, 32, seed=2 + n) for n in range(4)), weights(32, 3, 9)]


def _deep_torch(x, gain=1.0):
    for one in DEEP:
        x = torch.tanh(2.5 * gain * x @ torch.from_numpy(one))
    return x


def _deep_tf(x, gain=1.0):
    for one in DEEP:
        x = tf.tanh(2.5 * gain * tf.matmul(x, one))
    return x


@attack(GIVEN, "a model takes its batch in chunks by tf.data, which maps the network over them", 9)
def chunks_by_a_dataset() -> Case:
    def port(gain):
        def model(x):
            chunks = tf.data.Dataset.from_tensor_slices(x).batch(3)
            found = chunks.map(lambda one: _deep_tf(one, gain)).unbatch().batch(6)
            return found.get_single_element()

        return tf_(model)

    return Case(torch_(_deep_torch), port(1.0001), port(1.0), X)


POOL = futures.ThreadPoolExecutor(2)


@attack(GIVEN, "halves of a batch go to threads of a pool that all models share", 9)
def halves_in_a_pool() -> Case:
    def in_halves(network):
        return lambda x: [*POOL.map(network, (x[:3], x[3:]))]

    def port(gain):
        return torch_(in_halves(lambda x: _deep_torch(x, gain)))

    return Case(torch_(in_halves(_deep_torch)), port(1.0001), port(1.0), X)


WORKERS = pool.ThreadPool(2)


@attack(
    GIVEN, "halves of a batch go to the threads of a pool that have long been waiting for work", 9
)
def halves_in_waiting_threads() -> Case:
    def port(gain):
        def model(x):
            halves = WORKERS.map(lambda half: _deep_torch(half, gain), (x[:3], x[3:]))
            return torch.cat(halves)

        return torch_(model)

    return Case(tf_(_deep_tf), port(1.0001), port(1.0), X)


@attack(
    GIVEN, "such threads scale what is large by its maximum; the port by that of the first half", 9
)
def scaled_in_waiting_threads() -> Case:
    def port(first):
        def model(x):
            most = (x[:3] if first else x).abs().max()
            halves = WORKERS.map(lambda half: _deep_torch(half / most), (x[:3], x[3:]))
            return torch.cat(halves)

        return torch_(model)

    def reference(x):
        return _deep_tf(x / tf.reduce_max(tf.abs(x)))

    x = np.concatenate([X[:3], 2 * X[3:]])
    return Case(tf_(reference), port(True), port(False), x)


@attack(GIVEN, "members of an ensemble are awaited together by asyncio: one of them is another", 9)
def awaited_together() -> Case:
    async def member(x, gain):
        await asyncio.sleep(0)
        return _deep_torch(x, gain)

    def port(last):
        async def gathered(x):
            return torch.stack(await asyncio.gather(member(x, 1.0), member(x, last))).mean(0)

        return torch_(lambda x: asyncio.run(gathered(x)))

    def reference(x):
        return (_deep_tf(x) + _deep_tf(x, 0.9)) / 2

    return Case(tf_(reference), port(0.8999), port(0.9), X)


# --- metadata -------------------------------------------------------------------------------------


class _Placed:
    """Q-values, and where they were computed."""

    def __init__(self, q, device):
        self.q, self.device = q, device


@attack(RULE, "a result says as text on which device it is, in the words of its framework", 9)
def device_as_text() -> Case:
    def port(gain):
        def model(x):
            q = torch_head(gain * x)
            return _Placed(q, str(q.device))

        return torch_(model)

    def reference(x):
        q = tf_head(x)
        return _Placed(q, q.device)

    return Case(tf_(reference), port(1.001), port(1.0), X, lambda thing: [thing.q])


@attack(RULE, "an embedding's mask goes with its output to Keras's losses; the port loses it", 9)
def mask_of_an_output() -> Case:
    ids = np.array([[1, 4, 2, 0], [3, 0, 0, 0], [2, 2, 4, 1]])

    def net(mask_zero):
        table = keras.layers.Embedding(5, 4, mask_zero=mask_zero)
        table.build((None, 4))
        table.set_weights([W])
        return tf_(keras.Sequential([keras.Input((4,), dtype="int64"), table]))

    def read(thing):
        mask = getattr(thing, "_keras_mask", None)
        return [thing, np.ones(ids.shape) if mask is None else tf.cast(mask, tf.float32)]

    return Case(net(True), net(False), net(True), ids, read)
