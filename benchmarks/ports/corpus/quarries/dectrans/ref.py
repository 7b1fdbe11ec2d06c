"""Decision Transformer: return-to-go, state and action tokens through a causal GPT (PyTorch)."""
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
S_DIM, A_DIM, K, D, HEADS, MAX_T = 11, 3, 6, 48, 4, 50


class CausalSelfAttention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(d, 3 * d)
        self.proj = nn.Linear(d, d)

    def forward(self, x, key_mask):
        B, L, D = x.shape
        q, k, v = self.qkv(x).split(D, dim=-1)
        q, k, v = (t.view(B, L, self.heads, -1).transpose(1, 2) for t in (q, k, v))
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        causal = torch.tril(torch.ones(L, L, dtype=torch.bool))
        allowed = causal[None, None] & key_mask[:, None, None, :].bool()
        scores = scores.masked_fill(~allowed, -1e9)
        y = F.softmax(scores, dim=-1) @ v
        return self.proj(y.transpose(1, 2).reshape(B, L, D))


class Block(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attn = CausalSelfAttention(d, heads)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x, key_mask):
        x = x + self.attn(self.ln_1(x), key_mask)
        return x + self.mlp(self.ln_2(x))


class DecisionTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_t = nn.Embedding(MAX_T, D)
        self.embed_r = nn.Linear(1, D)
        self.embed_s = nn.Linear(S_DIM, D)
        self.embed_a = nn.Linear(A_DIM, D)
        self.embed_ln = nn.LayerNorm(D)
        self.blocks = nn.ModuleList(Block(D, HEADS) for _ in range(2))
        self.predict_action = nn.Linear(D, A_DIM)
        self.predict_state = nn.Linear(D, S_DIM)
        self.predict_return = nn.Linear(D, 1)

    def forward(self, states, actions, rtg, timesteps, mask):
        B, T, _ = states.shape
        time = self.embed_t(timesteps)
        r = self.embed_r(rtg) + time
        s = self.embed_s(states) + time
        a = self.embed_a(actions) + time
        x = torch.stack((r, s, a), dim=2).reshape(B, 3 * T, D)
        x = self.embed_ln(x)
        key_mask = mask.repeat_interleave(3, dim=1)
        for block in self.blocks:
            x = block(x, key_mask)
        x = x.reshape(B, T, 3, D).permute(0, 2, 1, 3)
        action = torch.tanh(self.predict_action(x[:, 1]))
        state = self.predict_state(x[:, 2])
        ret = self.predict_return(x[:, 2])
        return action, state, ret


def make():
    net = DecisionTransformer()
    g = torch.Generator().manual_seed(21)
    with torch.no_grad():
        for name, p in net.named_parameters():
            z = torch.randn(p.shape, generator=g)
            if p.dim() > 1:
                p.copy_(z / math.sqrt(p.shape[1]) if "embed_t" not in name else 0.4 * z)
            elif "ln" in name and name.endswith("weight"):
                p.copy_(1 + 0.2 * z)
            else:
                p.copy_(0.1 * z)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    B = 4
    lengths = np.array([K, 3, 5, 4])
    mask = (np.arange(K)[None] >= K - lengths[:, None]).astype(np.float32)
    start = rng.integers(0, MAX_T - K, size=B)
    steps = np.maximum(np.arange(K)[None] - (K - lengths)[:, None], 0)
    timesteps = ((start[:, None] + steps) * mask).astype(np.int64)
    states = (rng.normal(size=(B, K, S_DIM)) * mask[..., None]).astype(np.float32)
    actions = (np.tanh(rng.normal(size=(B, K, A_DIM))) * mask[..., None]).astype(np.float32)
    rtg = (rng.uniform(0.5, 3.6, size=(B, K, 1)) * mask[..., None]).astype(np.float32)
    return states, actions, rtg, timesteps, mask
