"""GTrXL block with memory, relative positions and GRU gating."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
D, HEADS, DH, T, M = 24, 3, 8, 5, 4


class TorchGate(nn.Module):
    def __init__(self, bg=2.0):
        super().__init__()
        for n in ("Wr", "Ur", "Wz", "Uz", "Wg", "Ug"):
            setattr(self, n, nn.Linear(D, D, bias=False))
        self.bg = nn.Parameter(torch.full((D,), bg))

    def forward(self, x, y):
        r = torch.sigmoid(self.Wr(y) + self.Ur(x))
        z = torch.sigmoid(self.Wz(y) + self.Uz(x) - self.bg)
        h = torch.tanh(self.Wg(y) + self.Ug(r * x))
        return (1 - z) * x + z * h


class TorchRelAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.kv = nn.Linear(D, 2 * HEADS * DH, bias=False)
        self.q = nn.Linear(D, HEADS * DH, bias=False)
        self.pos = nn.Linear(D, HEADS * DH, bias=False)
        self.out = nn.Linear(HEADS * DH, D, bias=False)
        self.u = nn.Parameter(torch.randn(HEADS, DH) * 0.3)
        self.v = nn.Parameter(torch.randn(HEADS, DH) * 0.3)

    @staticmethod
    def rel_shift(x):  # (b, h, q, k)
        b, h, q, k = x.shape
        x = torch.cat([torch.zeros(b, h, q, 1), x], -1).reshape(b, h, k + 1, q)
        return x[:, :, 1:].reshape(b, h, q, k)

    def forward(self, x, mem, r):
        b, n = x.shape[0], mem.shape[1] + x.shape[1]
        k, v = self.kv(torch.cat([mem, x], 1)).chunk(2, -1)
        k, v = k.view(b, n, HEADS, DH), v.view(b, n, HEADS, DH)
        q = self.q(x).view(b, -1, HEADS, DH)
        p = self.pos(r).view(n, HEADS, DH)
        content = torch.einsum("bqhd,bkhd->bhqk", q + self.u, k)
        position = self.rel_shift(torch.einsum("bqhd,khd->bhqk", q + self.v, p))
        score = (content + position) / DH**0.5
        mask = torch.triu(torch.ones(x.shape[1], n, dtype=torch.bool), diagonal=1 + mem.shape[1])
        attn = score.masked_fill(mask, float("-inf")).softmax(-1)
        return self.out(torch.einsum("bhqk,bkhd->bqhd", attn, v).reshape(b, -1, HEADS * DH))


class TorchGTrXL(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(10, D)
        self.ln1, self.ln2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.attention = TorchRelAttention()
        self.gate1, self.gate2 = TorchGate(), TorchGate()
        self.mlp1, self.mlp2 = nn.Linear(D, 48), nn.Linear(48, D)
        self.logits, self.value = nn.Linear(D, 4), nn.Linear(D, 1)

    def forward(self, obs, mem):
        x = self.embed(obs)
        pos = torch.arange(M + T - 1, -1, -1).float()
        freq = 1 / (10000 ** (torch.arange(0, D, 2).float() / D))
        ang = pos[:, None] * freq
        r = torch.cat([ang.sin(), ang.cos()], -1)
        y = self.attention(self.ln1(x), self.ln1(mem), r)
        x = self.gate1(x, torch.relu(y))
        y = self.mlp2(torch.relu(self.mlp1(self.ln2(x))))
        x = self.gate2(x, torch.relu(y))
        return self.logits(x), self.value(x)[..., 0]


def make():
    torch.manual_seed(8)
    return TorchGTrXL().eval()


def inputs(seed):
    r = np.random.default_rng(seed + 18)
    return r.normal(size=(4, T, 10)).astype("float32"), r.normal(size=(4, M, D)).astype("float32")
