"""SAC: squashed Gaussian actor, twin critics, soft value."""
import numpy as np
import torch
from torch import nn
from torch.distributions import Normal

FRAMEWORK = "torch"
OBS, ACT, HID, SCALE, ALPHA = 10, 3, 48, 0.8, 0.2


def mlp(n_in, n_out):
    return nn.Sequential(nn.Linear(n_in, HID), nn.ReLU(), nn.Linear(HID, HID), nn.ReLU(), nn.Linear(HID, n_out))


class SAC(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = mlp(OBS, 2 * ACT)
        self.q1, self.q2 = mlp(OBS + ACT, 1), mlp(OBS + ACT, 1)

    def forward(self, obs):
        mean, log_std = self.actor(obs).chunk(2, dim=-1)
        log_std = torch.clamp(log_std, -5.0, 2.0)
        dist = Normal(mean, log_std.exp())
        u = dist.rsample()
        squashed = torch.tanh(u)
        action = SCALE * squashed
        logp = dist.log_prob(u) - torch.log(SCALE * (1 - squashed.pow(2)) + 1e-6)
        logp = logp.sum(-1, keepdim=True)
        sa = torch.cat([obs, action], dim=-1)
        q = torch.min(self.q1(sa), self.q2(sa))
        return {"action": action, "logp": logp, "value": q - ALPHA * logp}


def make():
    torch.manual_seed(2)
    ref = SAC()
    with torch.no_grad():
        ref.actor[-1].weight.mul_(6)
    return ref


def inputs(seed):
    return np.random.default_rng(seed + 2).normal(size=(6, OBS)).astype("float32")
