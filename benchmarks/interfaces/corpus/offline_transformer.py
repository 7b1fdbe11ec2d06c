"""A decision transformer of attention layers.

Interface: five inputs by keyword, with integer actions and a boolean padding mask that is optional,
dropout and a training flag; a dict out, with a None.
"""

import keras
import numpy as np
import torch
from keras import layers, ops
from torch import nn

from benchmarks.interfaces.weights import drawn

W, H, NACT, OBS, MAXT = 24, 3, 5, 7, 30


class Block(nn.Module):
    def __init__(self, drop):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(W), nn.LayerNorm(W)
        self.attn = nn.MultiheadAttention(W, H, dropout=drop, batch_first=True)
        self.mlp = nn.Sequential(
            nn.Linear(W, 2 * W), nn.GELU(), nn.Linear(2 * W, W), nn.Dropout(drop)
        )

    def forward(self, x, causal, padding):
        h = self.ln1(x)
        h, _ = self.attn(h, h, h, attn_mask=causal, key_padding_mask=padding, need_weights=False)
        x = x + h
        return x + self.mlp(self.ln2(x))


class TorchDT(nn.Module):
    def __init__(self, blocks=2, drop=0.1):
        super().__init__()
        self.embed_time = nn.Embedding(MAXT, W)
        self.embed_return = nn.Linear(1, W)
        self.embed_state = nn.Linear(OBS, W)
        self.embed_action = nn.Embedding(NACT, W)
        self.ln = nn.LayerNorm(W)
        self.blocks = nn.ModuleList([Block(drop) for _ in range(blocks)])
        self.drop = nn.Dropout(drop)
        self.predict_action = nn.Linear(W, NACT)
        self.predict_return = nn.Linear(W, 1)

    def forward(self, states, actions, returns_to_go, timesteps, attention_mask=None):
        n, t = actions.shape
        if attention_mask is None:
            attention_mask = torch.ones(n, t, dtype=torch.bool, device=states.device)
        time = self.embed_time(timesteps)
        r = self.embed_return(returns_to_go.unsqueeze(-1)) + time
        s = self.embed_state(states) + time
        a = self.embed_action(actions) + time
        x = torch.stack([r, s, a], dim=2).reshape(n, 3 * t, W)
        x = self.drop(self.ln(x))
        padding = ~attention_mask.bool().repeat_interleave(3, dim=1)
        causal = torch.triu(torch.ones(3 * t, 3 * t, dtype=torch.bool, device=x.device), 1)
        for block in self.blocks:
            x = block(x, causal, padding)
        x = x.reshape(n, t, 3, W)
        return {
            "action_logits": self.predict_action(x[:, :, 1]),
            "return_preds": self.predict_return(x[:, :, 2]).squeeze(-1),
            "state_preds": None,
        }


class KerasBlock(layers.Layer):
    def __init__(self, drop, **kw):
        super().__init__(**kw)
        self.ln1 = layers.LayerNormalization(epsilon=1e-5)
        self.attn = layers.MultiHeadAttention(H, W // H, dropout=drop)
        self.ln2 = layers.LayerNormalization(epsilon=1e-5)
        self.fc = layers.Dense(2 * W, activation="gelu")
        self.proj = layers.Dense(W)
        self.drop = layers.Dropout(drop)

    def call(self, x, mask, training=None):
        h = self.ln1(x)
        x = x + self.attn(h, h, attention_mask=mask, use_causal_mask=True, training=training)
        h = self.fc(self.ln2(x))
        return x + self.drop(self.proj(h), training=training)


class KerasDT(keras.Model):
    def __init__(self, blocks=2, drop=0.1, **kw):
        super().__init__(**kw)
        self.time = layers.Embedding(MAXT, W)
        self.ret = layers.Dense(W)
        self.st = layers.Dense(W)
        self.act = layers.Embedding(NACT, W)
        self.ln = layers.LayerNormalization(epsilon=1e-5)
        self.drop = layers.Dropout(drop)
        self.stack = [KerasBlock(drop) for _ in range(blocks)]
        self.pi = layers.Dense(NACT, name="pi")
        self.rhat = layers.Dense(1, name="rhat")

    def call(self, states, actions, returns_to_go, timesteps, attention_mask=None, training=None):
        t = actions.shape[1]
        time = self.time(timesteps)
        r = self.ret(returns_to_go[..., None]) + time
        s = self.st(states) + time
        a = self.act(actions) + time
        x = ops.reshape(ops.stack([r, s, a], axis=2), (-1, 3 * t, W))
        x = self.drop(self.ln(x), training=training)
        mask = None
        if attention_mask is not None:
            mask = ops.repeat(ops.cast(attention_mask, "bool"), 3, axis=1)[:, None, :]
        for block in self.stack:
            x = block(x, mask, training=training)
        x = ops.reshape(x, (-1, t, 3, W))
        return {
            "action_logits": self.pi(x[:, :, 1]),
            "return_preds": ops.squeeze(self.rhat(x[:, :, 2]), -1),
            "state_preds": None,
        }


def inputs(seed=0, n=4, t=6):
    r = np.random.default_rng(seed)
    mask = np.ones((n, t), bool)
    mask[1, 4:] = False
    mask[3, 3:] = False
    return dict(
        states=r.normal(size=(n, t, OBS)).astype("float32"),
        actions=r.integers(0, NACT, (n, t)),
        returns_to_go=r.normal(size=(n, t)).astype("float32"),
        timesteps=np.arange(t)[None] + r.integers(0, 20, (n, 1)),
        attention_mask=mask,
    )


def keras_side():
    model = KerasDT()
    model(**inputs())
    return drawn(model)


SIDES = {
    "torch": lambda: drawn(TorchDT()),
    "keras": keras_side,
}
