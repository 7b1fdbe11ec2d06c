"""Vectorised rewrite: all critics as batched matmuls, functional losses."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
OBS, ACT, HID, ENS, K = 7, 3, 16, 4, 5
EXPECTILE, TEMPERATURE, DISCOUNT, CQL_ALPHA = 0.8, 3.0, 0.99, 0.7


def _ensemble(n, nin, nout):
    mk = lambda *s: nn.Parameter(0.1 * torch.randn(*s))
    return nn.ParameterDict({
        "w0": mk(n, nin, HID), "b0": mk(n, 1, HID), "w1": mk(n, HID, HID), "b1": mk(n, 1, HID),
        "scale": mk(n, 1, HID), "shift": mk(n, 1, HID), "w2": mk(n, HID, nout), "b2": mk(n, 1, nout),
    })


def apply_mlp(p, x):
    """x: (rows, features) shared by all members -> (members, rows, out)"""
    h = torch.einsum("rf,nfh->nrh", x, p["w0"]) + p["b0"]
    h = torch.baddbmm(p["b1"], F.relu(h), p["w1"])
    centred = h - h.mean(-1, keepdim=True)
    h = centred * torch.rsqrt(centred.square().mean(-1, keepdim=True) + 1e-5) * p["scale"] + p["shift"]
    return torch.baddbmm(p["b2"], F.relu(h), p["w2"])


def tanh_normal_log_prob(mean, log_std, action):
    action = action.clamp(-0.99, 0.99)
    pre = 0.5 * (torch.log1p(action) - torch.log1p(-action))
    gauss = -0.5 * ((pre - mean) / log_std.exp()).square() - log_std - 0.5 * math.log(2 * math.pi)
    return (gauss - torch.log1p(-action.square())).sum(-1)


def expectile_loss(diff):
    w = torch.where(diff < 0, 1 - EXPECTILE, EXPECTILE)
    return torch.mean(w * diff.square())


def cql_penalty(critics, obs, rand_act, q_data):
    rows = obs.repeat_interleave(K, dim=0)
    q_rand = apply_mlp(critics, torch.cat([rows, rand_act.flatten(0, 1)], -1)).view(ENS, -1, K)
    q_all = torch.cat([q_rand + ACT * math.log(2.0), q_data.unsqueeze(-1)], dim=-1)
    soft_max = torch.logsumexp(q_all, dim=-1)
    return soft_max.mean(-1).sum() - q_data.mean(-1).sum()


class OfflineAgent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critics = _ensemble(ENS, OBS + ACT, 1)
        self.target_critics = _ensemble(ENS, OBS + ACT, 1)
        self.value = _ensemble(1, OBS, 1)
        self.actor = _ensemble(1, OBS, ACT)
        self.log_std = nn.Parameter(torch.zeros(ACT))

    def forward(self, obs, act, rew, next_obs, done, rand_act):
        sa = torch.hstack([obs, act])
        q_data = apply_mlp(self.critics, sa).squeeze(-1)
        q_target = apply_mlp(self.target_critics, sa).amin(0).squeeze(-1)
        v, v_next = apply_mlp(self.value, torch.cat([obs, next_obs]))[0].squeeze(-1).chunk(2)
        adv = q_target - v
        target = torch.addcmul(rew, DISCOUNT * v_next, 1 - done)
        bellman = (q_data - target).square().mean(dim=1).sum()
        penalty = cql_penalty(self.critics, obs, rand_act, q_data)
        awr = torch.clamp(torch.exp(TEMPERATURE * adv), max=100.0)
        mean = apply_mlp(self.actor, obs)[0]
        log_prob = tanh_normal_log_prob(mean, self.log_std.clamp(-2.0, 0.5), act)
        return {
            "q": q_data.T, "v": v, "awr": awr, "log_prob": log_prob,
            "v_loss": expectile_loss(adv), "critic_loss": bellman + CQL_ALPHA * penalty,
            "penalty": penalty, "actor_loss": -torch.mean(awr * log_prob),
        }


def make():
    torch.manual_seed(30)
    return OfflineAgent().eval()


@torch.no_grad()
def load(model, reference):
    def stack(params, nets):
        for name, layer in (("0", 0), ("1", 2), ("2", 5)):
            params["w" + name].copy_(torch.stack([net[layer].weight.T for net in nets]))
            params["b" + name].copy_(torch.stack([net[layer].bias[None] for net in nets]))
        params["scale"].copy_(torch.stack([net[3].weight[None] for net in nets]))
        params["shift"].copy_(torch.stack([net[3].bias[None] for net in nets]))

    stack(model.critics, reference.critics)
    stack(model.target_critics, reference.targets)
    stack(model.value, [reference.v])
    stack(model.actor, [reference.actor])
    model.log_std.copy_(reference.log_std)
