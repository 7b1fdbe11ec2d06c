"""R2D2's recurrent dueling network with value rescaling."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
O, A, HID, B, T = 10, 5, 24, 5, 7
EPS = 1e-3


class R2D2(nn.Module):
    def __init__(self):
        super().__init__()
        self.torso = nn.Sequential(nn.Linear(O, 32), nn.ReLU(), nn.Linear(32, 20), nn.ReLU())
        self.lstm = nn.LSTM(20 + A + 1, HID, batch_first=True)
        self.value = nn.Sequential(nn.Linear(HID, 16), nn.ReLU(), nn.Linear(16, 1))
        self.advantage = nn.Sequential(nn.Linear(HID, 16), nn.ReLU(), nn.Linear(16, A))

    def forward(self, obs, prev_action, prev_reward, h0, c0):
        x = self.torso(obs)
        onehot = nn.functional.one_hot(prev_action, A).float()
        x = torch.cat([x, onehot, torch.tanh(prev_reward).unsqueeze(-1)], dim=-1)
        y, (h, c) = self.lstm(x, (h0.unsqueeze(0), c0.unsqueeze(0)))
        a = self.advantage(y)
        q = self.value(y) + a - a.mean(-1, keepdim=True)
        rescaled = torch.sign(q) * (
            ((torch.sqrt(1 + 4 * EPS * (q.abs() + 1 + EPS)) - 1) / (2 * EPS)) ** 2 - 1
        )
        return {"q": q, "target": rescaled, "h": h[0], "c": c[0]}


def make():
    torch.manual_seed(2)
    return R2D2().eval()


def inputs(seed):
    g = np.random.default_rng(seed + 2)
    f = lambda *s: g.normal(size=s).astype("float32")
    return f(B, T, O), g.integers(0, A, (B, T)), 2 * f(B, T), f(B, HID), f(B, HID)
