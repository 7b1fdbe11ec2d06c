"""Decision Transformer (Chen et al. 2021), after the authors' gym code on a small GPT-2."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"


class Block(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.ln_1 = nn.LayerNorm(d)
        self.c_attn = nn.Linear(d, 3 * d)
        self.c_proj = nn.Linear(d, d)
        self.ln_2 = nn.LayerNorm(d)
        self.c_fc = nn.Linear(d, 4 * d)
        self.mlp_proj = nn.Linear(4 * d, d)

    def attention(self, x, allowed):
        b, n, d = x.shape
        q, k, v = self.c_attn(x).split(d, dim=2)
        q, k, v = (a.view(b, n, self.heads, d // self.heads).transpose(1, 2) for a in (q, k, v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(d // self.heads)
        scores = scores.masked_fill(~allowed, -1e9)
        out = scores.softmax(dim=-1) @ v
        return self.c_proj(out.transpose(1, 2).reshape(b, n, d))

    def forward(self, x, allowed):
        x = x + self.attention(self.ln_1(x), allowed)
        h = F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh")
        return x + self.mlp_proj(h)


class DecisionTransformer(nn.Module):
    def __init__(self, state_dim=11, act_dim=3, d=24, heads=3, layers=2, max_ep_len=60):
        super().__init__()
        self.d = d
        self.embed_timestep = nn.Embedding(max_ep_len, d)
        self.embed_return = nn.Linear(1, d)
        self.embed_state = nn.Linear(state_dim, d)
        self.embed_action = nn.Linear(act_dim, d)
        self.embed_ln = nn.LayerNorm(d)
        self.blocks = nn.ModuleList(Block(d, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(d)
        self.predict_state = nn.Linear(d, state_dim)
        self.predict_action = nn.Sequential(nn.Linear(d, act_dim), nn.Tanh())
        self.predict_return = nn.Linear(d, 1)

    def forward(self, returns, states, actions, timesteps, mask):
        b, k = states.shape[:2]
        time = self.embed_timestep(timesteps)
        r = self.embed_return(returns) + time
        s = self.embed_state(states) + time
        a = self.embed_action(actions) + time
        x = torch.stack((r, s, a), dim=1).permute(0, 2, 1, 3).reshape(b, 3 * k, self.d)
        x = self.embed_ln(x)
        valid = torch.stack((mask, mask, mask), dim=1).permute(0, 2, 1).reshape(b, 3 * k)
        causal = torch.tril(torch.ones(3 * k, 3 * k, dtype=torch.bool))
        allowed = causal[None, None] & (valid > 0)[:, None, None, :]
        for block in self.blocks:
            x = block(x, allowed)
        x = self.ln_f(x).reshape(b, k, 3, self.d).permute(0, 2, 1, 3)
        return_preds = self.predict_return(x[:, 2])
        state_preds = self.predict_state(x[:, 2])
        action_preds = self.predict_action(x[:, 1])
        return action_preds, state_preds, return_preds


def make():
    torch.manual_seed(41)
    net = DecisionTransformer()
    with torch.no_grad():
        for p in net.parameters():
            if p.ndim == 1:
                p.add_(0.2 * torch.randn_like(p))
            else:
                p.mul_(1.3)
    return net.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    b, k = 4, 5
    start = rng.integers(0, 30, size=(b, 1))
    steps = start + np.arange(k)
    mask = np.ones((b, k), "float32")
    mask[1, :2] = 0
    mask[3, :1] = 0
    steps = np.where(mask > 0, steps, 0)
    rtg = np.cumsum(rng.random((b, k)), axis=1)[:, ::-1, None].copy()
    return (
        rtg.astype("float32"),
        rng.normal(size=(b, k, 11)).astype("float32"),
        rng.uniform(-1, 1, size=(b, k, 3)).astype("float32"),
        steps.astype("int64"),
        mask,
    )
