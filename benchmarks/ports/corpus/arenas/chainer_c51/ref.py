"""PFRL-like DistributionalDuelingDQN (one shared main stream, split in two)."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
A, N, VMIN, VMAX = 4, 21, -10.0, 10.0


class TorchDuel(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv_layers = nn.ModuleList([nn.Conv2d(3, 16, 8, stride=4), nn.Conv2d(16, 24, 4, stride=2),
                                          nn.Conv2d(24, 24, 3, stride=1)])
        self.main_stream = nn.Linear(24 * 2 * 2, 64)
        self.a_stream = nn.Linear(32, A * N)
        self.v_stream = nn.Linear(32, N)
        self.register_buffer("z_values", torch.linspace(VMIN, VMAX, N))

    def forward(self, x):
        h = x
        for conv in self.conv_layers:
            h = torch.relu(conv(h))
        b = x.shape[0]
        h = torch.relu(self.main_stream(h.view(b, -1)))
        h_a, h_v = torch.chunk(h, 2, dim=1)
        ya = self.a_stream(h_a).reshape((b, A, N))
        ya = ya - ya.sum(dim=1, keepdim=True) / A
        ys = self.v_stream(h_v).reshape((b, 1, N))
        q = F.softmax(ya + ys, dim=2)
        return q, (q * self.z_values).sum(dim=2)


def make():
    torch.manual_seed(3)
    return TorchDuel().eval()


def inputs(seed):
    return np.random.default_rng(seed + 13).random((5, 3, 44, 44)).astype("float32")
