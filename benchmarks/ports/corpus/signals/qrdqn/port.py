"""QR-DQN with dueling streams and noisy layers, torch, one matrix for both hidden layers."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
MODE = "train"


class NoisyLinear(nn.Module):
    def __init__(self, in_features, out_features, std_init=0.5):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight_mu = nn.Parameter(torch.empty(out_features, in_features))
        self.weight_sigma = nn.Parameter(torch.empty(out_features, in_features))
        self.bias_mu = nn.Parameter(torch.empty(out_features))
        self.bias_sigma = nn.Parameter(torch.empty(out_features))
        for mu in (self.weight_mu, self.bias_mu):
            nn.init.uniform_(mu, -(in_features**-0.5), in_features**-0.5)
        for sigma in (self.weight_sigma, self.bias_sigma):
            nn.init.constant_(sigma, std_init * in_features**-0.5)

    @staticmethod
    def scale_noise(size):
        x = torch.randn(size)
        return x.sign().mul(x.abs().sqrt())

    def forward(self, x):
        if not self.training:
            return F.linear(x, self.weight_mu, self.bias_mu)
        epsilon_in = self.scale_noise(self.in_features)
        epsilon_out = self.scale_noise(self.out_features)
        # (mu + sigma * out in^T) x, without making the matrix of the noise
        quiet = F.linear(x, self.weight_mu, self.bias_mu)
        noisy = F.linear(x * epsilon_in, self.weight_sigma) * epsilon_out
        return quiet + noisy + self.bias_sigma * epsilon_out


class DuelingQuantiles(nn.Module):
    def __init__(self, actions=5, quantiles=11, hidden=24):
        super().__init__()
        self.actions, self.quantiles, self.hidden = actions, quantiles, hidden
        self.features = nn.Sequential(
            nn.Conv2d(4, 8, 8, 4), nn.ReLU(),
            nn.Conv2d(8, 12, 4, 2), nn.ReLU(),
            nn.Conv2d(12, 12, 3, 1), nn.ReLU(),
            nn.Flatten(),
        )
        self.streams = nn.Linear(108, 2 * hidden)
        self.value = NoisyLinear(hidden, quantiles)
        self.advantage = NoisyLinear(hidden, actions * quantiles)

    def forward(self, frames):
        x = self.features(frames * (1.0 / 255.0))
        x = self.streams(x).clamp(min=0)
        v, a = torch.split(x, self.hidden, dim=1)
        v = self.value(v).unsqueeze(1)
        a = self.advantage(a).unflatten(1, (self.actions, self.quantiles))
        a = a - a.sum(dim=1, keepdim=True) / self.actions
        theta = v + a
        q = theta.mean(dim=-1)
        return theta, q


def make():
    torch.manual_seed(44)
    return DuelingQuantiles().train()


def load(port, reference):
    def put(parameter, *arrays):
        parameter.copy_(torch.from_numpy(np.concatenate(arrays)))

    r = reference
    with torch.no_grad():
        for i, link in ((0, r.conv1), (2, r.conv2), (4, r.conv3)):
            put(port.features[i].weight, link.W.array)
            put(port.features[i].bias, link.b.array)
        put(port.streams.weight, r.value1.W.array, r.advantage1.W.array)
        put(port.streams.bias, r.value1.b.array, r.advantage1.b.array)
        for ours, theirs in ((port.value, r.value2), (port.advantage, r.advantage2)):
            put(ours.weight_mu, theirs.mu_w.array)
            put(ours.bias_mu, theirs.mu_b.array)
            put(ours.weight_sigma, theirs.sigma_w.array)
            put(ours.bias_sigma, theirs.sigma_b.array)
