"""Fast and forgetful memory, parallel over time (decay matrix instead of a loop)."""
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
OBS, HID, MEM, CTX, T, ACTIONS, LAYERS = 5, 8, 4, 3, 5, 4, 2


class FFM(nn.Module):
    def __init__(self):
        super().__init__()
        self.pre = nn.Linear(HID, MEM)
        self.gate_in = nn.Linear(HID, MEM)
        self.gate_out = nn.Linear(HID, HID)
        self.skip = nn.Linear(HID, HID)
        self.mix = nn.Linear(2 * MEM * CTX, HID)
        self.a = nn.Parameter(torch.linspace(-0.5, 0.5, MEM))
        self.b = nn.Parameter(2 * math.pi / torch.linspace(2.0, 8.0, CTX))

    def kernels(self):
        steps = torch.arange(T, dtype=torch.float32)
        lag = (steps[:, None] - steps[None, :]).clamp(min=0)
        decay = torch.exp(-self.a.abs() * lag[..., None])
        angle = self.b * lag[..., None]
        return decay, torch.cos(angle), torch.sin(angle)

    def forward(self, x, mask):
        b = x.shape[0]
        y = self.pre(x) * torch.sigmoid(self.gate_in(x))
        decay, cos, sin = self.kernels()
        weighted = mask[..., None] * decay * y[:, None]                # b, t, j, m
        real = torch.einsum("btjm,tjc->btmc", weighted, cos)
        imag = torch.einsum("btjm,tjc->btmc", weighted, sin)
        memory = torch.stack([real, imag], dim=2).reshape(b, T, -1)
        z = F.layer_norm(self.mix(memory), (HID,))
        gate = torch.sigmoid(self.gate_out(x))
        return z * gate + self.skip(x) * (1 - gate)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(OBS, HID), nn.LayerNorm(HID), nn.LeakyReLU(0.01))
        self.memory = nn.ModuleList([FFM() for _ in range(LAYERS)])
        self.heads = nn.Linear(HID, ACTIONS + 1)

    def forward(self, obs, start):
        episode = torch.cumsum(start, dim=1)
        same = (episode[:, :, None] == episode[:, None, :]).float()
        mask = torch.tril(same)
        x = self.enc(obs)
        for layer in self.memory:
            x = layer(x, mask)
        out = self.heads(x)
        return F.log_softmax(out[..., :ACTIONS], dim=-1), out[..., ACTIONS]


def make():
    m = ActorCritic()
    g = torch.Generator().manual_seed(29)
    with torch.no_grad():
        for n, p in m.named_parameters():
            if n.endswith(".a") or n.endswith(".b"):
                p.add_(0.05 * torch.randn(p.shape, generator=g))
                continue
            r = torch.randn(p.shape, generator=g)
            p.copy_(1 + 0.2 * r if n == "enc.1.weight" else r / p.shape[1] ** 0.5 if p.dim() > 1 else 0.3 * r)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    start = np.zeros((4, T), "float32")
    start[:, 0] = 1
    start[1, 2] = start[2, 3] = start[3, 1] = 1
    return r.randn(4, T, OBS).astype("float32"), start


@torch.no_grad()
def load(ported, original):
    ported.enc[0].load_state_dict(original.enc.state_dict())
    ported.enc[1].load_state_dict(original.enc_ln.state_dict())
    for a, b in zip(ported.memory, original.cells):
        for n in ("pre", "gate_in", "gate_out", "skip", "mix"):
            getattr(a, n).load_state_dict(getattr(b, n).state_dict())
        a.a.copy_(b.a)
        a.b.copy_(b.b)
    ported.heads.weight.copy_(torch.cat([original.pi.weight, original.v.weight]))
    ported.heads.bias.copy_(torch.cat([original.pi.bias, original.v.bias]))
