"""DeepLab's atrous spatial pyramid."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
C, K = 12, 5


def conv_bn(i, o, k, **kw):
    return nn.Sequential(nn.Conv2d(i, o, k, bias=False, **kw), nn.BatchNorm2d(o), nn.ReLU())


class ASPP(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = conv_bn(3, 8, 3, stride=2, padding=1)
        self.pool = nn.MaxPool2d(3, stride=1, padding=1)
        self.b0 = conv_bn(8, C, 1)
        self.b1 = conv_bn(8, C, 3, padding=2, dilation=2)
        self.b2 = conv_bn(8, C, 3, padding=4, dilation=4)
        self.image = conv_bn(8, C, 1)
        self.project = conv_bn(4 * C, C, 1)
        self.classifier = nn.Conv2d(C, K, 1)

    def forward(self, x):
        size = x.shape[-2:]
        h = self.pool(self.stem(x))
        g = self.image(h.mean(dim=(2, 3), keepdim=True))
        g = F.interpolate(g, size=h.shape[-2:], mode="bilinear", align_corners=False)
        h = torch.cat([self.b0(h), self.b1(h), self.b2(h), g], dim=1)
        y = self.classifier(self.project(h))
        return F.interpolate(y, size=size, mode="bilinear", align_corners=False)


def make():
    torch.manual_seed(6)
    t = ASPP().eval()
    for m in t.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.running_mean.uniform_(0.05, 0.5)
            m.running_var.uniform_(0.1, 1.5)
            with torch.no_grad():
                m.weight.uniform_(0.5, 1.5)
                m.bias.normal_(0, 0.3)
    return t


def inputs(seed):
    return np.random.default_rng(seed + 6).normal(size=(3, 3, 17, 17)).astype("float32")
