"""Soft Retrace(lambda): twin critics, a softmax policy with temperature, targets over a trajectory."""
import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"
T, B, OBS, ACTIONS = 6, 4, 7, 5


def mlp(sizes, act):
    mods = []
    for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
        mods.append(nn.Linear(a, b))
        if i < len(sizes) - 2:
            mods.append(act())
    return nn.Sequential(*mods)


class SoftRetrace(nn.Module):
    def __init__(self, gamma=0.98, lam=0.9):
        super().__init__()
        self.gamma, self.lam = gamma, lam
        self.norm = nn.LayerNorm(OBS)
        self.q1 = mlp([OBS, 24, 24, ACTIONS], nn.SiLU)
        self.q2 = mlp([OBS, 24, 24, ACTIONS], nn.SiLU)
        self.actor = mlp([OBS, 24, ACTIONS], nn.Tanh)
        self.gate = mlp([OBS, 12, 1], nn.Mish)
        self.log_alpha = nn.Parameter(torch.tensor(-0.9))

    def forward(self, obs, actions, behaviour, rewards, discounts):
        alpha = self.log_alpha.exp()
        x = self.norm(obs)
        q_all = torch.minimum(self.q1(x), self.q2(x))
        log_pi = torch.log_softmax(self.actor(x), dim=-1)
        pi = log_pi.exp()
        v_soft = (pi * (q_all - alpha * log_pi)).sum(-1)
        index = actions.unsqueeze(-1)
        q = q_all.gather(-1, index).squeeze(-1)
        rho = (log_pi.gather(-1, index).squeeze(-1) - behaviour).exp()
        trace = self.lam * rho.clamp(max=1.0)
        mask = torch.sigmoid(self.gate(x)).squeeze(-1)
        delta = rewards[:-1] + self.gamma * discounts[:-1] * v_soft[1:] - q[:-1]
        acc = torch.zeros(B, dtype=obs.dtype)
        errors = []
        for t in reversed(range(T - 1)):
            following = trace[t + 1] if t + 1 < T - 1 else torch.zeros_like(acc)
            acc = delta[t] + self.gamma * discounts[t] * following * acc
            errors.insert(0, acc)
        targets = q[:-1] + torch.stack(errors)
        td = targets.unsqueeze(-1) - torch.stack([self.q1(x), self.q2(x)], dim=-1)[:-1].gather(
            2, index[:-1].unsqueeze(-1).expand(-1, -1, 1, 2)
        ).squeeze(2)
        critic_loss = (mask[:-1].unsqueeze(-1) * nn.functional.huber_loss(td, torch.zeros_like(td), reduction="none")).mean()
        actor_loss = (pi * (alpha * log_pi - q_all)).sum(-1).mean()
        return targets, v_soft, critic_loss, actor_loss


def make():
    torch.manual_seed(8)
    net = SoftRetrace()
    with torch.no_grad():
        net.norm.weight.uniform_(0.5, 1.5), net.norm.bias.normal_(0, 0.2)
        for p in list(net.q1.parameters()) + list(net.q2.parameters()):
            p.mul_(2.0)
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    actions = rng.integers(0, ACTIONS, (T, B))
    behaviour = np.log(rng.uniform(0.1, 0.6, (T, B))).astype("float32")
    discounts = (rng.uniform(size=(T, B)) > 0.15).astype("float32")
    return (rng.normal(size=(T, B, OBS)).astype("float32") * 1.3, actions, behaviour,
            2 * rng.normal(size=(T, B)).astype("float32"), discounts)
