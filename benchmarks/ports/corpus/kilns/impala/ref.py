"""IMPALA's deep residual agent (Espeholt et al. 2018), one step, in the manner of torchbeast."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"


class ResidualBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv0 = nn.Conv2d(channels, channels, 3, padding=1)
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x):
        y = self.conv0(F.relu(x))
        y = self.conv1(F.relu(y))
        return x + y


class Section(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.conv = nn.Conv2d(n_in, n_out, 3, padding=1)
        self.res0 = ResidualBlock(n_out)
        self.res1 = ResidualBlock(n_out)

    def forward(self, x):
        x = F.max_pool2d(self.conv(x), kernel_size=3, stride=2, padding=1)
        return self.res1(self.res0(x))


class ImpalaNet(nn.Module):
    def __init__(self, n_actions=6, hidden=24):
        super().__init__()
        self.n_actions = n_actions
        self.sections = nn.ModuleList([Section(3, 6), Section(6, 8)])
        self.fc = nn.Linear(8 * 5 * 6, 32)
        self.core = nn.LSTMCell(32 + n_actions + 1, hidden)
        self.policy = nn.Linear(hidden, n_actions)
        self.baseline = nn.Linear(hidden, 1)

    def forward(self, frame, reward, last_action, done, h, c):
        x = frame / 255.0
        for section in self.sections:
            x = section(x)
        x = F.relu(x).flatten(1)
        x = F.relu(self.fc(x))
        one_hot = F.one_hot(last_action, self.n_actions).to(x.dtype)
        clipped = torch.clamp(reward, -1, 1).unsqueeze(1)
        core_input = torch.cat([x, clipped, one_hot], dim=1)
        notdone = 1.0 - done.unsqueeze(1)
        h, c = self.core(core_input, (h * notdone, c * notdone))
        logits = self.policy(h)
        return logits, self.baseline(h).squeeze(1), h, c


def make():
    torch.manual_seed(91)
    net = ImpalaNet()
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(p * 1.5 if p.ndim > 1 else 0.2 * torch.randn_like(p))
    return net.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    b = 4
    return (
        rng.integers(0, 256, size=(b, 3, 18, 22)).astype("float32"),
        (2 * rng.normal(size=b)).astype("float32"),
        rng.integers(0, 6, size=b).astype("int64"),
        np.array([0, 1, 0, 1], "float32"),
        (0.5 * rng.normal(size=(b, 24))).astype("float32"),
        rng.normal(size=(b, 24)).astype("float32"),
    )
