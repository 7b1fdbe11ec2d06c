"""Value iteration network: a planner of convolutions, read at the agent's position."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
H, W, QS, K, ACTIONS = 7, 9, 8, 5, 6


class VIN(nn.Module):
    def __init__(self, hidden=14):
        super().__init__()
        self.h = nn.Conv2d(2, hidden, 3, padding=1)
        self.r = nn.Conv2d(hidden, 1, 1, bias=False)
        self.q = nn.Conv2d(1, QS, 3, padding=1, bias=False)
        self.w = nn.Parameter(torch.zeros(QS, 1, 3, 3))
        self.fc = nn.Linear(QS, ACTIONS)
        self.baseline = nn.Linear(2 * H * W, 1)

    def forward(self, maze, position):
        r = self.r(F.relu(self.h(maze)))
        q = self.q(r)
        v, _ = q.max(dim=1, keepdim=True)
        weight = torch.cat([self.q.weight, self.w], dim=1)
        for _ in range(K):
            q = F.conv2d(torch.cat([r, v], dim=1), weight, padding=1)
            v, _ = q.max(dim=1, keepdim=True)
        q = F.conv2d(torch.cat([r, v], dim=1), weight, padding=1)
        batch = torch.arange(maze.shape[0])
        here = q[batch, :, position[:, 0], position[:, 1]]
        logits = self.fc(here)
        state_value = v[batch, 0, position[:, 0], position[:, 1]] + self.baseline(maze.flatten(1)).squeeze(1)
        return logits, logits.softmax(dim=1), state_value


def make():
    torch.manual_seed(14)
    net = VIN()
    with torch.no_grad():
        for name, p in net.named_parameters():
            if name == "w":
                p.normal_(0, 0.25)
            elif p.dim() > 1:
                p.normal_(0, 1.2 / math.sqrt(p[0].numel()))
            else:
                p.normal_(0, 0.3)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    b = 5
    maze = np.zeros((b, 2, H, W), "float32")
    maze[:, 0] = rng.random((b, H, W)) < 0.3
    goals = rng.integers(0, H * W, size=b)
    maze.reshape(b, 2, -1)[np.arange(b), 1, goals] = 10.0
    position = np.stack([rng.integers(0, H, size=b), rng.integers(0, H, size=b)], 1).astype("int64")
    return maze, position
