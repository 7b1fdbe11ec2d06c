"""MuZero with convolutional residual networks, unrolled over given actions (after muzero-general)."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"
ACTIONS, SUPPORT, CHANNELS, SIDE = 5, 4, 6, 6


def conv3x3(n_in, n_out):
    return nn.Conv2d(n_in, n_out, 3, padding=1, bias=False)


class ResidualBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1, self.bn1 = conv3x3(channels, channels), nn.BatchNorm2d(channels)
        self.conv2, self.bn2 = conv3x3(channels, channels), nn.BatchNorm2d(channels)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x
        return F.relu(out)


class Head(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.reduce = nn.Conv2d(CHANNELS, 2, 1)
        self.fc = nn.Sequential(nn.Linear(2 * SIDE * SIDE, 16), nn.ELU(), nn.Linear(16, width))

    def forward(self, x):
        return self.fc(self.reduce(x).view(x.shape[0], -1))


def support_to_scalar(logits, support=SUPPORT):
    probabilities = torch.softmax(logits, dim=1)
    atoms = torch.arange(-support, support + 1).float().expand(probabilities.shape)
    x = torch.sum(atoms * probabilities, dim=1)
    return torch.sign(x) * (((torch.sqrt(1 + 4 * 0.01 * (torch.abs(x) + 1 + 0.01)) - 1) / (2 * 0.01)) ** 2 - 1)


class MuZero(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.stem_bn = conv3x3(3, CHANNELS), nn.BatchNorm2d(CHANNELS)
        self.representation = ResidualBlock(CHANNELS)
        self.merge, self.merge_bn = conv3x3(CHANNELS + 1, CHANNELS), nn.BatchNorm2d(CHANNELS)
        self.transition = ResidualBlock(CHANNELS)
        self.reward = Head(2 * SUPPORT + 1)
        self.value = Head(2 * SUPPORT + 1)
        self.policy = Head(ACTIONS)

    @staticmethod
    def normalize(state):
        flat = state.view(-1, state.shape[1], state.shape[2] * state.shape[3])
        low = flat.min(2, keepdim=True)[0].unsqueeze(-1)
        high = flat.max(2, keepdim=True)[0].unsqueeze(-1)
        scale = high - low
        scale[scale < 1e-5] += 1e-5
        return (state - low) / scale

    def represent(self, observation):
        x = F.relu(self.stem_bn(self.stem(observation)))
        return self.normalize(self.representation(x))

    def dynamics(self, state, action):
        plane = torch.ones(state.shape[0], 1, *state.shape[2:])
        plane = action[:, None, None, None] * plane / ACTIONS
        x = F.relu(self.merge_bn(self.merge(torch.cat((state, plane), dim=1))))
        x = self.transition(x)
        reward = self.reward(x)
        return self.normalize(x), reward

    def forward(self, observation, actions):
        state = self.represent(observation)
        values, policies, rewards = [self.value(state)], [self.policy(state)], []
        for k in range(actions.shape[1]):
            state, reward = self.dynamics(state, actions[:, k])
            rewards.append(reward)
            values.append(self.value(state))
            policies.append(self.policy(state))
        return (
            torch.stack([support_to_scalar(v) for v in values], dim=1),
            torch.stack([support_to_scalar(r) for r in rewards], dim=1),
            torch.stack(policies, dim=1),
        )


def make():
    torch.manual_seed(70)
    net = MuZero()
    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.6, 1.4)
            nn.init.uniform_(module.bias, -0.3, 0.3)
            module.running_mean.uniform_(-0.4, 0.4)
            module.running_var.uniform_(0.4, 1.6)
        elif isinstance(module, (nn.Linear, nn.Conv2d)) and module.bias is not None:
            nn.init.uniform_(module.bias, -0.3, 0.3)
        if isinstance(module, nn.Linear):
            module.weight.data.mul_(2.0)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(4, 3, SIDE, SIDE)).astype(np.float32), rng.integers(0, ACTIONS, size=(4, 3))
