"""Rainbow's C51 dueling head with a small CNN."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"
ATOMS, A, VMIN, VMAX = 21, 4, -10.0, 10.0


class TorchC51(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 12, 5, stride=2, padding=1)
        self.conv2 = nn.Conv2d(12, 16, 3, padding=1)
        self.fc_a, self.fc_v = nn.Linear(16 * 4 * 4, 32), nn.Linear(16 * 4 * 4, 32)
        self.out_a, self.out_v = nn.Linear(32, A * ATOMS), nn.Linear(32, ATOMS)
        self.register_buffer("z", torch.linspace(VMIN, VMAX, ATOMS))

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(x, 2)
        x = F.elu(self.conv2(x)).flatten(1)
        adv = self.out_a(F.relu(self.fc_a(x))).view(-1, A, ATOMS)
        val = self.out_v(F.relu(self.fc_v(x))).view(-1, 1, ATOMS)
        logits = val + adv - adv.mean(1, keepdim=True)
        p = F.softmax(logits, dim=2)
        return p, (p * self.z).sum(2)


def make():
    torch.manual_seed(5)
    return TorchC51().eval()


def inputs(seed):
    return np.random.default_rng(seed + 5).normal(size=(3, 3, 19, 19)).astype("float32")
