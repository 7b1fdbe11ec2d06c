"""MuZero: representation, dynamics with min-max scaled states, categorical heads, an unroll of three steps."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
PLANES, CH, ACTIONS, SUPPORT, SIDE = 4, 10, 6, 10, 6


def conv3x3(i, o, stride=1):
    return nn.Conv2d(i, o, 3, stride=stride, padding=1, bias=False)


class ResidualBlock(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.conv1, self.bn1 = conv3x3(ch, ch), nn.BatchNorm2d(ch)
        self.conv2, self.bn2 = conv3x3(ch, ch), nn.BatchNorm2d(ch)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return F.relu(out + x)


def scale_state(s):
    flat = s.view(s.shape[0], s.shape[1], -1)
    low = flat.min(2, keepdim=True)[0].unsqueeze(-1)
    high = flat.max(2, keepdim=True)[0].unsqueeze(-1)
    span = high - low
    span = torch.where(span < 1e-5, span + 1e-5, span)
    return (s - low) / span


def support_to_scalar(logits, eps=0.001):
    probs = torch.softmax(logits, dim=1)
    support = torch.arange(-SUPPORT, SUPPORT + 1, dtype=probs.dtype)
    x = torch.sum(support * probs, dim=1, keepdim=True)
    return torch.sign(x) * (((torch.sqrt(1 + 4 * eps * (torch.abs(x) + 1 + eps)) - 1) / (2 * eps)) ** 2 - 1)


class Head(nn.Module):
    def __init__(self, reduced, out):
        super().__init__()
        self.conv = nn.Conv2d(CH, reduced, 1)
        self.fc1 = nn.Linear(reduced * SIDE * SIDE, 16)
        self.fc2 = nn.Linear(16, out)

    def forward(self, x):
        return self.fc2(F.elu(self.fc1(self.conv(x).flatten(1))))


class MuZero(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.stem_bn = conv3x3(PLANES, CH, stride=2), nn.BatchNorm2d(CH)
        self.tower = ResidualBlock(CH)
        self.dyn, self.dyn_bn = conv3x3(CH + 1, CH), nn.BatchNorm2d(CH)
        self.dyn_tower = ResidualBlock(CH)
        self.reward = Head(2, 2 * SUPPORT + 1)
        self.value = Head(3, 2 * SUPPORT + 1)
        self.policy = Head(3, ACTIONS)

    def step(self, state, action):
        plane = torch.ones(state.shape[0], 1, SIDE, SIDE) * action[:, None, None, None] / ACTIONS
        x = F.relu(self.dyn_bn(self.dyn(torch.cat([state, plane], dim=1))))
        x = self.dyn_tower(x)
        return scale_state(x), self.reward(x)

    def forward(self, planes, actions):
        state = scale_state(self.tower(F.relu(self.stem_bn(self.stem(planes)))))
        values, rewards, policies = [support_to_scalar(self.value(state))], [], [self.policy(state)]
        for k in range(actions.shape[1]):
            state, reward = self.step(state, actions[:, k])
            rewards.append(support_to_scalar(reward))
            values.append(support_to_scalar(self.value(state)))
            policies.append(self.policy(state))
        return torch.cat(values, 1), torch.cat(rewards, 1), torch.stack(policies, 1)


def make():
    torch.manual_seed(5)
    net = MuZero().eval()
    with torch.no_grad():
        for m in net.modules():
            if isinstance(m, nn.BatchNorm2d):
                m.weight.uniform_(0.7, 1.3), m.bias.normal_(0, 0.2)
                m.running_mean.normal_(0, 0.2), m.running_var.uniform_(0.2, 0.8)
        net.value.fc2.weight.mul_(4), net.reward.fc2.weight.mul_(4)
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(3, PLANES, 12, 12)).astype("float32"), rng.integers(0, ACTIONS, (3, 3)).astype("float32")
