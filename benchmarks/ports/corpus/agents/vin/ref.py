"""Value iteration network (Tamar et al. 2016)."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"
SIDE, ACTIONS, K = 7, 8, 6


class VIN(nn.Module):
    def __init__(self, l_i=2, l_h=10, l_q=6, k=K):
        super().__init__()
        self.k = k
        self.h = nn.Conv2d(l_i, l_h, 3, padding=1)
        self.r = nn.Conv2d(l_h, 1, 1, bias=False)
        self.q = nn.Conv2d(1, l_q, 3, padding=1, bias=False)
        self.w = nn.Parameter(torch.zeros(l_q, 1, 3, 3))
        self.fc = nn.Linear(l_q, ACTIONS)

    def forward(self, maps, row, col):
        r = self.r(self.h(maps))
        q = self.q(r)
        v = torch.max(q, dim=1, keepdim=True).values
        kernel = torch.cat([self.q.weight, self.w], dim=1)
        for _ in range(self.k - 1):
            q = F.conv2d(torch.cat([r, v], dim=1), kernel, padding=1)
            v = torch.max(q, dim=1, keepdim=True).values
        q = F.conv2d(torch.cat([r, v], dim=1), kernel, padding=1)

        index = row.view(-1, 1, 1, 1).expand(-1, q.size(1), 1, q.size(3))
        here = q.gather(2, index).squeeze(2)
        index = col.view(-1, 1, 1).expand(-1, q.size(1), 1)
        here = here.gather(2, index).squeeze(2)
        logits = self.fc(here)
        return logits, F.softmax(logits, dim=1), v


def make():
    torch.manual_seed(14)
    net = VIN()
    with torch.no_grad():
        for p in net.parameters():
            p.uniform_(-0.3, 0.3)
        net.w.mul_(0.8)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    batch = 5
    maps = np.zeros((batch, 2, SIDE, SIDE), np.float32)
    maps[:, 0] = rng.uniform(size=(batch, SIDE, SIDE)) < 0.3
    goals = rng.integers(0, SIDE, size=(batch, 2))
    maps[np.arange(batch), 1, goals[:, 0], goals[:, 1]] = 10.0
    return maps, rng.integers(0, SIDE, size=batch), rng.integers(0, SIDE, size=batch)
