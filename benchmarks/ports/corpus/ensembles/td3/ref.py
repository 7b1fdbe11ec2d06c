"""TD3 target with policy smoothing."""
import numpy as np, torch
from torch import nn

FRAMEWORK = "torch"
OBS, ACT, MAXA = 7, 3, 2.0


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, o))


class TorchTD3(nn.Module):
    def __init__(self, policy_noise=0.2, noise_clip=0.5, gamma=0.99):
        super().__init__()
        self.actor, self.q1, self.q2 = mlp(OBS, ACT), mlp(OBS + ACT, 1), mlp(OBS + ACT, 1)
        self.policy_noise, self.noise_clip, self.gamma = policy_noise, noise_clip, gamma

    def forward(self, next_obs, reward, done):
        mean = MAXA * torch.tanh(self.actor(next_obs))
        noise = (torch.randn_like(mean) * self.policy_noise * MAXA).clamp(-self.noise_clip * MAXA, self.noise_clip * MAXA)
        action = (mean + noise).clamp(-MAXA, MAXA)
        sa = torch.cat([next_obs, action], 1)
        q = torch.min(self.q1(sa), self.q2(sa)).squeeze(-1)
        return {"action": action, "target": reward + self.gamma * (1 - done) * q}


def make():
    torch.manual_seed(2)
    net = TorchTD3().eval()
    with torch.no_grad():
        for p in net.parameters():
            p.mul_(2.5)
    return net


def inputs(seed):
    r = np.random.default_rng(seed + 2)
    return (r.normal(size=(8, OBS)).astype("float32"), r.normal(size=8).astype("float32"),
            np.array([0, 1, 0, 0, 0, 1, 0, 0], "float32"))
