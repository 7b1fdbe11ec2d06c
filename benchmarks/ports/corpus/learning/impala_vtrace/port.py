"""IMPALA agent and V-trace in PyTorch."""
import math

import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"


class ResidualBlock(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.conv0 = nn.Conv2d(depth, depth, 3, padding=1)
        self.conv1 = nn.Conv2d(depth, depth, 3, padding=1)

    def forward(self, x):
        y = self.conv0(torch.relu(x))
        return x + self.conv1(torch.relu(y))


class SamePool(nn.Module):
    """3x3 max pooling, stride 2, padded as TensorFlow's SAME does."""

    def forward(self, x):
        pads = []
        for size in (x.shape[-1], x.shape[-2]):
            total = max((math.ceil(size / 2) - 1) * 2 + 3 - size, 0)
            pads += [total // 2, total - total // 2]
        return F.max_pool2d(F.pad(x, pads, value=-math.inf), 3, stride=2)


def conv_sequence(channels, depth):
    return nn.Sequential(
        nn.Conv2d(channels, depth, 3, padding=1),
        SamePool(),
        ResidualBlock(depth),
        ResidualBlock(depth),
    )


@torch.no_grad()
def vtrace_returns(log_rhos, discounts, rewards, values, bootstrap, rho_bar, c_bar):
    """All arguments [B, T]; bootstrap [B]."""
    rhos = log_rhos.exp()
    rho = rhos.clamp(max=rho_bar)
    c = rhos.clamp(max=c_bar)
    next_values = torch.cat([values[:, 1:], bootstrap[:, None]], dim=1)
    deltas = rho * (rewards + discounts * next_values - values)

    correction = torch.zeros_like(values)
    carry = torch.zeros_like(bootstrap)
    for t in range(values.shape[1] - 1, -1, -1):
        carry = deltas[:, t] + discounts[:, t] * c[:, t] * carry
        correction[:, t] = carry
    vs = values + correction
    next_vs = torch.cat([vs[:, 1:], bootstrap[:, None]], dim=1)
    return vs, rho * (rewards + discounts * next_vs - values)


class ImpalaAgent(nn.Module):
    def __init__(self, frame=(3, 12, 10), depths=(4, 8), fc=24, lstm=16, actions=5,
                 discount=0.97, rho_bar=1.0, c_bar=0.9):
        super().__init__()
        self.actions, self.lstm = actions, lstm
        self.discount, self.rho_bar, self.c_bar = discount, rho_bar, c_bar
        channels, height, width = frame
        sequences = []
        for depth in depths:
            sequences.append(conv_sequence(channels, depth))
            channels, height, width = depth, (height + 1) // 2, (width + 1) // 2
        self.map_shape = (channels, height, width)
        self.convs = nn.Sequential(*sequences)
        self.fc = nn.Linear(channels * height * width, fc)
        self.core = nn.LSTMCell(fc + 1 + actions, lstm)
        self.policy = nn.Linear(lstm, actions)
        self.baseline = nn.Linear(lstm, 1)

    def forward(self, frames, last_actions, rewards, done, behaviour_logits):
        batch, length = frames.shape[:2]
        x = frames.flatten(0, 1).permute(0, 3, 1, 2).float() / 255
        x = self.convs(x).relu().flatten(1)
        x = self.fc(x).relu().view(batch, length, -1)

        rewards = rewards.clamp(-1, 1)
        prev = F.one_hot(last_actions.long(), self.actions).float()
        x = torch.cat([x, rewards.unsqueeze(-1), prev], dim=-1)

        h = x.new_zeros(batch, self.lstm)
        c = x.new_zeros(batch, self.lstm)
        hs = []
        for t in range(length):
            notdone = (1 - done[:, t]).unsqueeze(-1)
            h, c = self.core(x[:, t], (h * notdone, c * notdone))
            hs.append(h)
        hs = torch.stack(hs, dim=1)
        logits = self.policy(hs)
        values = self.baseline(hs).squeeze(-1)

        taken = last_actions[:, 1:].long().unsqueeze(-1)
        log_pi = logits[:, :-1].log_softmax(-1).gather(-1, taken).squeeze(-1)
        log_mu = behaviour_logits.log_softmax(-1).gather(-1, taken).squeeze(-1)
        vs, advantages = vtrace_returns(
            log_pi - log_mu,
            self.discount * (1 - done[:, 1:]),
            rewards[:, 1:],
            values[:, :-1],
            values[:, -1],
            self.rho_bar,
            self.c_bar,
        )
        return logits, vs, advantages


def make(seed=50):
    torch.manual_seed(seed)
    return ImpalaAgent().eval()


@torch.no_grad()
def load(model, reference):
    def t(v):
        return torch.from_numpy(v.numpy().copy())

    def conv(target, source):
        target.weight.copy_(t(source.kernel).permute(3, 2, 0, 1))
        target.bias.copy_(t(source.bias))

    def dense(target, source):
        target.weight.copy_(t(source.kernel).T)
        target.bias.copy_(t(source.bias))

    for ours, theirs in zip(model.convs, reference.sequences, strict=True):
        conv(ours[0], theirs.conv)
        for ours_block, (first, second) in zip((ours[2], ours[3]), theirs.blocks, strict=True):
            conv(ours_block.conv0, first)
            conv(ours_block.conv1, second)

    # Keras flattens height, width, channels
    channels, height, width = model.map_shape
    kernel = t(reference.fc.kernel).reshape(height, width, channels, -1)
    model.fc.weight.copy_(kernel.permute(3, 2, 0, 1).flatten(1))
    model.fc.bias.copy_(t(reference.fc.bias))

    # both frameworks order the gates input, forget, cell, output
    model.core.weight_ih.copy_(t(reference.core.kernel).T)
    model.core.weight_hh.copy_(t(reference.core.recurrent_kernel).T)
    model.core.bias_ih.copy_(t(reference.core.bias))
    model.core.bias_hh.zero_()

    dense(model.policy, reference.policy)
    dense(model.baseline, reference.baseline)
