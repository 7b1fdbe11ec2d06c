"""QMIX: recurrent agents (LSTM over the episode) with masked greedy utilities, and the monotonic hypernetwork mixer."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"
N, T, O, ST, A, EMB, HID = 3, 4, 8, 12, 5, 16, 20


class TorchQMIX(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(O + N, HID)
        self.lstm = nn.LSTM(HID, HID, batch_first=True)
        self.q = nn.Linear(HID, A)
        self.hw1, self.hb1 = nn.Linear(ST, N * EMB), nn.Linear(ST, EMB)
        self.hw2 = nn.Linear(ST, EMB)
        self.hb2 = nn.Sequential(nn.Linear(ST, EMB), nn.ReLU(), nn.Linear(EMB, 1))

    def forward(self, obs, avail, state):
        b = obs.shape[0]
        ids = torch.eye(N).view(1, 1, N, N).expand(b, T, N, N)
        x = torch.cat([obs, ids], -1).transpose(1, 2).reshape(b * N, T, O + N)
        y, _ = self.lstm(F.relu(self.fc(x)))
        q = self.q(y).view(b, N, T, A).transpose(1, 2)
        best = q.masked_fill(avail == 0, -1e10).max(-1).values
        w1 = self.hw1(state).abs().view(b, T, N, EMB)
        hidden = F.elu(torch.matmul(best.unsqueeze(2), w1) + self.hb1(state).unsqueeze(2))
        w2 = self.hw2(state).abs().unsqueeze(-1)
        total = torch.matmul(hidden, w2) + self.hb2(state).unsqueeze(2)
        return total.view(b, T), best


def make():
    torch.manual_seed(10)
    return TorchQMIX().eval()


def inputs(seed):
    rng = np.random.default_rng(seed + 10)
    obs = rng.normal(size=(4, T, N, O)).astype("float32")
    avail = (rng.random((4, T, N, A)) < 0.6).astype("float32"); avail[..., 0] = 1
    state = rng.normal(size=(4, T, ST)).astype("float32")
    return obs, avail, state
