"""Leela-style chess transformer (mini 4x4 board): smolgen attention bias, attention policy, WDL value."""
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
S, PLANES, D, HEADS, NBLOCKS = 16, 12, 16, 2, 2
ALPHA = (2.0 * NBLOCKS) ** 0.25


class Smolgen(nn.Module):
    def __init__(self, shared, compress=4, hidden=12, gen=6):
        super().__init__()
        self.compress = nn.Linear(D, compress, bias=False)
        self.fc1 = nn.Linear(S * compress, hidden)
        self.ln1 = nn.LayerNorm(hidden)
        self.fc2 = nn.Linear(hidden, HEADS * gen)
        self.ln2 = nn.LayerNorm(HEADS * gen)
        self.shared = shared
        self.gen = gen

    def forward(self, x):
        h = self.compress(x).flatten(1)
        h = self.ln1(F.silu(self.fc1(h)))
        h = self.ln2(F.silu(self.fc2(h)))
        h = h.view(-1, HEADS, self.gen)
        return self.shared(h).view(-1, HEADS, S, S)


class Encoder(nn.Module):
    def __init__(self, shared):
        super().__init__()
        self.q = nn.Linear(D, D)
        self.k = nn.Linear(D, D)
        self.v = nn.Linear(D, D)
        self.o = nn.Linear(D, D)
        self.smolgen = Smolgen(shared)
        self.ln1 = nn.LayerNorm(D)
        self.ff1 = nn.Linear(D, 2 * D)
        self.ff2 = nn.Linear(2 * D, D)
        self.ln2 = nn.LayerNorm(D)

    def split(self, t):
        return t.view(-1, S, HEADS, D // HEADS).transpose(1, 2)

    def forward(self, x):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        logits = q @ k.transpose(-1, -2) / math.sqrt(D // HEADS)
        att = torch.softmax(logits + self.smolgen(x), dim=-1)
        out = (att @ v).transpose(1, 2).reshape(-1, S, D)
        x = self.ln1(ALPHA * x + self.o(out))
        h = self.ff2(torch.square(F.relu(self.ff1(x))))
        return self.ln2(ALPHA * x + h)


class ChessNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(PLANES, D)
        self.mult_gate = nn.Parameter(torch.ones(S, D))
        self.add_gate = nn.Parameter(torch.zeros(S, D))
        self.shared = nn.Linear(6, S * S, bias=False)
        self.blocks = nn.ModuleList([Encoder(self.shared) for _ in range(NBLOCKS)])
        self.p_embed = nn.Linear(D, D)
        self.p_q = nn.Linear(D, 8)
        self.p_k = nn.Linear(D, 8)
        self.promo = nn.Linear(8, 4, bias=False)
        self.v_embed = nn.Linear(D, 3)
        self.v_fc = nn.Linear(S * 3, 10)
        self.v_out = nn.Linear(10, 3)

    def policy(self, x):
        x = F.mish(self.p_embed(x))
        q, k = self.p_q(x), self.p_k(x)
        moves = torch.matmul(q, k.transpose(1, 2)) / math.sqrt(8)
        offsets = self.promo(k[:, -4:]).transpose(1, 2)          # B, 4, 4 files
        offsets = offsets[:, :3] + offsets[:, 3:4]
        last = moves[:, -8:-4, -4:]                              # from rank 3 to rank 4
        promo = torch.stack([last + offsets[:, i:i + 1] for i in range(3)], dim=-1)
        return torch.cat([moves.flatten(1), promo.flatten(1)], dim=1)

    def forward(self, planes):
        x = F.mish(self.embed(planes))
        x = x * self.mult_gate + self.add_gate
        for b in self.blocks:
            x = b(x)
        v = F.mish(self.v_embed(x)).flatten(1)
        wdl = torch.softmax(self.v_out(F.mish(self.v_fc(v))), dim=-1)
        return self.policy(x), wdl


def make():
    m = ChessNet()
    g = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for n, p in m.named_parameters():
            r = torch.randn(p.shape, generator=g)
            if ("ln" in n and n.endswith("weight")) or n == "mult_gate":
                p.copy_(1 + 0.2 * r)
            elif p.dim() > 1 and "gate" not in n:
                p.copy_(r / math.sqrt(p.shape[1]))
            else:
                p.copy_(0.2 * r)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    return (r.randn(4, S, PLANES).astype("float32"),)
