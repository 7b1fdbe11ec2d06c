"""A small residual network with squeeze-and-excitation, for 32x32 images, as it is trained."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
MODE = "train"


class SqueezeExcite(nn.Module):
    def __init__(self, channels, ratio=4):
        super().__init__()
        self.reduce = nn.Conv2d(channels, channels // ratio, 1)
        self.expand = nn.Conv2d(channels // ratio, channels, 1)

    def forward(self, x):
        squeezed = x.mean(dim=(2, 3), keepdim=True)
        gate = F.relu(self.reduce(squeezed))
        return x * torch.sigmoid(self.expand(gate))


class Block(nn.Module):
    def __init__(self, fan_in, fan_out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(fan_in, fan_out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(fan_out)
        self.conv2 = nn.Conv2d(fan_out, fan_out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(fan_out)
        self.se = SqueezeExcite(fan_out)
        self.shortcut = nn.Identity()
        if stride != 1 or fan_in != fan_out:
            self.shortcut = nn.Sequential(
                nn.Conv2d(fan_in, fan_out, 1, stride, bias=False), nn.BatchNorm2d(fan_out)
            )

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out = self.se(out)
        return F.relu(out + self.shortcut(x))


class SEResNet(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, 1, 1, bias=False)
        self.bn = nn.BatchNorm2d(16)
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = Block(16, 16, 1)
        self.layer2 = Block(16, 32, 2)
        self.layer3 = Block(32, 48, 2)
        self.fc = nn.Linear(48, classes)

    def forward(self, images):
        x = self.pool(F.relu(self.bn(self.stem(images))))
        x = self.layer3(self.layer2(self.layer1(x)))
        x = torch.flatten(F.adaptive_avg_pool2d(x, 1), 1)
        return self.fc(x)


def make():
    torch.manual_seed(3)
    net = SEResNet()
    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias, std=0.2)
            nn.init.normal_(module.running_mean, std=0.2)
            nn.init.uniform_(module.running_var, 0.5, 1.5)
    return net


def inputs(seed):
    return np.random.default_rng(seed).normal(size=(4, 3, 32, 32)).astype("float32")
