"""CQL(H) critic loss with twin Q functions, after the CORL single file agent."""
import math

import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"
GAMMA = 0.99
TEMPERATURE = 0.7
ALPHA = 5.0
OBS, ACT, SAMPLES = 11, 3, 4


class FullyConnectedQFunction(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.network = nn.Sequential(
            nn.Linear(OBS + ACT, hidden),
            nn.LayerNorm(hidden),
            nn.ELU(),
            nn.Linear(hidden, hidden),
            nn.LayerNorm(hidden),
            nn.ELU(),
            nn.Linear(hidden, 1),
        )

    def forward(self, observations, actions):
        multiple_actions = actions.ndim == 3 and observations.ndim == 2
        if multiple_actions:
            observations = observations.unsqueeze(1).repeat(1, actions.shape[1], 1)
        return self.network(torch.cat([observations, actions], dim=-1)).squeeze(-1)


class CQLLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic_1 = FullyConnectedQFunction()
        self.critic_2 = FullyConnectedQFunction()
        self.target_1 = FullyConnectedQFunction()
        self.target_2 = FullyConnectedQFunction()
        self.log_alpha = nn.Parameter(torch.tensor([-0.9]))

    def conservative(self, critic, obs, q_pred, random_actions, policy_actions, policy_log_pi):
        q_rand = critic(obs, random_actions)
        q_policy = critic(obs, policy_actions)
        random_density = math.log(0.5**ACT)
        q_cat = torch.cat([q_rand - random_density, q_policy - policy_log_pi], dim=1)
        q_ood = torch.logsumexp(q_cat / TEMPERATURE, dim=1) * TEMPERATURE
        gap = q_ood - q_pred
        return torch.clamp(gap, -200.0, math.inf)

    def forward(self, obs, action, reward, next_obs, done, next_action, next_log_pi,
                random_actions, policy_actions, policy_log_pi):
        q1, q2 = self.critic_1(obs, action), self.critic_2(obs, action)
        with torch.no_grad():
            target_q = torch.min(
                self.target_1(next_obs, next_action), self.target_2(next_obs, next_action)
            )
            target_q = target_q - self.log_alpha.exp() * next_log_pi
            td_target = reward + (1.0 - done) * GAMMA * target_q
        td_1 = nn.functional.huber_loss(q1, td_target, reduction="none", delta=0.5)
        td_2 = nn.functional.huber_loss(q2, td_target, reduction="none", delta=0.5)
        gap_1 = self.conservative(
            self.critic_1, obs, q1, random_actions, policy_actions, policy_log_pi
        )
        gap_2 = self.conservative(
            self.critic_2, obs, q2, random_actions, policy_actions, policy_log_pi
        )
        per_sample = td_1 + td_2 + ALPHA * (gap_1 + gap_2)
        return {"td_target": td_target, "gap": gap_1, "per_sample": per_sample,
                "loss": per_sample.mean()}


def make():
    torch.manual_seed(7)
    model = CQLLoss()
    for p in model.parameters():
        if p.ndim == 1 and p.numel() > 1:
            p.data += 0.2 * torch.randn_like(p)
    return model


def inputs(seed):
    rng = np.random.default_rng(seed)
    b = 6
    n = lambda *s: rng.normal(size=s).astype("float32")
    u = lambda *s: rng.uniform(-1, 1, size=s).astype("float32")
    done = (np.arange(b) % 3 == 0).astype("float32")
    return (n(b, OBS), u(b, ACT), 2 * n(b), n(b, OBS), done, u(b, ACT), n(b) - 1,
            u(b, SAMPLES, ACT), u(b, SAMPLES, ACT), n(b, SAMPLES) - 1)
