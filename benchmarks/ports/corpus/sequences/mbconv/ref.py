"""MobileNetV3's inverted residuals with squeeze-and-excitation."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"


class SE(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.fc1, self.fc2 = nn.Conv2d(c, c // 4, 1), nn.Conv2d(c // 4, c, 1)

    def forward(self, x):
        s = nn.functional.adaptive_avg_pool2d(x, 1)
        s = self.fc2(torch.relu(self.fc1(s)))
        return x * nn.functional.hardsigmoid(s)


class Block(nn.Module):
    def __init__(self, i, e, o, stride):
        super().__init__()
        norm = lambda c: nn.BatchNorm2d(c, eps=1e-3)
        self.expand = nn.Sequential(nn.Conv2d(i, e, 1, bias=False), norm(e), nn.Hardswish())
        self.depth = nn.Sequential(
            nn.Conv2d(e, e, 3, stride, 1, groups=e, bias=False), norm(e), nn.Hardswish()
        )
        self.se = SE(e)
        self.project = nn.Sequential(nn.Conv2d(e, o, 1, bias=False), norm(o))
        self.skip = stride == 1 and i == o

    def forward(self, x):
        y = self.project(self.se(self.depth(self.expand(x))))
        return x + y if self.skip else y


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Block(6, 16, 8, 2), Block(8, 24, 8, 1))
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = self.blocks(x / 255.0)
        return self.head(x.mean(dim=(2, 3)))


def make():
    torch.manual_seed(7)
    t = Net().eval()
    with torch.no_grad():
        for m in t.modules():
            if isinstance(m, nn.BatchNorm2d):
                m.running_mean.normal_(0, 0.1)
                m.running_var.uniform_(0.05, 0.6)
                m.weight.uniform_(0.8, 1.8)
                m.bias.normal_(0, 0.4)
            elif isinstance(m, nn.Conv2d) and m.bias is not None:
                m.weight.mul_(3)
    return t


def inputs(seed):
    return np.random.default_rng(seed + 7).integers(0, 256, (3, 6, 12, 12)).astype("float32")
