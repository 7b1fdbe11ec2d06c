"""MobileNetV2 in miniature: inverted residuals with linear bottlenecks, for inference."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"


class ConvBNReLU(nn.Sequential):
    def __init__(self, fan_in, fan_out, kernel=3, stride=1, groups=1):
        super().__init__(
            nn.Conv2d(fan_in, fan_out, kernel, stride, kernel // 2, groups=groups, bias=False),
            nn.BatchNorm2d(fan_out, eps=1e-3),
            nn.ReLU6(),
        )


class InvertedResidual(nn.Module):
    def __init__(self, fan_in, fan_out, stride, expand):
        super().__init__()
        hidden = fan_in * expand
        self.residual = stride == 1 and fan_in == fan_out
        steps = []
        if expand != 1:
            steps.append(ConvBNReLU(fan_in, hidden, 1))
        steps.append(ConvBNReLU(hidden, hidden, 3, stride, groups=hidden))
        steps.append(nn.Conv2d(hidden, fan_out, 1, bias=False))
        steps.append(nn.BatchNorm2d(fan_out, eps=1e-3))
        self.steps = nn.Sequential(*steps)

    def forward(self, x):
        out = self.steps(x)
        return x + out if self.residual else out


SETTINGS = [(8, 8, 1, 1), (8, 12, 2, 4), (12, 12, 1, 4), (12, 16, 2, 4)]


class MobileNet(nn.Module):
    def __init__(self, classes=7):
        super().__init__()
        self.stem = ConvBNReLU(3, 8, 3, 2)
        self.blocks = nn.ModuleList(InvertedResidual(*setting) for setting in SETTINGS)
        self.last = ConvBNReLU(16, 40, 1)
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(40, classes))

    def forward(self, images):
        x = (images - 0.45) / 0.225
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        x = self.last(x).mean((2, 3))
        return torch.log_softmax(self.classifier(x), dim=1)


def make():
    torch.manual_seed(11)
    net = MobileNet()
    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 1.0, 3.0)
            nn.init.normal_(module.bias, std=0.5)
            nn.init.normal_(module.running_mean, std=0.2)
            nn.init.uniform_(module.running_var, 0.05, 0.4)
    return net


def inputs(seed):
    return np.random.default_rng(seed).uniform(size=(3, 3, 40, 40)).astype("float32")
