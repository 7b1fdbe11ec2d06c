"""ResNet basic blocks with batch norm."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"


class Block(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.down = None
        if stride != 1 or cin != cout:
            self.down = nn.Sequential(nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout))

    def forward(self, x):
        skip = x if self.down is None else self.down(x)
        y = torch.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return torch.relu(y + skip)


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, 1, 1, bias=False)
        self.bn = nn.BatchNorm2d(8)
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.block1 = Block(8, 8, 1)
        self.block2 = Block(8, 12, 2)
        self.fc = nn.Linear(12, 10)

    def forward(self, x):
        x = self.pool(torch.relu(self.bn(self.conv(x))))
        x = self.block2(self.block1(x))
        return self.fc(x.mean(dim=(2, 3)))


def make():
    torch.manual_seed(1)
    net = ResNet()
    for m in net.modules():
        if isinstance(m, nn.BatchNorm2d):
            nn.init.uniform_(m.weight, 0.5, 1.5)
            nn.init.normal_(m.bias, 0, 0.2)
            m.running_mean.normal_(0, 0.3)
            m.running_var.uniform_(0.2, 1.5)
    return net.eval()


def inputs(seed):
    return np.random.default_rng(seed).normal(size=(4, 3, 16, 16)).astype("float32")
