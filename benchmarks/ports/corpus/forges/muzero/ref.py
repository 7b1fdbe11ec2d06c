"""MuZero on a small board: representation, dynamics unrolled over actions, prediction."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
PLANES, SIDE, C, UNROLL, SUPPORT = 4, 6, 12, 3, 10
ACTIONS = SIDE * SIDE


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(C, C, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(C)
        self.conv2 = nn.Conv2d(C, C, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(C)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(x + self.bn2(self.conv2(y)))


class Tower(nn.Module):
    def __init__(self, planes):
        super().__init__()
        self.conv = nn.Conv2d(planes, C, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(C)
        self.block = Residual()

    def forward(self, x):
        x = self.block(F.relu(self.bn(self.conv(x))))
        low = x.flatten(1).min(dim=1)[0].view(-1, 1, 1, 1)
        high = x.flatten(1).max(dim=1)[0].view(-1, 1, 1, 1)
        return (x - low) / (high - low + 1e-5)


class Head(nn.Module):
    def __init__(self, channels, outputs):
        super().__init__()
        self.conv = nn.Conv2d(C, channels, 1)
        self.fc = nn.Linear(channels * ACTIONS, outputs)

    def forward(self, s):
        return self.fc(F.relu(self.conv(s)).flatten(1))


class MuZero(nn.Module):
    def __init__(self):
        super().__init__()
        self.representation = Tower(PLANES)
        self.dynamics = Tower(C + 1)
        self.policy = Head(2, ACTIONS)
        self.value = Head(1, 2 * SUPPORT + 1)
        self.reward = Head(1, 2 * SUPPORT + 1)
        self.register_buffer("atoms", torch.arange(-SUPPORT, SUPPORT + 1).float())

    def scalar(self, logits, eps=0.001):
        x = (logits.softmax(-1) * self.atoms).sum(-1)
        root = torch.sqrt(1 + 4 * eps * (x.abs() + 1 + eps))
        return x.sign() * (((root - 1) / (2 * eps)) ** 2 - 1)

    def forward(self, board, actions):
        s = self.representation(board)
        policies, values, rewards = [self.policy(s)], [self.scalar(self.value(s))], []
        for k in range(UNROLL):
            plane = F.one_hot(actions[:, k], ACTIONS).to(s.dtype).view(-1, 1, SIDE, SIDE)
            s = self.dynamics(torch.cat([s, plane], dim=1))
            rewards.append(self.scalar(self.reward(s)))
            policies.append(self.policy(s))
            values.append(self.scalar(self.value(s)))
        return torch.stack(policies, 1).softmax(-1), torch.stack(values, 1), torch.stack(rewards, 1)


def make():
    torch.manual_seed(6)
    net = MuZero()
    with torch.no_grad():
        for m in net.modules():
            if isinstance(m, nn.BatchNorm2d):
                m.weight.uniform_(0.6, 1.5)
                m.bias.normal_(0, 0.2)
                m.running_mean.normal_(0, 0.3)
                m.running_var.uniform_(0.5, 1.8)
            elif isinstance(m, (nn.Conv2d, nn.Linear)):
                m.weight.normal_(0, 1.4 / math.sqrt(m.weight[0].numel()))
                if m.bias is not None:
                    m.bias.normal_(0, 0.3)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    b = 4
    board = (rng.random((b, PLANES, SIDE, SIDE)) < 0.4).astype("float32")
    board[:, -1] = rng.random((b, 1, 1))
    actions = rng.integers(0, ACTIONS, size=(b, UNROLL)).astype("int64")
    return board, actions
