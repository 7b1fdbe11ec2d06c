"""IMPALA: residual CNN + LSTM with done resets, policy and baseline."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
CH, HW, NA, FC, LH = (6, 8), 12, 4, 32, 24


class Res(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(c, c, 3, padding=1), nn.Conv2d(c, c, 3, padding=1)

    def forward(self, x):
        return x + self.c2(F.relu(self.c1(F.relu(x))))


class Impala(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs, self.res, i = nn.ModuleList(), nn.ModuleList(), 3
        for c in CH:
            self.convs.append(nn.Conv2d(i, c, 3, padding=1)); self.res.append(Res(c)); i = c
        self.fc = nn.Linear(CH[-1] * 9, FC)
        self.core = nn.LSTMCell(FC + 1 + NA, LH)
        self.policy, self.baseline = nn.Linear(LH, NA), nn.Linear(LH, 1)

    def forward(self, frame, reward, done, last_action):
        B, T = frame.shape[:2]
        x = frame.flatten(0, 1).float() / 255.0
        for conv, res in zip(self.convs, self.res):
            x = res(F.max_pool2d(conv(x), 3, stride=2, padding=1))
        x = F.relu(self.fc(F.relu(x).flatten(1)))
        hot = F.one_hot(last_action.flatten(), NA).float()
        x = torch.cat([x, reward.flatten().clamp(-1, 1)[:, None], hot], -1).view(B, T, -1)
        h, c = x.new_zeros(B, LH), x.new_zeros(B, LH)
        outs = []
        for t in range(T):
            nd = (1.0 - done[:, t])[:, None]
            h, c = self.core(x[:, t], (h * nd, c * nd))
            outs.append(h)
        y = torch.stack(outs, 1)
        return {"logits": self.policy(y), "baseline": self.baseline(y).squeeze(-1)}


def make():
    torch.manual_seed(9)
    m = Impala()
    for p in m.parameters():
        nn.init.normal_(p, 0, 0.2)
    return m.eval()


def inputs(seed):
    r = np.random.default_rng(seed + 9)
    done = np.zeros((3, 4), "float32")
    done[0, 2] = done[2, 1] = done[1, 0] = 1
    return (r.integers(0, 256, (3, 4, 3, HW, HW)).astype("float32"), (2 * r.normal(size=(3, 4))).astype("float32"), done, r.integers(0, NA, (3, 4)).astype("int64"))
