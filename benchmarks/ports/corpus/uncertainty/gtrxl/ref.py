"""GTrXL (Parisotto et al., 2019) in torch: relative attention over a memory, GRU gates, identity map reordering."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
OBS, ACTIONS, D, HEADS, T, M, B = 6, 4, 16, 2, 5, 3, 4


class GRUGate(nn.Module):
    def __init__(self, d, bg=2.0):
        super().__init__()
        self.Wr = nn.Linear(d, d, bias=False)
        self.Ur = nn.Linear(d, d, bias=False)
        self.Wz = nn.Linear(d, d, bias=False)
        self.Uz = nn.Linear(d, d, bias=False)
        self.Wg = nn.Linear(d, d, bias=False)
        self.Ug = nn.Linear(d, d, bias=False)
        self.bg = nn.Parameter(torch.full((d,), bg) + 0.1 * torch.randn(d))

    def forward(self, x, y):
        r = torch.sigmoid(self.Wr(y) + self.Ur(x))
        z = torch.sigmoid(self.Wz(y) + self.Uz(x) - self.bg)
        h = torch.tanh(self.Wg(y) + self.Ug(r * x))
        return (1 - z) * x + z * h


class RelativeAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(D, D, bias=False)
        self.kv = nn.Linear(D, 2 * D, bias=False)
        self.r = nn.Linear(D, D, bias=False)
        self.out = nn.Linear(D, D, bias=False)
        self.u = nn.Parameter(0.5 * torch.randn(HEADS, D // HEADS))
        self.v = nn.Parameter(0.5 * torch.randn(HEADS, D // HEADS))

    @staticmethod
    def rel_shift(x):
        zero = torch.zeros(*x.shape[:3], 1, dtype=x.dtype)
        padded = torch.cat([zero, x], dim=-1)
        padded = padded.view(x.shape[0], x.shape[1], x.shape[3] + 1, x.shape[2])
        return padded[:, :, 1:].reshape(x.shape)

    def forward(self, x, memory, pos):
        b, t = x.shape[:2]
        full = torch.cat([memory, x], dim=1)
        s = full.shape[1]
        q = self.q(x).view(b, t, HEADS, -1)
        k, v = self.kv(full).view(b, s, HEADS, -1).chunk(2, dim=-1)
        r = self.r(pos).view(s, HEADS, -1)
        content = torch.einsum("bihd,bjhd->bhij", q + self.u, k)
        position = self.rel_shift(torch.einsum("bihd,jhd->bhij", q + self.v, r))
        score = (content + position) / (D // HEADS) ** 0.5
        mask = torch.ones(t, s, dtype=torch.bool).triu(diagonal=1 + s - t)
        att = score.masked_fill(mask, float("-inf")).softmax(dim=-1)
        y = torch.einsum("bhij,bjhd->bihd", att, v).reshape(b, t, D)
        return self.out(y)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.att = RelativeAttention()
        self.gate1, self.gate2 = GRUGate(D), GRUGate(D)
        self.mlp = nn.Sequential(nn.Linear(D, 32), nn.ReLU(), nn.Linear(32, D))

    def forward(self, x, memory, pos):
        n = self.ln1(torch.cat([memory, x], dim=1))
        y = self.att(n[:, memory.shape[1] :], n[:, : memory.shape[1]], pos)
        x = self.gate1(x, F.relu(y))
        return self.gate2(x, F.relu(self.mlp(self.ln2(x))))


class GTrXL(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(OBS, D)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.policy, self.value = nn.Linear(D, ACTIONS), nn.Linear(D, 1)
        for name, p in self.named_parameters():
            if "ln" in name:
                nn.init.normal_(p, 1.0 if name.endswith("weight") else 0.0, 0.2)

    def forward(self, obs, memory):
        x = self.embed(obs)
        s = obs.shape[1] + memory.shape[2]
        distance = torch.arange(s - 1, -1, -1.0)
        inv_freq = 1 / (10000 ** (torch.arange(0.0, D, 2.0) / D))
        sinusoid = torch.outer(distance, inv_freq)
        pos = torch.cat([sinusoid.sin(), sinusoid.cos()], dim=-1)
        new_memory = []
        for i, block in enumerate(self.blocks):
            new_memory.append(torch.cat([memory[i], x], dim=1)[:, -M:])
            x = block(x, memory[i], pos)
        return self.policy(x), self.value(x).squeeze(-1), torch.stack(new_memory)


def make():
    torch.manual_seed(4)
    return GTrXL()


def inputs(seed):
    rng = np.random.default_rng(seed)
    return {
        "obs": rng.normal(size=(B, T, OBS)).astype("float32"),
        "memory": rng.normal(size=(2, B, M, D)).astype("float32"),
    }
