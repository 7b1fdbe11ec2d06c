"""Behaviour cloning from pixels: conv encoder, spatial softmax, GMM head (robomimic's BC-GMM)."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import distributions as D

FRAMEWORK = "torch"
ACT, MODES, PROPRIO = 4, 5, 6


class SpatialSoftmax(nn.Module):
    def __init__(self, height, width, temperature=0.8):
        super().__init__()
        pos_x, pos_y = np.meshgrid(np.linspace(-1.0, 1.0, width), np.linspace(-1.0, 1.0, height))
        self.register_buffer("pos_x", torch.from_numpy(pos_x.reshape(1, -1)).float())
        self.register_buffer("pos_y", torch.from_numpy(pos_y.reshape(1, -1)).float())
        self.temperature = temperature

    def forward(self, feature):
        n, c, h, w = feature.shape
        attention = F.softmax(feature.reshape(-1, h * w) / self.temperature, dim=-1)
        expected_x = torch.sum(self.pos_x * attention, dim=1, keepdim=True)
        expected_y = torch.sum(self.pos_y * attention, dim=1, keepdim=True)
        return torch.cat([expected_x, expected_y], 1).view(-1, c, 2).flatten(1)


class BCGMM(nn.Module):
    def __init__(self, min_std=0.05):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 5, stride=2, padding=2)
        self.norm1 = nn.GroupNorm(4, 8)
        self.conv2 = nn.Conv2d(8, 12, 3, stride=1, padding=1)
        self.pool = SpatialSoftmax(8, 10)
        self.trunk = nn.Linear(24 + PROPRIO, 40)
        self.mean = nn.Linear(40, MODES * ACT)
        self.scale = nn.Linear(40, MODES * ACT)
        self.logits = nn.Linear(40, MODES)
        self.min_std = min_std

    def forward(self, image, proprio, action):
        x = image / 255.0 - 0.5
        x = F.leaky_relu(self.norm1(self.conv1(x)), 0.1)
        x = self.conv2(x)
        h = torch.cat([self.pool(x), proprio], dim=-1)
        h = F.relu(self.trunk(h))
        means = torch.tanh(self.mean(h).view(-1, MODES, ACT))
        scales = F.softplus(self.scale(h).view(-1, MODES, ACT)) + self.min_std
        component = D.Independent(D.Normal(loc=means, scale=scales, validate_args=False), 1,
                                  validate_args=False)
        logits = self.logits(h)
        mixture = D.MixtureSameFamily(D.Categorical(logits=logits, validate_args=False), component,
                                      validate_args=False)
        best = logits.argmax(dim=-1)
        greedy = means[torch.arange(means.shape[0]), best]
        return {"nll": -mixture.log_prob(action), "mean": mixture.mean, "greedy": greedy}


def make():
    torch.manual_seed(11)
    net = BCGMM()
    with torch.no_grad():
        net.norm1.weight.uniform_(0.5, 1.5)
        net.norm1.bias.normal_(0, 0.3)
        net.conv2.weight.mul_(3)
        net.logits.weight.mul_(4)
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    return {
        "image": rng.integers(0, 256, size=(5, 3, 16, 20)).astype("float32"),
        "proprio": rng.normal(size=(5, PROPRIO)).astype("float32"),
        "action": rng.uniform(-1, 1, size=(5, ACT)).astype("float32"),
    }
