"""Decision Transformer (Chen et al. 2021) on a small GPT."""
import math

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"
STATE, ACT, WIDTH, HEADS, LENGTH, MAX_EP = 7, 3, 24, 4, 5, 40


class CausalSelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_attn = nn.Linear(WIDTH, 3 * WIDTH)
        self.c_proj = nn.Linear(WIDTH, WIDTH)

    def forward(self, x, allowed):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(WIDTH, dim=2)
        k = k.view(B, T, HEADS, C // HEADS).transpose(1, 2)
        q = q.view(B, T, HEADS, C // HEADS).transpose(1, 2)
        v = v.view(B, T, HEADS, C // HEADS).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(~allowed[:, None], float("-inf"))
        att = F.softmax(att, dim=-1)
        y = (att @ v).transpose(1, 2).contiguous().view(B, T, C)
        return self.c_proj(y)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1 = nn.LayerNorm(WIDTH)
        self.attn = CausalSelfAttention()
        self.ln_2 = nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(approximate="tanh"), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, x, allowed):
        x = x + self.attn(self.ln_1(x), allowed)
        return x + self.mlp(self.ln_2(x))


class DecisionTransformer(nn.Module):
    def __init__(self, layers=2):
        super().__init__()
        self.embed_timestep = nn.Embedding(MAX_EP, WIDTH)
        self.embed_return = nn.Linear(1, WIDTH)
        self.embed_state = nn.Linear(STATE, WIDTH)
        self.embed_action = nn.Linear(ACT, WIDTH)
        self.embed_ln = nn.LayerNorm(WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(layers))
        self.ln_f = nn.LayerNorm(WIDTH)
        self.predict_state = nn.Linear(WIDTH, STATE)
        self.predict_action = nn.Sequential(nn.Linear(WIDTH, ACT), nn.Tanh())
        self.predict_return = nn.Linear(WIDTH, 1)

    def forward(self, states, actions, returns_to_go, timesteps, attention_mask):
        batch, length = states.shape[:2]
        time = self.embed_timestep(timesteps)
        state_tok = self.embed_state(states) + time
        action_tok = self.embed_action(actions) + time
        return_tok = self.embed_return(returns_to_go) + time

        x = torch.stack((return_tok, state_tok, action_tok), dim=1)
        x = x.permute(0, 2, 1, 3).reshape(batch, 3 * length, WIDTH)
        x = self.embed_ln(x)

        keys = torch.stack((attention_mask,) * 3, dim=1).permute(0, 2, 1).reshape(batch, 3 * length)
        causal = torch.tril(torch.ones(3 * length, 3 * length, dtype=torch.bool))
        own = torch.eye(3 * length, dtype=torch.bool)
        allowed = (causal & keys[:, None, :].bool()) | own
        for block in self.blocks:
            x = block(x, allowed)
        x = self.ln_f(x).reshape(batch, length, 3, WIDTH).permute(0, 2, 1, 3)
        return_preds = self.predict_return(x[:, 2])
        state_preds = self.predict_state(x[:, 2])
        action_preds = self.predict_action(x[:, 1])
        return state_preds, action_preds, return_preds


def make():
    torch.manual_seed(77)
    model = DecisionTransformer()
    for name, p in model.named_parameters():
        if ".ln_" in "." + name or "embed_ln" in name:
            nn.init.uniform_(p, 0.6, 1.4) if name.endswith("weight") else nn.init.uniform_(p, -0.2, 0.2)
        elif name.endswith("bias"):
            nn.init.uniform_(p, -0.3, 0.3)
    return model.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    batch = 3
    mask = np.ones((batch, LENGTH), np.int64)
    mask[0, :2] = 0
    mask[2, :1] = 0
    starts = rng.integers(1, 20, size=(batch, 1))
    timesteps = (starts + np.arange(LENGTH)) * mask
    return (
        rng.normal(size=(batch, LENGTH, STATE)).astype(np.float32),
        rng.uniform(-1, 1, size=(batch, LENGTH, ACT)).astype(np.float32),
        rng.normal(size=(batch, LENGTH, 1)).astype(np.float32),
        timesteps,
        mask,
    )
