"""Inception-like net with local response norm and group norm."""
import numpy as np, torch
from torch import nn
import torch.nn.functional as TF

FRAMEWORK = "torch"


class TorchNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.b1 = nn.Conv2d(8, 4, 1)
        self.b3a, self.b3 = nn.Conv2d(8, 4, 1), nn.Conv2d(4, 6, 3, padding=1)
        self.b5a, self.b5 = nn.Conv2d(8, 4, 1), nn.Conv2d(4, 4, 5, padding=2)
        self.bp = nn.Conv2d(8, 4, 1)
        self.gn = nn.GroupNorm(3, 18)
        self.fc = nn.Linear(18, 7)

    def forward(self, x):
        x = torch.relu(self.stem(x))
        x = TF.local_response_norm(x, 5, alpha=0.5, beta=0.75, k=2.0)
        x = TF.max_pool2d(x, 3, 2)
        b1 = torch.relu(self.b1(x))
        b3 = torch.relu(self.b3(torch.relu(self.b3a(x))))
        b5 = torch.relu(self.b5(torch.relu(self.b5a(x))))
        bp = torch.relu(self.bp(TF.max_pool2d(x, 3, 1, 1)))
        x = torch.relu(self.gn(torch.cat([b1, b3, b5, bp], 1)))
        return self.fc(x.mean((2, 3)))


def make():
    torch.manual_seed(9)
    net = TorchNet().eval()
    with torch.no_grad():
        net.gn.weight.uniform_(0.5, 1.5); net.gn.bias.normal_(0, 0.3); net.stem.weight.mul_(3)
    return net


def inputs(seed):
    return np.random.default_rng(seed + 9).normal(size=(3, 3, 16, 16)).astype("float32")
