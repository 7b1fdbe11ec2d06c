"""Decision Transformer (Chen et al. 2021), GPT-2 style blocks with a fused qkv."""
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
S_DIM, A_DIM, T, D, HEADS, LAYERS, MAX_EP = 7, 3, 6, 24, 3, 2, 40


class CausalSelfAttention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.c_attn = nn.Linear(d, 3 * d)
        self.c_proj = nn.Linear(d, d)

    def forward(self, x, keep):
        b, n, d = x.shape
        q, k, v = self.c_attn(x).split(d, dim=2)
        q = q.view(b, n, self.heads, d // self.heads).transpose(1, 2)
        k = k.view(b, n, self.heads, d // self.heads).transpose(1, 2)
        v = v.view(b, n, self.heads, d // self.heads).transpose(1, 2)
        att = q @ k.transpose(-2, -1) / math.sqrt(d // self.heads)
        causal = torch.tril(torch.ones(n, n, dtype=torch.bool, device=x.device))
        att = att.masked_fill(~causal, -1e4)
        att = att + (1.0 - keep.to(x.dtype))[:, None, None, :] * -1e4
        y = F.softmax(att, dim=-1) @ v
        y = y.transpose(1, 2).contiguous().view(b, n, d)
        return self.c_proj(y)


class Block(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.ln_1 = nn.LayerNorm(d)
        self.attn = CausalSelfAttention(d, heads)
        self.ln_2 = nn.LayerNorm(d)
        self.c_fc = nn.Linear(d, 2 * d)
        self.c_proj = nn.Linear(2 * d, d)

    def forward(self, x, keep):
        x = x + self.attn(self.ln_1(x), keep)
        x = x + self.c_proj(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))
        return x


class DecisionTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_timestep = nn.Embedding(MAX_EP, D)
        self.embed_return = nn.Linear(1, D)
        self.embed_state = nn.Linear(S_DIM, D)
        self.embed_action = nn.Linear(A_DIM, D)
        self.embed_ln = nn.LayerNorm(D)
        self.blocks = nn.ModuleList([Block(D, HEADS) for _ in range(LAYERS)])
        self.ln_f = nn.LayerNorm(D)
        self.predict_action = nn.Sequential(nn.Linear(D, A_DIM), nn.Tanh())
        self.predict_state = nn.Linear(D, S_DIM)
        self.predict_return = nn.Linear(D, 1)

    def forward(self, states, actions, rtg, timesteps, mask):
        b, t = states.shape[:2]
        time = self.embed_timestep(timesteps)
        s = self.embed_state(states) + time
        a = self.embed_action(actions) + time
        r = self.embed_return(rtg) + time
        # (R_1, s_1, a_1, R_2, s_2, a_2, ...)
        x = torch.stack((r, s, a), dim=1).permute(0, 2, 1, 3).reshape(b, 3 * t, D)
        keep = torch.stack((mask, mask, mask), dim=1).permute(0, 2, 1).reshape(b, 3 * t)
        x = self.embed_ln(x)
        for blk in self.blocks:
            x = blk(x, keep)
        x = self.ln_f(x)
        x = x.reshape(b, t, 3, D).permute(0, 2, 1, 3)
        valid = mask.unsqueeze(-1).to(x.dtype)
        return {
            "action": self.predict_action(x[:, 1]) * valid,
            "next_state": self.predict_state(x[:, 2]) * valid,
            "next_return": self.predict_return(x[:, 2]) * valid,
        }


def make():
    torch.manual_seed(3)
    net = DecisionTransformer()
    g = torch.Generator().manual_seed(11)
    with torch.no_grad():
        for name, p in net.named_parameters():
            noise = torch.randn(p.shape, generator=g)
            if "ln" in name and name.endswith("weight"):
                p.copy_(1 + 0.2 * noise)
            elif p.dim() == 1:
                p.copy_(0.2 * noise)
            else:
                p.copy_(noise * 1.5 / math.sqrt(p.shape[-1]))
    return net.eval()


def inputs(seed):
    rng = np.random.RandomState(seed)
    b = 4
    states = rng.randn(b, T, S_DIM).astype(np.float32)
    actions = np.tanh(rng.randn(b, T, A_DIM)).astype(np.float32)
    rtg = np.cumsum(rng.rand(b, T, 1), axis=1)[:, ::-1].astype(np.float32).copy()
    lengths = np.array([T, T - 2, 3, T - 1])
    mask = (np.arange(T)[None] >= T - lengths[:, None]).astype(np.int64)  # left padded
    start = rng.randint(0, MAX_EP - T, size=b)
    timesteps = np.maximum(start[:, None] + np.arange(T)[None] - (T - lengths)[:, None], 0) * mask
    return states, actions, rtg, timesteps.astype(np.int64), mask
