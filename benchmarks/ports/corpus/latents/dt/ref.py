"""Decision Transformer: GPT over interleaved (return, state, action) tokens with left padding."""
import math
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
S, A, D, NH, T, MAXT = 7, 3, 32, 4, 5, 20


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.qkv, self.proj = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.fc, self.out = nn.Linear(D, 4 * D), nn.Linear(4 * D, D)

    def forward(self, x, mask):
        B, N, _ = x.shape
        q, k, v = self.qkv(self.ln1(x)).split(D, dim=2)
        q, k, v = (t.view(B, N, NH, D // NH).transpose(1, 2) for t in (q, k, v))
        att = (q @ k.transpose(-2, -1)) / math.sqrt(D // NH)
        att = att.masked_fill(~mask, torch.finfo(att.dtype).min)
        y = (F.softmax(att, dim=-1) @ v).transpose(1, 2).reshape(B, N, D)
        x = x + self.proj(y)
        return x + self.out(F.gelu(self.fc(self.ln2(x)), approximate="tanh"))


class DecisionTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Embedding(MAXT, D)
        self.ret, self.state, self.action = nn.Linear(1, D), nn.Linear(S, D), nn.Linear(A, D)
        self.ln = nn.LayerNorm(D)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.head = nn.Linear(D, A)

    def forward(self, rtg, states, actions, timesteps, pad):
        B = states.shape[0]
        te = self.time(timesteps)
        tok = torch.stack((self.ret(rtg) + te, self.state(states) + te, self.action(actions) + te), dim=1)
        x = self.ln(tok.permute(0, 2, 1, 3).reshape(B, 3 * T, D))
        keep = torch.stack((pad, pad, pad), dim=1).permute(0, 2, 1).reshape(B, 3 * T).bool()
        causal = torch.tril(torch.ones(3 * T, 3 * T, dtype=torch.bool))
        mask = causal[None, None] & keep[:, None, None, :]
        for b in self.blocks:
            x = b(x, mask)
        x = x.reshape(B, T, 3, D).permute(0, 2, 1, 3)
        return torch.tanh(self.head(x[:, 1])) * pad[..., None]


def make():
    torch.manual_seed(3)
    m = DecisionTransformer()
    for p in m.parameters():
        nn.init.normal_(p, 0, 0.3) if p.dim() > 1 else nn.init.uniform_(p, 0.3, 1.0)
    return m.eval()


def inputs(seed):
    r = np.random.default_rng(seed + 3)
    pad = np.ones((3, T), "float32")
    pad[0, :2] = 0
    pad[2, :1] = 0
    steps = np.array([[0, 0, 0, 1, 2], [4, 5, 6, 7, 8], [0, 0, 1, 2, 3]], "int64")
    f = lambda *s: r.normal(size=s).astype("float32")
    return (f(3, T, 1), f(3, T, S), f(3, T, A), steps, pad)
