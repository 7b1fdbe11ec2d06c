"""SNAIL meta-learner (dilated causal gated convolutions + causal attention) with instance-normalised observations."""
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
B, T, OBS, A, FILTERS, KEY, VAL = 4, 8, 5, 3, 8, 8, 6


class CausalConv(nn.Module):
    """weight-normalised, kernel size 2"""

    def __init__(self, cin, cout, dilation):
        super().__init__()
        self.dilation = dilation
        self.v = nn.Parameter(torch.randn(cout, cin, 2) * 0.3)
        self.g = nn.Parameter(torch.rand(cout) + 0.7)
        self.bias = nn.Parameter(torch.randn(cout) * 0.2)

    def forward(self, x):
        norm = self.v.flatten(1).norm(dim=1)
        w = self.v * (self.g / norm).view(-1, 1, 1)
        return F.conv1d(F.pad(x, (self.dilation, 0)), w, self.bias, dilation=self.dilation)


class DenseBlock(nn.Module):
    def __init__(self, cin, dilation):
        super().__init__()
        self.xf = CausalConv(cin, FILTERS, dilation)
        self.xg = CausalConv(cin, FILTERS, dilation)

    def forward(self, x):
        return torch.cat([x, torch.tanh(self.xf(x)) * torch.sigmoid(self.xg(x))], dim=1)


class TCBlock(nn.Sequential):
    def __init__(self, cin):
        depth = int(math.log2(T))
        super().__init__(*[DenseBlock(cin + i * FILTERS, 2 ** i) for i in range(depth)])


class AttentionBlock(nn.Module):
    def __init__(self, cin):
        super().__init__()
        self.q = nn.Linear(cin, KEY)
        self.k = nn.Linear(cin, KEY)
        self.v = nn.Linear(cin, VAL)

    def forward(self, x):
        x = x.transpose(1, 2)
        logits = self.q(x) @ self.k(x).transpose(1, 2)
        future = torch.ones(T, T, dtype=torch.bool).triu(1)
        probs = torch.softmax(logits.masked_fill(future, float("-inf")) / math.sqrt(KEY), dim=-1)
        return torch.cat([x, probs @ self.v(x)], dim=2).transpose(1, 2)


class SNAIL(nn.Module):
    def __init__(self):
        super().__init__()
        c = OBS + A + 1
        self.affine = nn.Parameter(1 + 0.2 * torch.randn(OBS))
        self.offset = nn.Parameter(0.2 * torch.randn(OBS))
        self.att1 = AttentionBlock(c)
        c += VAL
        self.tc1 = TCBlock(c)
        c += 3 * FILTERS
        self.att2 = AttentionBlock(c)
        c += VAL
        self.policy = nn.Linear(c, A)
        self.forecast = nn.Linear(c, OBS)

    def forward(self, obs, prev_action, prev_reward):
        mean = obs.mean(dim=1, keepdim=True)
        std = torch.sqrt(obs.var(dim=1, keepdim=True, unbiased=False) + 1e-5)
        z = (obs - mean) / std * self.affine + self.offset
        act = F.one_hot(prev_action.clamp(min=0), A).float() * (prev_action >= 0).unsqueeze(-1)
        x = torch.cat([z, act, prev_reward.unsqueeze(-1)], dim=-1).transpose(1, 2)
        x = self.att2(self.tc1(self.att1(x))).transpose(1, 2)
        pred = (self.forecast(x) - self.offset) / self.affine * std + mean
        return F.log_softmax(self.policy(x), dim=-1), pred


def make():
    torch.manual_seed(61)
    net = SNAIL()
    with torch.no_grad():
        for m in net.modules():
            if isinstance(m, nn.Linear):
                m.weight.mul_(1.6)
                m.bias.normal_(0, 0.2)
    return net.eval()


def inputs(seed):
    rng = np.random.RandomState(seed + 7)
    obs = np.cumsum(rng.randn(B, T, OBS), axis=1).astype(np.float32)
    prev_action = rng.randint(0, A, size=(B, T)).astype(np.int64)
    prev_action[:, 0] = -1
    prev_reward = rng.randn(B, T).astype(np.float32)
    prev_reward[:, 0] = 0
    return obs, prev_action, prev_reward
