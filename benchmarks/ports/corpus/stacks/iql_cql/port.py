"""IQL + CQL rewrite: parameters in plain lists, networks as functions, twin critics batched."""
import math

import torch
from torch import nn

torch.set_num_threads(1)
FRAMEWORK = "torch"
O, A, H = 6, 2, 20
CFG = dict(gamma=0.95, expectile=0.8, temperature=3.0, cap=20.0)


def init(members, i, o):
    shapes = [(i, H), (H, H), (H, o)]
    return nn.ParameterList([p for s in shapes for p in (torch.randn(members, *s) * 0.1, torch.zeros(members, 1, s[1]))])


def apply(params, x):
    """[B, I] -> [members, B, O]"""
    w1, b1, w2, b2, w3, b3 = params
    x = torch.relu(torch.einsum("bi,kih->kbh", x, w1) + b1)
    x = torch.relu(torch.einsum("kbh,khj->kbj", x, w2) + b2)
    return torch.einsum("kbj,kjo->kbo", x, w3) + b3


def gaussian_logp(x, mean, log_std):
    z = (x - mean) * torch.exp(-log_std)
    return -(0.5 * z * z + log_std + 0.5 * math.log(2 * math.pi)).sum(-1)


def expectile_loss(diff, tau):
    return torch.where(diff < 0, 1 - tau, tau).mul(diff.square()).mean()


class Learner(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.q_bar = init(2, O + A, 1), init(2, O + A, 1)
        self.v, self.mu = init(1, O, 1), init(1, O, A)
        self.log_std = nn.Parameter(torch.zeros(A))

    def values(self, params, s, a):
        return apply(params, torch.hstack((s, a)))[..., 0]

    def forward(self, s, a, r, s2, done, candidates):
        v_s, v_next = apply(self.v, torch.cat((s, s2)))[0, :, 0].chunk(2)
        adv = self.values(self.q_bar, s, a).amin(0) - v_s
        q = self.values(self.q, s, a)
        backup = r + CFG["gamma"] * v_next * (done == 0)
        q_loss = (q - backup).pow(2).mean()

        awr = torch.clamp((CFG["temperature"] * adv).exp(), max=CFG["cap"])
        logp = gaussian_logp(a, apply(self.mu, s)[0].tanh(), torch.clamp(self.log_std, -5, 2))
        pi_loss = torch.mean(awr * -logp)

        K = candidates.shape[1]
        many = self.values(self.q, s.repeat_interleave(K, 0), candidates.flatten(0, 1)).unflatten(1, (-1, K))
        cql = (many.logsumexp(2) - q).mean(1).sum()
        return dict(v_loss=expectile_loss(adv, CFG["expectile"]), q_loss=q_loss, pi_loss=pi_loss, cql=cql, adv=adv)


def make():
    torch.manual_seed(60)
    return Learner().eval()


@torch.no_grad()
def load(model, reference):
    def fill(params, *nets):
        for k, net in enumerate(nets):
            for n, layer in enumerate(net[::2]):
                params[2 * n][k].copy_(layer.weight.T)
                params[2 * n + 1][k, 0].copy_(layer.bias)

    fill(model.q, reference.qf.q1, reference.qf.q2)
    fill(model.q_bar, reference.q_target.q1, reference.q_target.q2)
    fill(model.v, reference.vf)
    fill(model.mu, reference.policy.net)
    model.log_std.copy_(reference.policy.log_std)
