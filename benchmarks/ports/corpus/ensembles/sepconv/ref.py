"""Depth-wise separable conv policy with hard-swish and squeeze-excite, NCHW."""
import numpy as np, torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"


class TorchNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, 2, 1, bias=False)
        self.bn0 = nn.BatchNorm2d(8)
        self.expand = nn.Conv2d(8, 16, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.dw = nn.Conv2d(16, 16, 3, 1, 1, groups=16, bias=False)
        self.bn2 = nn.BatchNorm2d(16)
        self.se1, self.se2 = nn.Linear(16, 4), nn.Linear(4, 16)
        self.project = nn.Conv2d(16, 8, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(8)
        self.dw2 = nn.Conv2d(8, 8, 5, 2, 2, groups=8)
        self.fc = nn.Linear(8 * 16, 24)
        self.pi, self.v = nn.Linear(24, 5), nn.Linear(24, 1)

    def forward(self, x):
        x = F.hardswish(self.bn0(self.stem(x / 255.0)))
        h = F.hardswish(self.bn1(self.expand(x)))
        h = F.hardswish(self.bn2(self.dw(h)))
        s = F.hardsigmoid(self.se2(F.relu(self.se1(h.mean((2, 3))))))
        h = self.bn3(self.project(h * s[:, :, None, None]))
        x = F.hardswish(self.dw2(x + h))
        x = F.hardswish(self.fc(x.flatten(1)))
        return {"logits": self.pi(x), "value": self.v(x)[:, 0]}


def make():
    torch.manual_seed(8)
    net = TorchNet().eval()
    with torch.no_grad():
        for m in net.modules():
            if isinstance(m, nn.BatchNorm2d):
                m.weight.uniform_(0.5, 2); m.bias.normal_(0, 0.5); m.running_mean.normal_(0, 0.3); m.running_var.uniform_(0.05, 0.6)
        net.se1.weight.mul_(3); net.se2.weight.mul_(3)
    return net


def inputs(seed):
    return np.random.default_rng(seed + 8).integers(0, 256, (4, 3, 16, 16)).astype("float32")
