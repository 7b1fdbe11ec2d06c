"""Recurrent PPO agent, as in the usual torch repositories: GRU with resets inside the rollout."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"


def mlp(n_in, hidden, n_out):
    return nn.Sequential(nn.Linear(n_in, hidden), nn.Tanh(), nn.Linear(hidden, n_out))


class RecurrentActorCritic(nn.Module):
    def __init__(self, obs_dim=9, n_actions=5, hidden=24):
        super().__init__()
        self.register_buffer("obs_mean", torch.zeros(obs_dim))
        self.register_buffer("obs_var", torch.ones(obs_dim))
        self.encoder = nn.Linear(obs_dim, hidden)
        self.prev_action = nn.Embedding(n_actions + 1, 8)  # 0: no action yet
        self.cell = nn.GRUCell(hidden + 8, hidden)
        self.actor = mlp(hidden, 32, n_actions)
        self.critic = mlp(hidden, 32, 1)

    def normalise(self, obs):
        scaled = (obs - self.obs_mean) / torch.sqrt(self.obs_var + 1e-8)
        return scaled.clamp(-2.0, 2.0)

    def forward(self, obs, prev_action, starts, legal, h):
        x = torch.tanh(self.encoder(self.normalise(obs)))
        x = torch.cat([x, self.prev_action(prev_action)], dim=-1)
        hs = []
        for t in range(obs.shape[1]):
            h = h * (1.0 - starts[:, t, None])
            h = self.cell(x[:, t], h)
            hs.append(h)
        core = torch.stack(hs, dim=1)
        logits = self.actor(core).masked_fill(~legal, -1e9)
        logp = torch.log_softmax(logits, dim=-1)
        probs = logp.exp()
        entropy = -(probs * logp).sum(-1)
        value = self.critic(core).squeeze(-1)
        return probs, entropy, value, h


def make():
    torch.manual_seed(11)
    net = RecurrentActorCritic()
    with torch.no_grad():
        for name, p in net.named_parameters():
            if p.ndim == 1:
                p.copy_(0.3 * torch.randn_like(p))
            else:
                p.mul_(1.5)
        net.obs_mean.copy_(torch.randn(9))
        net.obs_var.copy_(0.3 + 2 * torch.rand(9))
    return net.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    n, t = 5, 6
    obs = (2 * rng.normal(size=(n, t, 9))).astype("float32")
    prev = rng.integers(1, 6, size=(n, t))
    starts = (rng.random((n, t)) < 0.3).astype("float32")
    prev = np.where(starts > 0, 0, prev).astype("int64")
    legal = rng.random((n, t, 5)) < 0.7
    legal[..., 2] = True
    h = rng.normal(size=(n, 24)).astype("float32") * 0.5
    return obs, prev, starts, legal, h
