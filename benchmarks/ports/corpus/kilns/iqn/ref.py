"""Implicit quantile network (Dabney et al. 2018) with dueling streams, and its loss."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"


class IQN(nn.Module):
    def __init__(self, n_actions=4, n_cos=16, features=32):
        super().__init__()
        self.n_actions, self.n_cos = n_actions, n_cos
        self.conv1 = nn.Conv2d(3, 8, 4, stride=2)
        self.conv2 = nn.Conv2d(8, 8, 3, stride=2)
        self.fc = nn.Linear(8 * 4 * 4, features)
        self.phi = nn.Linear(n_cos, features)
        self.advantage = nn.Sequential(nn.Linear(features, 24), nn.ReLU(), nn.Linear(24, n_actions))
        self.value = nn.Sequential(nn.Linear(features, 24), nn.ReLU(), nn.Linear(24, 1))
        self.register_buffer("freqs", np.pi * torch.arange(1, n_cos + 1).float())

    def embed_state(self, frames):
        x = F.relu(self.conv1(frames / 255.0))
        x = F.relu(self.conv2(x))
        return F.relu(self.fc(x.flatten(1)))

    def quantiles(self, frames, taus):
        b, n = taus.shape
        state = self.embed_state(frames)
        cosines = torch.cos(taus.reshape(b * n, 1) * self.freqs)
        phi = F.relu(self.phi(cosines))
        x = state.repeat_interleave(n, dim=0) * phi
        adv, val = self.advantage(x), self.value(x)
        q = val + adv - adv.mean(dim=1, keepdim=True)
        return q.view(b, n, self.n_actions)

    def forward(self, frames, taus, actions, target):
        z = self.quantiles(frames, taus)
        q = z.mean(dim=1)
        b, n = taus.shape
        chosen = z.gather(2, actions.view(b, 1, 1).expand(b, n, 1))
        td = target.unsqueeze(1) - chosen
        huber = torch.where(td.abs() <= 1.0, 0.5 * td**2, td.abs() - 0.5)
        weight = (taus.unsqueeze(2) - (td < 0).float()).abs()
        loss = (weight * huber).sum(dim=1).mean(dim=1)
        return q, z, loss


def make():
    torch.manual_seed(51)
    net = IQN()
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(p * 1.5 if p.ndim > 1 else 0.2 * torch.randn_like(p))
    return net.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    b, n = 5, 8
    return (
        rng.integers(0, 256, size=(b, 3, 20, 20)).astype("float32"),
        rng.random((b, n)).astype("float32"),
        rng.integers(0, 4, size=b).astype("int64"),
        (1.5 * rng.normal(size=(b, n))).astype("float32"),
    )
