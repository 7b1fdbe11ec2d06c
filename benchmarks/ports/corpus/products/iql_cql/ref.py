"""Offline actor-critic: IQL value / AWR actor with an ensemble of critics and a CQL penalty on random actions."""
import math

import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Independent, Normal, TanhTransform, TransformedDistribution

FRAMEWORK = "torch"
B, OBS, ACT, HID, ENS, K = 6, 7, 3, 16, 4, 5
TAU, BETA, GAMMA, ALPHA = 0.8, 3.0, 0.99, 0.7


def mlp(nin, nout):
    return nn.Sequential(nn.Linear(nin, HID), nn.ReLU(), nn.Linear(HID, HID), nn.LayerNorm(HID), nn.ReLU(), nn.Linear(HID, nout))


class OfflineAgent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critics = nn.ModuleList([mlp(OBS + ACT, 1) for _ in range(ENS)])
        self.targets = nn.ModuleList([mlp(OBS + ACT, 1) for _ in range(ENS)])
        self.v = mlp(OBS, 1)
        self.actor = mlp(OBS, ACT)
        self.log_std = nn.Parameter(torch.zeros(ACT))

    def forward(self, obs, act, rew, next_obs, done, rand_act):
        sa = torch.cat([obs, act], dim=-1)
        target_q = torch.min(torch.stack([q(sa).squeeze(-1) for q in self.targets]), dim=0).values
        v = self.v(obs).squeeze(-1)
        adv = target_q - v
        weight = torch.abs(TAU - (adv < 0).float())
        v_loss = (weight * adv.pow(2)).mean()

        backup = rew + GAMMA * (1.0 - done) * self.v(next_obs).squeeze(-1)
        tiled = obs.unsqueeze(1).expand(-1, K, -1)
        rand_in = torch.cat([tiled, rand_act], dim=-1)
        q_loss, penalty, q_data = 0.0, 0.0, []
        for critic in self.critics:
            q = critic(sa).squeeze(-1)
            q_data.append(q)
            q_loss = q_loss + nn.functional.mse_loss(q, backup)
            q_rand = critic(rand_in).squeeze(-1) - ACT * math.log(0.5)
            lse = torch.logsumexp(torch.cat([q_rand, q.unsqueeze(1)], dim=1), dim=1)
            penalty = penalty + (lse - q).mean()
        critic_loss = q_loss + ALPHA * penalty

        awr = torch.exp(BETA * adv).clamp(max=100.0)
        std = self.log_std.clamp(-2.0, 0.5).exp()
        base = Independent(Normal(self.actor(obs), std), 1)
        pi = TransformedDistribution(base, [TanhTransform(cache_size=1)])
        log_prob = pi.log_prob(act.clamp(-0.99, 0.99))
        actor_loss = -(awr * log_prob).mean()
        return {
            "q": torch.stack(q_data, dim=1), "v": v, "awr": awr, "log_prob": log_prob,
            "v_loss": v_loss, "critic_loss": critic_loss, "penalty": penalty, "actor_loss": actor_loss,
        }


def make():
    torch.manual_seed(29)
    net = OfflineAgent()
    with torch.no_grad():
        for name, p in net.named_parameters():
            if p.dim() == 2:
                p.normal_(0, 1.3 / math.sqrt(p.shape[1]))
            elif p.shape == (HID,) and name.endswith("3.weight"):
                p.normal_(1.0, 0.2)
            else:
                p.normal_(0, 0.3)
    return net.eval()


def inputs(seed):
    rng = np.random.RandomState(seed)
    f = np.float32
    return (rng.randn(B, OBS).astype(f), np.tanh(rng.randn(B, ACT)).astype(f), rng.randn(B).astype(f),
            rng.randn(B, OBS).astype(f), np.array([0, 0, 1, 0, 1, 0], f), rng.uniform(-1, 1, (B, K, ACT)).astype(f))
