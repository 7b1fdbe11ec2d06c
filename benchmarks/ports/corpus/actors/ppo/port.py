import math

import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"


def mlp(sizes):
    mods = []
    for i in range(len(sizes) - 1):
        mods.append(nn.Linear(sizes[i], sizes[i + 1]))
        if i < len(sizes) - 2:
            mods.append(nn.Tanh())
    return nn.Sequential(*mods)


def compute_gae(rewards, values, dones, last_value, last_done, gamma, lam):
    next_values = torch.cat([values[1:], last_value[None]])
    cont = 1.0 - torch.cat([dones[1:], last_done[None]])
    deltas = rewards + gamma * next_values * cont - values
    adv = torch.zeros_like(rewards)
    running = torch.zeros_like(last_value)
    for t in range(rewards.shape[0] - 1, -1, -1):
        running = deltas[t] + gamma * lam * cont[t] * running
        adv[t] = running
    return adv


class PPO(nn.Module):
    gamma, lam, clip, vf_coef, ent_coef, obs_clip = 0.98, 0.92, 0.2, 0.5, 0.01, 2.5

    def __init__(self, obs=7, act=2, hid=20):
        super().__init__()
        self.actor = mlp([obs, hid, hid, act])
        self.critic = mlp([obs, hid, hid, 1])
        self.log_std = nn.Parameter(torch.zeros(act))
        self.register_buffer("obs_mean", torch.zeros(obs))
        self.register_buffer("obs_var", torch.ones(obs))

    def normalise(self, obs):
        return ((obs - self.obs_mean) * torch.rsqrt(self.obs_var + 1e-8)).clamp(-self.obs_clip, self.obs_clip)

    def forward(self, obs, actions, rewards, dones, last_obs, last_done, old_logp, old_values):
        x = self.normalise(obs)
        mean = self.actor(x)
        values = self.critic(x).squeeze(-1)
        last_value = self.critic(self.normalise(last_obs)).squeeze(-1)

        dist = torch.distributions.Normal(mean, self.log_std.exp().expand_as(mean))
        logp = dist.log_prob(actions).sum(-1)
        entropy = (self.log_std + 0.5 * math.log(2 * math.pi * math.e)).sum()

        adv = compute_gae(rewards, values, dones, last_value, last_done, self.gamma, self.lam)
        returns = adv + values
        a = (adv - adv.mean()) / (adv.std(unbiased=False) + 1e-8)

        ratio = (logp - old_logp).exp()
        surr = torch.min(ratio * a, ratio.clamp(1 - self.clip, 1 + self.clip) * a)
        pg_loss = -surr.mean()
        v_clipped = old_values + (values - old_values).clamp(-self.clip, self.clip)
        v_err = torch.max((values - returns).square(), (v_clipped - returns).square())
        v_loss = 0.5 * v_err.mean()
        loss = pg_loss + self.vf_coef * v_loss - self.ent_coef * entropy
        return {"mean": mean, "values": values, "logp": logp, "advantages": adv, "returns": returns,
                "norm_adv": a, "surrogate": surr, "pg_loss": pg_loss, "v_loss": v_loss,
                "entropy": entropy, "loss": loss}


def make():
    torch.manual_seed(0)
    return PPO().eval()


@torch.no_grad()
def load(port_model, ref_model):
    for seq, src in ((port_model.actor, ref_model.pi), (port_model.critic, ref_model.vf)):
        for lin, p in zip([m for m in seq if isinstance(m, nn.Linear)], src):
            lin.weight.copy_(torch.from_numpy(np.ascontiguousarray(p["w"].T)))
            lin.bias.copy_(torch.from_numpy(p["b"]))
    port_model.log_std.copy_(torch.from_numpy(ref_model.log_std))
    port_model.obs_mean.copy_(torch.from_numpy(ref_model.obs_mean))
    port_model.obs_var.copy_(torch.from_numpy(ref_model.obs_var))
