"""R2D2: LSTM Q-network, dueling head, value rescaling."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
B, T, OBS, ACT, HID = 4, 6, 9, 5, 24


class R2D2(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(OBS, 20)
        self.lstm = nn.LSTM(20 + ACT + 1, HID, batch_first=True)
        self.val = nn.Sequential(nn.Linear(HID, 16), nn.ReLU(), nn.Linear(16, 1))
        self.adv = nn.Sequential(nn.Linear(HID, 16), nn.ReLU(), nn.Linear(16, ACT))

    @staticmethod
    def unscale(x, eps=1e-3):
        y = (torch.sqrt(1 + 4 * eps * (x.abs() + 1 + eps)) - 1) / (2 * eps)
        return x.sign() * (y ** 2 - 1)

    def forward(self, obs, action, reward, h, c):
        e = torch.relu(self.enc(obs))
        z = torch.cat([e, action, reward.unsqueeze(-1)], -1)
        out, (h, c) = self.lstm(z, (h.unsqueeze(0), c.unsqueeze(0)))
        v, a = self.val(out), self.adv(out)
        q = v + a - a.mean(-1, keepdim=True)
        return {"q": q, "target": self.unscale(q), "h": h[0], "c": c[0]}


def make():
    torch.manual_seed(3)
    return R2D2()


def inputs(seed):
    r = np.random.default_rng(seed + 3)
    f = lambda *s: r.normal(size=s).astype("float32")
    return (f(B, T, OBS), np.eye(ACT, dtype="float32")[r.integers(0, ACT, (B, T))], f(B, T), f(B, HID), f(B, HID))
