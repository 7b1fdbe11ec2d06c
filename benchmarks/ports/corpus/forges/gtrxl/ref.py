"""Gated Transformer-XL policy: relative attention over a memory, GRU gates in place of residuals."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
OBS, D, HEADS, LAYERS, MEM, T, ACTIONS = 9, 16, 2, 2, 4, 6, 5
HD = D // HEADS


def sinusoid(length, dim):
    pos = torch.arange(length - 1, -1, -1, dtype=torch.float32)
    inv = 1.0 / (10000 ** (torch.arange(0, dim, 2, dtype=torch.float32) / dim))
    angle = pos[:, None] * inv[None]
    return torch.cat([angle.sin(), angle.cos()], dim=-1)


class RelativeAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(D, D, bias=False)
        self.kv = nn.Linear(D, 2 * D, bias=False)
        self.r = nn.Linear(D, D, bias=False)
        self.u = nn.Parameter(torch.zeros(HEADS, HD))
        self.v = nn.Parameter(torch.zeros(HEADS, HD))
        self.out = nn.Linear(D, D)

    @staticmethod
    def shift(x):
        b, h, i, j = x.shape
        x = F.pad(x, (1, 0)).view(b, h, j + 1, i)
        return x[:, :, 1:].reshape(b, h, i, j)

    def forward(self, x, context, pos):
        b, t, _ = x.shape
        s = context.shape[1]
        q = self.q(x).view(b, t, HEADS, HD)
        k, v = self.kv(context).chunk(2, dim=-1)
        k, v = k.view(b, s, HEADS, HD), v.reshape(b, s, HEADS, HD)
        r = self.r(pos).view(s, HEADS, HD)
        content = torch.einsum("bihd,bjhd->bhij", q + self.u, k)
        position = torch.einsum("bihd,jhd->bhij", q + self.v, r)
        score = (content + self.shift(position)) / math.sqrt(HD)
        future = torch.ones(t, s, dtype=torch.bool).triu(diagonal=1 + s - t)
        score = score.masked_fill(future, float("-inf"))
        y = torch.einsum("bhij,bjhd->bihd", score.softmax(dim=-1), v)
        return self.out(y.reshape(b, t, D))


class GRUGate(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Linear(D, 3 * D, bias=False)
        self.u = nn.Linear(D, 2 * D, bias=False)
        self.ug = nn.Linear(D, D, bias=False)
        self.bias = nn.Parameter(torch.full((D,), 2.0))

    def forward(self, x, y):
        wr, wz, wg = self.w(y).chunk(3, -1)
        ur, uz = self.u(x).chunk(2, -1)
        r = torch.sigmoid(wr + ur)
        z = torch.sigmoid(wz + uz - self.bias)
        g = torch.tanh(wg + self.ug(r * x))
        return (1 - z) * x + z * g


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.attn = RelativeAttention()
        self.gate1, self.gate2 = GRUGate(), GRUGate()
        self.ff = nn.Sequential(nn.Linear(D, 32), nn.GELU(), nn.Linear(32, D))

    def forward(self, x, memory, pos):
        full = self.ln1(torch.cat([memory, x], dim=1))
        y = self.attn(full[:, memory.shape[1]:], full, pos)
        x = self.gate1(x, F.relu(y))
        return self.gate2(x, F.relu(self.ff(self.ln2(x))))


class GTrXL(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(OBS, D)
        self.blocks = nn.ModuleList([Block() for _ in range(LAYERS)])
        self.policy, self.value = nn.Linear(D, ACTIONS), nn.Linear(D, 1)

    def forward(self, obs, memory):
        x = self.embed(obs)
        pos = sinusoid(MEM + x.shape[1], D).to(x.dtype)
        memories = []
        for i, block in enumerate(self.blocks):
            memories.append(torch.cat([memory[:, i], x], dim=1)[:, -MEM:])
            x = block(x, memory[:, i], pos)
        return F.log_softmax(self.policy(x), -1), self.value(x).squeeze(-1), torch.stack(memories, 1)


def make():
    torch.manual_seed(2)
    net = GTrXL()
    with torch.no_grad():
        for name, p in net.named_parameters():
            if ".ln" in name and name.endswith("weight"):
                p.uniform_(0.6, 1.5)
            elif p.dim() > 1 and not name.endswith((".u", ".v")):
                p.normal_(0, 1.3 / math.sqrt(p.shape[1]))
            else:
                p.normal_(0, 0.4)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    obs = rng.normal(size=(4, T, OBS)).astype("float32")
    memory = rng.normal(size=(4, LAYERS, MEM, D)).astype("float32")
    return obs, memory
