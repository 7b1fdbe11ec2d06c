"""Recurrent independent mechanisms (Goyal et al. 2019) as the core of an actor-critic."""
import math
import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"
OBS, D, UNITS, TOPK, HID, DK, DV, CK, CH, T, ACT = 7, 8, 4, 2, 6, 5, 8, 4, 2, 3, 5


class GroupLinear(nn.Module):
    """One linear map per mechanism."""

    def __init__(self, nin, nout):
        super().__init__()
        self.w = nn.Parameter(torch.randn(UNITS, nin, nout))

    def forward(self, x):
        return torch.bmm(x.permute(1, 0, 2), self.w).permute(1, 0, 2)


class GroupGRUCell(nn.Module):
    def __init__(self, nin):
        super().__init__()
        self.x2h = GroupLinear(nin, 3 * HID)
        self.h2h = GroupLinear(HID, 3 * HID)

    def forward(self, x, h):
        i_r, i_i, i_n = self.x2h(x).chunk(3, 2)
        h_r, h_i, h_n = self.h2h(h).chunk(3, 2)
        reset = torch.sigmoid(i_r + h_r)
        update = torch.sigmoid(i_i + h_i)
        new = torch.tanh(i_n + reset * h_n)
        return new + update * (h - new)


class RIMCell(nn.Module):
    def __init__(self):
        super().__init__()
        self.key = nn.Linear(D, DK)
        self.value = nn.Linear(D, DV)
        self.query = GroupLinear(HID, DK)
        self.cell = GroupGRUCell(DV)
        self.query_c = GroupLinear(HID, CK * CH)
        self.key_c = GroupLinear(HID, CK * CH)
        self.value_c = GroupLinear(HID, CK * CH)
        self.out_c = GroupLinear(CK * CH, HID)

    def input_attention(self, x, h):
        null = torch.zeros_like(x)
        slots = torch.stack([x, null], dim=1)
        k, v = self.key(slots), self.value(slots)
        scores = torch.matmul(self.query(h), k.transpose(1, 2)) / math.sqrt(DK)
        top = torch.topk(scores[:, :, 0], TOPK, dim=1).indices
        mask = torch.zeros_like(scores[:, :, 0]).scatter(1, top, 1.0)
        probs = torch.softmax(scores, dim=-1)
        return torch.matmul(probs, v) * mask.unsqueeze(2), mask

    def split(self, x):
        return x.reshape(x.shape[0], UNITS, CH, CK).permute(0, 2, 1, 3)

    def communicate(self, h, mask):
        q, k, v = self.split(self.query_c(h)), self.split(self.key_c(h)), self.split(self.value_c(h))
        probs = torch.softmax(torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(CK), dim=-1)
        probs = probs * mask[:, None, :, None]
        ctx = torch.matmul(probs, v).permute(0, 2, 1, 3).reshape(h.shape[0], UNITS, CH * CK)
        return self.out_c(ctx) + h

    def forward(self, x, h):
        read, mask = self.input_attention(x, h)
        m = mask.unsqueeze(2)
        h_new = self.cell(read, h)
        h_new = m * h_new + (1 - m) * h
        h_new = self.communicate(h_new, mask)
        return m * h_new + (1 - m) * h


class RIMAgent(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(OBS, D)
        self.norm = nn.LayerNorm(D)
        self.rim = RIMCell()
        self.h0 = nn.Parameter(torch.randn(UNITS, HID))
        self.pi = nn.Linear(UNITS * HID, ACT)
        self.v = nn.Linear(UNITS * HID, 1)

    def forward(self, obs):
        h = self.h0.unsqueeze(0).expand(obs.shape[0], -1, -1)
        logp, vs = [], []
        for t in range(T):
            x = torch.relu(self.norm(self.enc(obs[:, t])))
            h = self.rim(x, h)
            flat = h.flatten(1)
            logp.append(torch.log_softmax(self.pi(flat), dim=-1))
            vs.append(self.v(flat))
        return torch.stack(logp, 1), torch.stack(vs, 1), h


def make():
    m = RIMAgent()
    g = torch.Generator().manual_seed(41)
    with torch.no_grad():
        for n, p in m.named_parameters():
            v = torch.randn(p.shape, generator=g) * (0.5 if p.dim() > 1 else 0.2)
            p.copy_(v + 1 if n == "norm.weight" else v)
    return m.eval()


def inputs(seed):
    return (np.random.RandomState(seed).randn(5, T, OBS).astype("float32"),)
