"""A DQN over actions that are inputs themselves.

Interface: a nested dict observation with an integer entry, the legal actions as a boolean mask in
it; a dict out, with a greedy action and a None. The Keras model is not built before it is used.
"""

import keras
import numpy as np
import torch
from keras import layers, ops
from torch import nn

from benchmarks.interfaces.weights import drawn


class TorchParametricDQN(nn.Module):
    def __init__(self, embed=6, hidden=24, n_units=5):
        super().__init__()
        self.cart = nn.Linear(4, hidden)
        self.unit_table = nn.Embedding(n_units, 3)
        self.body = nn.Sequential(nn.Linear(hidden + 3, hidden), nn.ELU(), nn.LayerNorm(hidden))
        self.action_net = nn.Linear(embed, hidden)
        self.intent = nn.Linear(hidden, hidden, bias=False)
        self.value = nn.Linear(hidden, 1)

    def forward(self, obs):
        real = obs["obs"]
        c = torch.tanh(self.cart(real["cart"]))
        u = self.unit_table(real["unit"])
        h = self.body(torch.cat([c, u], dim=-1))
        acts = self.action_net(obs["avail_actions"])  # (B, A, H)
        intent = self.intent(h).unsqueeze(1)  # (B, 1, H)
        adv = (acts * intent).sum(-1) / acts.shape[-1] ** 0.5
        mask = obs["action_mask"]
        m = mask.float()
        mean = (adv * m).sum(1, keepdim=True) / m.sum(1, keepdim=True).clamp(min=1.0)
        q = self.value(h) + adv - mean
        q = q.masked_fill(~mask, torch.finfo(q.dtype).min)
        return {"q": q, "greedy": q.argmax(-1), "features": h, "aux": None}


class KerasParametricDQN(keras.Model):
    def __init__(self, embed=6, hidden=24, n_units=5, **kw):
        super().__init__(**kw)
        self.hidden = hidden
        self.unit_emb = layers.Embedding(n_units, 3)
        self.cart_fc = layers.Dense(hidden, activation="tanh")
        self.fc = layers.Dense(hidden, activation="elu")
        self.norm = layers.LayerNormalization(epsilon=1e-5)
        self.to_intent = layers.Dense(hidden, use_bias=False)
        self.state_value = layers.Dense(1)
        self.encode_action = layers.Dense(hidden)

    def call(self, obs):
        real, mask = obs["obs"], obs["action_mask"]
        h = ops.concatenate([self.cart_fc(real["cart"]), self.unit_emb(real["unit"])], axis=-1)
        h = self.norm(self.fc(h))
        a = self.encode_action(obs["avail_actions"])
        adv = ops.einsum("bah,bh->ba", a, self.to_intent(h)) / float(self.hidden) ** 0.5
        m = ops.cast(mask, "float32")
        mean = ops.sum(adv * m, axis=1, keepdims=True) / ops.maximum(
            ops.sum(m, axis=1, keepdims=True), 1.0
        )
        q = self.state_value(h) + adv - mean
        q = ops.where(mask, q, np.finfo("float32").min)
        return {"q": q, "greedy": ops.argmax(q, axis=-1), "features": h, "aux": None}


def inputs(seed=0, n=6, a=7):
    r = np.random.default_rng(seed)
    mask = r.random((n, a)) < 0.6
    mask[:, 0] = True
    return {
        "obs": {"cart": r.normal(size=(n, 4)).astype("float32"), "unit": r.integers(0, 5, n)},
        "avail_actions": r.normal(size=(n, a, 6)).astype("float32"),
        "action_mask": mask,
    }


SIDES = {
    "torch": lambda: drawn(TorchParametricDQN()),
    "keras": KerasParametricDQN,
}
