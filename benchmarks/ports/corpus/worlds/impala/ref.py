"""IMPALA's deep network (residual) with an LSTM core and resets. torch."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
ACT = 6


class Residual(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.conv0 = nn.Conv2d(ch, ch, 3, padding=1)
        self.conv1 = nn.Conv2d(ch, ch, 3, padding=1)

    def forward(self, x):
        y = self.conv0(F.relu(x))
        y = self.conv1(F.relu(y))
        return x + y


class Section(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, padding=1)
        self.pool = nn.MaxPool2d(3, stride=2, padding=1)
        self.res0 = Residual(cout)
        self.res1 = Residual(cout)

    def forward(self, x):
        return self.res1(self.res0(self.pool(self.conv(x))))


class Impala(nn.Module):
    """frames (T, B, H, W, C) uint8, last_action (T, B), reward (T, B), done (T, B), h, c."""

    def __init__(self):
        super().__init__()
        self.sections = nn.ModuleList([Section(3, 8), Section(8, 12)])
        self.fc = nn.Linear(12 * 6 * 6, 32)
        self.core = nn.LSTMCell(32 + ACT + 1, 20)
        self.policy = nn.Linear(20, ACT)
        self.baseline = nn.Linear(20, 1)

    def forward(self, frame, last_action, reward, done, h, c):
        T, B = frame.shape[:2]
        x = frame.flatten(0, 1).float() / 255.0
        x = x.permute(0, 3, 1, 2)
        for section in self.sections:
            x = section(x)
        x = F.relu(x)
        x = F.relu(self.fc(x.permute(0, 2, 3, 1).flatten(1)))
        one_hot = F.one_hot(last_action.flatten(0, 1).long(), ACT).float()
        clipped = reward.clamp(-1, 1).reshape(T * B, 1)
        core_in = torch.cat([x, clipped, one_hot], dim=-1).view(T, B, -1)
        outs = []
        for t in range(T):
            keep = (1.0 - done[t]).unsqueeze(-1)
            h, c = self.core(core_in[t], (h * keep, c * keep))
            outs.append(h)
        out = torch.stack(outs)
        return {"logits": self.policy(out), "baseline": self.baseline(out).squeeze(-1), "h": h, "c": c}


def rough(module, seed=7, size=0.1):
    """Moves all vectors (biases, norms) off their trivial defaults, as training would."""
    gen = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in module.parameters():
            if p.ndim == 1:
                p.add_(size * torch.randn(p.shape, generator=gen))
    return module


def make():
    torch.manual_seed(2)
    return rough(Impala())


def inputs(seed):
    g = np.random.default_rng(seed + 2)
    done = (g.random((5, 4)) < 0.3).astype("float32")
    return (g.integers(0, 256, (5, 4, 24, 24, 3)).astype("uint8"), g.integers(0, ACT, (5, 4)).astype("int64"),
            (2 * g.normal(size=(5, 4))).astype("float32"), done,
            g.normal(size=(4, 20)).astype("float32"), g.normal(size=(4, 20)).astype("float32"))
