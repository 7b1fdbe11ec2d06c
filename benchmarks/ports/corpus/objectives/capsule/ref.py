"""Capsule network with dynamic routing, margin loss and a masked decoder, in torch."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"


def squash(s, dim=-1, eps=1e-8):
    n2 = (s**2).sum(dim=dim, keepdim=True)
    return n2 / (1 + n2) * s / torch.sqrt(n2 + eps)


class PrimaryCaps(nn.Module):
    def __init__(self, channels=8, capsules=4, size=4):
        super().__init__()
        self.size = size
        self.conv = nn.Conv2d(channels, capsules * size, kernel_size=3, stride=2)

    def forward(self, x):
        y = self.conv(x)
        b, c, h, w = y.shape
        y = y.view(b, c // self.size, self.size, h, w).permute(0, 1, 3, 4, 2)
        return squash(y.reshape(b, -1, self.size))


class DigitCaps(nn.Module):
    def __init__(self, capsules_in=36, size_in=4, classes=5, size_out=6, iterations=3):
        super().__init__()
        self.W = nn.Parameter(0.3 * torch.randn(capsules_in, classes, size_out, size_in))
        self.iterations = iterations

    def forward(self, u):
        votes = torch.einsum("ncoi,bni->bnco", self.W, u)
        logits = torch.zeros(votes.shape[:3])
        for i in range(self.iterations):
            c = F.softmax(logits, dim=2)
            v = squash((c.unsqueeze(-1) * votes).sum(dim=1))
            if i < self.iterations - 1:
                logits = logits + torch.einsum("bnco,bco->bnc", votes, v)
        return v, c


class CapsNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, kernel_size=5)
        self.bn = nn.BatchNorm2d(8)
        self.primary = PrimaryCaps()
        self.digits = DigitCaps()
        self.decoder = nn.Sequential(
            nn.Linear(30, 24), nn.LeakyReLU(0.1), nn.Linear(24, 121), nn.Sigmoid()
        )

    def forward(self, images, onehot):
        x = F.relu(self.bn(self.conv(images)))
        v, coupling = self.digits(self.primary(x))
        lengths = torch.sqrt((v**2).sum(-1) + 1e-7)
        reconstruction = self.decoder((v * onehot[:, :, None]).flatten(1))
        present = F.relu(0.9 - lengths).pow(2)
        absent = F.relu(lengths - 0.1).pow(2)
        margin = (onehot * present + 0.5 * (1 - onehot) * absent).sum(1).mean()
        error = (reconstruction - images.flatten(1)).pow(2).sum(1).mean()
        return lengths, coupling, margin + 0.0005 * error, reconstruction


def make():
    torch.manual_seed(9)
    net = CapsNet().eval()
    net.bn.weight.data.uniform_(0.6, 1.4)
    net.bn.bias.data.normal_(std=0.2)
    net.bn.running_mean.normal_(std=0.3)
    net.bn.running_var.uniform_(0.01, 0.9)
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    images = rng.normal(size=(3, 1, 11, 11)).astype("float32")
    onehot = np.eye(5, dtype="float32")[rng.integers(0, 5, size=3)]
    return images, onehot
