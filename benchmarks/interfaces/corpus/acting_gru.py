"""A policy of a GRU that acts one step at a time.

Interface: an integer action, an optional state in and out, a keyword-only boolean mask, dropout and
a training flag; a dict out, with a None.
"""

import keras
import numpy as np
import torch
from keras import layers, ops
from torch import nn

from benchmarks.interfaces.weights import drawn


class TorchActing(nn.Module):
    def __init__(self, n_obs=10, n_prev=6, n_h=14):
        super().__init__()
        self.obs_fc = nn.Linear(n_obs, 20)
        self.prev_emb = nn.Embedding(n_prev, 4)
        self.rnn = nn.GRU(24, n_h, batch_first=True)
        self.head = nn.Linear(n_h, n_prev)
        self.critic = nn.Linear(n_h, 1)
        self.drop = nn.Dropout(0.1)

    def forward(self, obs, prev_action, state=None, *, action_mask=None):
        x = torch.relu(self.obs_fc(obs))
        x = torch.cat([x, self.prev_emb(prev_action)], dim=-1)
        x = self.drop(x)
        h0 = None if state is None else state.unsqueeze(0)
        y, h = self.rnn(x[:, None], h0)
        y = y[:, 0]
        logits = self.head(y)
        if action_mask is not None:
            logits = logits.masked_fill(~action_mask, -1e9)
        return {
            "logits": logits,
            "log_probs": torch.log_softmax(logits, -1),
            "value": self.critic(y).squeeze(-1),
            "state": h.squeeze(0),
            "aux": None,
        }


class KerasActing(keras.Model):
    def __init__(self, n_prev=6, n_h=14):
        super().__init__()
        self.obs_fc = layers.Dense(20, activation="relu")
        self.prev_emb = layers.Embedding(n_prev, 4)
        self.drop = layers.Dropout(0.1)
        self.rnn = layers.GRU(n_h, return_state=True)
        self.head = layers.Dense(n_prev)
        self.critic = layers.Dense(1)

    def call(self, obs, prev_action, state=None, *, action_mask=None, training=False):
        x = self.obs_fc(obs)
        e = self.prev_emb(prev_action)
        x = self.drop(ops.concatenate([x, e], axis=-1), training=training)
        y, h = self.rnn(ops.expand_dims(x, 1), initial_state=state, training=training)
        logits = self.head(y)
        if action_mask is not None:
            logits = ops.where(action_mask, logits, -1e9)
        return {
            "logits": logits,
            "log_probs": ops.log_softmax(logits, axis=-1),
            "value": self.critic(y)[:, 0],
            "state": h,
            "aux": None,
        }


def inputs():
    r = np.random.default_rng(4)
    f = lambda *s: r.normal(size=s).astype("float32")
    m = r.random((8, 6)) < 0.6
    m[:, 2] = True
    return {
        "obs": f(8, 10),
        "prev_action": r.integers(0, 6, size=8),
        "state": f(8, 14),
        "action_mask": m,
    }


def keras_side():
    model = KerasActing()
    model(**inputs())
    return drawn(model)


SIDES = {
    "torch": lambda: drawn(TorchActing()),
    "keras": keras_side,
}
