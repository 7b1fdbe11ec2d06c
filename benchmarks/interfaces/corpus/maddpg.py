"""MADDPG: actors and critics of agents that differ in size.

Interface: a closure over lists of modules; tuples of arrays, optional ones too, a boolean mask; a
dict of lists out, with a None.
"""

import chainer
import chainer.functions as F
import chainer.links as L
import keras
import numpy as np
from keras import layers, ops

from benchmarks.interfaces.weights import drawn

SIZES, ACTS = (6, 9, 4), (2, 3, 2)


def keras_actor(n, a, i):
    return keras.Sequential(
        [
            keras.Input((n,)),
            layers.Dense(16, activation="leaky_relu"),
            layers.LayerNormalization(epsilon=1e-5),
            layers.Dense(a, activation="tanh"),
        ],
        name=f"actor_{i}",
    )


class KerasCritic(keras.Model):
    def __init__(self):
        super().__init__()
        self.l1 = layers.Dense(20)
        self.l2 = layers.Dense(20, activation="elu")
        self.q = layers.Dense(1)

    def call(self, observations, actions, training=False):
        x = ops.concatenate(list(observations) + list(actions), axis=-1)
        return ops.squeeze(self.q(self.l2(ops.relu(self.l1(x)))), -1)


def keras_maddpg(actors, critics, low=-2.0, high=2.0):
    def run(observations, replay_actions=None, noise=None, alive=None):
        actions = [actor(o) for actor, o in zip(actors, observations)]
        if noise is not None:
            actions = [ops.clip(a + n, -1.0, 1.0) for a, n in zip(actions, noise)]
        scaled = [low + (a + 1) * (high - low) / 2 for a in actions]
        if alive is not None:
            scaled = [ops.where(alive[:, i, None], a, 0.0) for i, a in enumerate(scaled)]
        qs = [critic(observations, scaled) for critic in critics]
        replay = (
            None
            if replay_actions is None
            else [critic(observations, replay_actions) for critic in critics]
        )
        return {"actions": scaled, "q": qs, "replay_q": replay, "info": None}

    return run


class ChainerActor(chainer.Chain):
    def __init__(self, n, a):
        super().__init__()
        with self.init_scope():
            self.h = L.Linear(n, 16)
            self.ln = L.LayerNormalization(16, eps=1e-5)
            self.out = L.Linear(16, a)

    def forward(self, x):
        return F.tanh(self.out(self.ln(F.leaky_relu(self.h(x), slope=0.2))))


class ChainerCritic(chainer.Chain):
    def __init__(self, n):
        super().__init__()
        with self.init_scope():
            self.a, self.b, self.c = L.Linear(n, 20), L.Linear(20, 20), L.Linear(20, 1)

    def forward(self, obs, acts):
        x = F.concat(tuple(obs) + tuple(acts), axis=1)
        return self.c(F.elu(self.b(F.relu(self.a(x)))))[:, 0]


def chainer_maddpg(actors, critics, low=-2.0, high=2.0):
    def run(observations, replay_actions=None, noise=None, alive=None):
        actions = [actor(o) for actor, o in zip(actors, observations)]
        if noise is not None:
            actions = [F.clip(a + n, -1.0, 1.0) for a, n in zip(actions, noise)]
        scaled = [(high + low) / 2 + a * ((high - low) / 2) for a in actions]
        if alive is not None:
            scaled = [
                a * np.repeat(alive[:, i, None], a.shape[1], axis=1) for i, a in enumerate(scaled)
            ]
        out = {
            "actions": scaled,
            "q": [c(observations, scaled) for c in critics],
            "replay_q": None,
            "info": None,
        }
        if replay_actions is not None:
            out["replay_q"] = [c(observations, replay_actions) for c in critics]
        return out

    return run


def inputs():
    r = np.random.default_rng(0)
    f = lambda *s: r.normal(size=s).astype("f")
    return dict(
        observations=tuple(f(6, n) for n in SIZES),
        replay_actions=tuple(np.tanh(f(6, a)) for a in ACTS),
        noise=tuple(0.3 * f(6, a) for a in ACTS),
        alive=r.random((6, 3)) < 0.7,
    )


def keras_side():
    actors = [keras_actor(n, a, i) for i, (n, a) in enumerate(zip(SIZES, ACTS))]
    critics = [KerasCritic() for _ in SIZES]
    keras_maddpg(actors, critics)(**inputs())
    return keras_maddpg([drawn(one) for one in actors], [drawn(one) for one in critics])


def chainer_side():
    actors = [drawn(ChainerActor(n, a)) for n, a in zip(SIZES, ACTS)]
    critics = [drawn(ChainerCritic(sum(SIZES) + sum(ACTS))) for _ in SIZES]
    return chainer_maddpg(actors, critics)


SIDES = {
    "keras": keras_side,
    "chainer": chainer_side,
}
