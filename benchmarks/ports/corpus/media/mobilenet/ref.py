"""MobileNetV3-like inverted residuals with squeeze-excite."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
CFG = [(16, 32, 16, 1, "relu", True), (16, 48, 24, 2, "hswish", True), (24, 72, 24, 1, "hswish", False)]


class SE(nn.Module):
    def __init__(self, c, r=4):
        super().__init__()
        self.fc1 = nn.Conv2d(c, c // r, 1)
        self.fc2 = nn.Conv2d(c // r, c, 1)

    def forward(self, x):
        s = F.adaptive_avg_pool2d(x, 1)
        s = F.relu(self.fc1(s))
        return x * F.hardsigmoid(self.fc2(s))


class Block(nn.Module):
    def __init__(self, cin, exp, cout, stride, act, se):
        super().__init__()
        self.act = nn.ReLU() if act == "relu" else nn.Hardswish()
        self.expand = nn.Conv2d(cin, exp, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(exp)
        self.dw = nn.Conv2d(exp, exp, 3, stride, 1, groups=exp, bias=False)
        self.bn2 = nn.BatchNorm2d(exp)
        self.se = SE(exp) if se else nn.Identity()
        self.project = nn.Conv2d(exp, cout, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(cout)
        self.skip = stride == 1 and cin == cout

    def forward(self, x):
        y = self.act(self.bn1(self.expand(x)))
        y = self.act(self.bn2(self.dw(y)))
        y = self.se(y)
        y = self.bn3(self.project(y))
        return x + y if self.skip else y


class Net(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, 2, 1, bias=False)
        self.bn = nn.BatchNorm2d(16)
        self.blocks = nn.ModuleList(Block(*c) for c in CFG)
        self.head = nn.Linear(24, classes)

    def forward(self, x):
        x = F.hardswish(self.bn(self.stem(x)))
        for b in self.blocks:
            x = b(x)
        return self.head(x.mean((2, 3)))


def make():
    torch.manual_seed(1)
    net = Net()
    for m in net.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.running_mean.normal_(0, 0.2)
            m.running_var.uniform_(0.3, 2.0)
            nn.init.uniform_(m.weight, 0.6, 1.4)
            nn.init.normal_(m.bias, 0, 0.2)
    return net.eval()


def inputs(seed):
    return np.random.default_rng(seed).normal(size=(4, 3, 32, 32)).astype("float32")
