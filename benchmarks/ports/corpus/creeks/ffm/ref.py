"""Fast and forgetful memory actor-critic, step by step."""
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
OBS, HID, MEM, CTX, T, ACTIONS, LAYERS = 5, 8, 4, 3, 5, 4, 2


class FFMCell(nn.Module):
    def __init__(self):
        super().__init__()
        self.pre = nn.Linear(HID, MEM)
        self.gate_in = nn.Linear(HID, MEM)
        self.gate_out = nn.Linear(HID, HID)
        self.skip = nn.Linear(HID, HID)
        self.mix = nn.Linear(2 * MEM * CTX, HID)
        self.ln = nn.LayerNorm(HID, elementwise_affine=False)
        self.a = nn.Parameter(torch.linspace(-0.4, 0.6, MEM))
        self.b = nn.Parameter(2 * math.pi / torch.linspace(2.0, 9.0, CTX))

    def step(self, x, re, im, start):
        keep = (1 - start).view(-1, 1, 1)
        re, im = re * keep, im * keep
        mag = torch.exp(-torch.abs(self.a)).unsqueeze(1)          # MEM, 1
        c, s = mag * torch.cos(self.b), mag * torch.sin(self.b)   # MEM, CTX
        re, im = re * c - im * s, re * s + im * c
        y = self.pre(x) * torch.sigmoid(self.gate_in(x))
        re = re + y.unsqueeze(2)
        z = self.mix(torch.cat([re.flatten(1), im.flatten(1)], dim=1))
        g = torch.sigmoid(self.gate_out(x))
        out = self.ln(z) * g + self.skip(x) * (1 - g)
        return out, re, im


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(OBS, HID)
        self.enc_ln = nn.LayerNorm(HID)
        self.cells = nn.ModuleList([FFMCell() for _ in range(LAYERS)])
        self.pi = nn.Linear(HID, ACTIONS)
        self.v = nn.Linear(HID, 1)

    def forward(self, obs, start):
        b = obs.shape[0]
        state = [(obs.new_zeros(b, MEM, CTX), obs.new_zeros(b, MEM, CTX)) for _ in self.cells]
        logits, values = [], []
        for t in range(T):
            x = F.leaky_relu(self.enc_ln(self.enc(obs[:, t])))
            for i, cell in enumerate(self.cells):
                re, im = state[i]
                x, re, im = cell.step(x, re, im, start[:, t])
                state[i] = (re, im)
            logits.append(F.log_softmax(self.pi(x), dim=-1))
            values.append(self.v(x))
        return torch.stack(logits, 1), torch.cat(values, 1)


def make():
    m = ActorCritic()
    g = torch.Generator().manual_seed(23)
    with torch.no_grad():
        for n, p in m.named_parameters():
            if n.endswith(".a") or n.endswith(".b"):
                p.add_(0.05 * torch.randn(p.shape, generator=g))
                continue
            r = torch.randn(p.shape, generator=g)
            p.copy_(1 + 0.2 * r if n == "enc_ln.weight" else r / p.shape[1] ** 0.5 if p.dim() > 1 else 0.3 * r)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    start = np.zeros((4, T), "float32")
    start[:, 0] = 1
    start[1, 2] = start[2, 3] = start[3, 1] = 1
    return r.randn(4, T, OBS).astype("float32"), start
