"""A policy of several modules in a closure.

Interface: a function; a boolean done that resets the state, the state in and out; a dict out.
"""

import keras
import numpy as np
import torch
from keras import layers, ops
from torch import nn

from benchmarks.interfaces.weights import drawn


def make_torch_policy(obs_dim=6, actions=4, hidden=14):
    encoder = nn.Sequential(nn.Linear(obs_dim, hidden), nn.LayerNorm(hidden), nn.Tanh())
    prev = nn.Embedding(actions + 1, 5)
    gru = nn.GRU(hidden + 5, hidden, batch_first=True)
    actor, critic = nn.Linear(hidden, actions), nn.Linear(hidden, 1)

    def policy(obs, prev_action, done, state):
        e = encoder(obs)
        a = prev(torch.where(done, torch.zeros_like(prev_action), prev_action + 1))
        state = state * (~done).float().unsqueeze(-1)
        out, new_state = gru(torch.cat([e, a], -1)[:, None], state[None])
        h = out.squeeze(1)
        return {"logits": actor(h), "value": critic(h).squeeze(-1), "state": new_state[0]}

    for part in (encoder, prev, gru, actor, critic):
        drawn(part)
    return policy


def make_keras_policy(obs_dim=6, actions=4, hidden=14):
    encoder = keras.Sequential(
        [
            keras.Input((obs_dim,)),
            layers.Dense(hidden),
            layers.LayerNormalization(epsilon=1e-5),
            layers.Activation("tanh"),
        ]
    )
    prev = layers.Embedding(actions + 1, 5)
    gru = layers.GRU(hidden, return_state=True, return_sequences=True, reset_after=True)
    actor, critic = layers.Dense(actions), layers.Dense(1)
    prev.build((None,))
    gru.build((None, 1, hidden + 5))
    actor.build((None, hidden))
    critic.build((None, hidden))

    def policy(obs, prev_action, done, state):
        e = encoder(obs)
        a = prev(ops.where(done, 0, prev_action + 1))
        keep = 1.0 - ops.cast(done, "float32")
        state = state * keep[:, None]
        out, new_state = gru(ops.concatenate([e, a], -1)[:, None, :], initial_state=state)
        h = out[:, 0]
        return {"logits": actor(h), "value": ops.squeeze(critic(h), -1), "state": new_state}

    for part in (encoder, prev, gru, actor, critic):
        drawn(part)
    return policy


def inputs(seed=0, n=6):
    r = np.random.default_rng(seed)
    done = r.random(n) < 0.4
    done[0], done[1] = True, False
    return (
        r.normal(size=(n, 6)).astype("float32"),
        r.integers(0, 4, n),
        done,
        r.normal(size=(n, 14)).astype("float32"),
    )


SIDES = {
    "torch": make_torch_policy,
    "keras": make_keras_policy,
}
