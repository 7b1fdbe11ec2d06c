"""Decision transformer (Chen et al. 2021), a small GPT over (return, state, action) triples."""
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
MODE = "train"
STATE, ACT, WIDTH, HEADS, CONTEXT = 7, 3, 24, 3, 5


class CausalSelfAttention(nn.Module):
    def __init__(self, drop):
        super().__init__()
        self.c_attn = nn.Linear(WIDTH, 3 * WIDTH)
        self.c_proj = nn.Linear(WIDTH, WIDTH)
        self.attn_dropout = nn.Dropout(drop)
        self.register_buffer("bias", torch.tril(torch.ones(3 * CONTEXT, 3 * CONTEXT)).bool())

    def forward(self, x, pad):
        b, t, c = x.shape
        q, k, v = self.c_attn(x).split(c, dim=2)
        q = q.view(b, t, HEADS, c // HEADS).transpose(1, 2)
        k = k.view(b, t, HEADS, c // HEADS).transpose(1, 2)
        v = v.view(b, t, HEADS, c // HEADS).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) / math.sqrt(k.size(-1))
        allowed = self.bias[:t, :t][None, None] & pad[:, None, None, :]
        att = att.masked_fill(~allowed, torch.finfo(att.dtype).min)
        att = self.attn_dropout(att.softmax(dim=-1))
        y = (att @ v).transpose(1, 2).reshape(b, t, c)
        return self.c_proj(y)


class Block(nn.Module):
    def __init__(self, drop):
        super().__init__()
        self.ln_1 = nn.LayerNorm(WIDTH)
        self.attn = CausalSelfAttention(drop)
        self.ln_2 = nn.LayerNorm(WIDTH)
        self.fc = nn.Linear(WIDTH, 4 * WIDTH)
        self.proj = nn.Linear(4 * WIDTH, WIDTH)
        self.resid_dropout = nn.Dropout(drop)

    def forward(self, x, pad):
        x = x + self.attn(self.ln_1(x), pad)
        h = self.proj(F.gelu(self.fc(self.ln_2(x)), approximate="tanh"))
        return x + self.resid_dropout(h)


class DecisionTransformer(nn.Module):
    def __init__(self, layers=2, drop=0.1, max_ep_len=40):
        super().__init__()
        self.embed_timestep = nn.Embedding(max_ep_len, WIDTH)
        self.embed_return = nn.Linear(1, WIDTH)
        self.embed_state = nn.Linear(STATE, WIDTH)
        self.embed_action = nn.Linear(ACT, WIDTH)
        self.embed_ln = nn.LayerNorm(WIDTH)
        self.blocks = nn.ModuleList(Block(drop) for _ in range(layers))
        self.ln_f = nn.LayerNorm(WIDTH)
        self.predict_action = nn.Linear(WIDTH, ACT)
        self.predict_state = nn.Linear(WIDTH, STATE)

    def forward(self, states, actions, returns_to_go, timesteps, mask):
        b, k = states.shape[:2]
        time = self.embed_timestep(timesteps)
        tokens = torch.stack(
            (
                self.embed_return(returns_to_go / 100.0) + time,
                self.embed_state(states) + time,
                self.embed_action(actions) + time,
            ),
            dim=2,
        ).reshape(b, 3 * k, WIDTH)
        pad = mask.bool().repeat_interleave(3, dim=1)
        h = self.embed_ln(tokens)
        for block in self.blocks:
            h = block(h, pad)
        h = self.ln_f(h).view(b, k, 3, WIDTH)
        keep = mask.unsqueeze(-1)
        actions = torch.tanh(self.predict_action(h[:, :, 1])) * keep
        next_states = self.predict_state(h[:, :, 2]) * keep
        return actions, next_states


def make():
    torch.manual_seed(3)
    model = DecisionTransformer()
    for name, p in model.named_parameters():
        if p.ndim == 1:
            p.data += 0.1 * torch.randn_like(p)
    return model


def inputs(seed):
    rng = np.random.default_rng(seed)
    b, k = 4, CONTEXT
    lengths = np.array([5, 3, 4, 5])
    mask = (np.arange(k)[None] >= k - lengths[:, None]).astype("float32")
    start = rng.integers(0, 30, size=b)
    steps = np.where(mask > 0, start[:, None] + np.cumsum(mask, 1).astype(int) - 1, 0)
    return (
        rng.normal(size=(b, k, STATE)).astype("float32") * mask[..., None],
        rng.uniform(-1, 1, size=(b, k, ACT)).astype("float32") * mask[..., None],
        rng.uniform(50, 300, size=(b, k, 1)).astype("float32") * mask[..., None],
        steps.astype("int64"),
        mask,
    )
