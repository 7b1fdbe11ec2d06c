"""A recurrent agent that acts.

Interface: a bound method; nested frozen dataclasses in, with booleans, integers and a field left at
None, the state in and out, a flag to explore; a NamedTuple out that holds a dict.
"""

import dataclasses
from typing import Any, NamedTuple

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
import tensorflow as tf

from benchmarks.interfaces.weights import drawn


@dataclasses.dataclass(frozen=True)
class Body:
    joints: Any
    contacts: Any  # bool


@dataclasses.dataclass(frozen=True)
class Obs:
    body: Body
    goal: Any
    task: Any  # int
    extra: Any = None


class Step(NamedTuple):
    action: Any
    value: Any
    state: Any
    info: dict


class TFAgent(tf.Module):
    def __init__(self, hidden=15, actions=3, tasks=4):
        super().__init__()
        w = lambda *s: tf.Variable(tf.random.normal(s, stddev=0.3))
        self.table = w(tasks, 4)
        self.w_in, self.b_in = w(6 + 2 + 3 + 4, hidden), w(hidden)
        self.wz, self.uz, self.bz = w(hidden, hidden), w(hidden, hidden), w(hidden)
        self.wr, self.ur, self.br = w(hidden, hidden), w(hidden, hidden), w(hidden)
        self.wn, self.un, self.bn = w(hidden, hidden), w(hidden, hidden), w(hidden)
        self.wa, self.ba = w(hidden, actions), w(actions)
        self.wv, self.bv = w(hidden, 1), w(1)

    def act(self, obs, state, explore=False):
        mean, value, h, update = self._step(
            obs.body.joints, obs.body.contacts, obs.goal, obs.task, state
        )
        if explore:
            mean += tf.random.normal(tf.shape(mean)) * 0.1
        return Step(mean, value, h, {"update": update, "skipped": None})

    @tf.function
    def _step(self, joints, contacts, goal, task, state):
        x = tf.concat(
            [joints, tf.cast(contacts, tf.float32), goal, tf.gather(self.table, task)], -1
        )
        x = tf.tanh(x @ self.w_in + self.b_in)
        z = tf.sigmoid(x @ self.wz + state @ self.uz + self.bz)
        r = tf.sigmoid(x @ self.wr + state @ self.ur + self.br)
        n = tf.tanh(x @ self.wn + (r * state) @ self.un + self.bn)
        h = (1.0 - z) * state + z * n
        mean = tf.tanh(h @ self.wa + self.ba)
        return mean, (h @ self.wv + self.bv)[:, 0], h, tf.reduce_mean(z, -1)


class ChainerAgent(chainer.Chain):
    def __init__(self, hidden=15, actions=3, tasks=4):
        super().__init__()
        with self.init_scope():
            self.task = L.EmbedID(tasks, 4)
            self.enc = L.Linear(15, hidden)
            self.gate_x = L.Linear(hidden, 2 * hidden)
            self.gate_h = L.Linear(hidden, 2 * hidden, nobias=True)
            self.cand_x = L.Linear(hidden, hidden)
            self.cand_h = L.Linear(hidden, hidden, nobias=True)
            self.pi = L.Linear(hidden, actions)
            self.vf = L.Linear(hidden, 1)

    def act(self, obs, state, explore=False):
        contacts = (
            self.xp.asarray(obs.body.contacts).astype("f")
            if not isinstance(obs.body.contacts, chainer.Variable)
            else F.cast(obs.body.contacts, "f")
        )
        x = F.concat([obs.body.joints, contacts, obs.goal, self.task(obs.task)])
        x = F.tanh(self.enc(x))
        r, z = F.split_axis(F.sigmoid(self.gate_x(x) + self.gate_h(state)), 2, axis=1)
        n = F.tanh(self.cand_x(x) + self.cand_h(r * state))
        h = (1 - z) * state + z * n
        mean = F.tanh(self.pi(h))
        return Step(mean, self.vf(h)[:, 0], h, {"update": F.mean(z, axis=1), "skipped": None})


def inputs(seed=0, n=6):
    r = np.random.default_rng(seed)
    f = lambda *s: r.normal(size=s).astype("float32")
    return (
        Obs(Body(f(n, 6), r.random((n, 2)) < 0.5), f(n, 3), r.integers(0, 4, n).astype("int32")),
        f(n, 15),
    )


SIDES = {
    "tensorflow": lambda: drawn(TFAgent()).act,
    "chainer": lambda: drawn(ChainerAgent()).act,
}
