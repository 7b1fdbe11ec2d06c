import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
LAYOUT = "NCHW"


def hard_sigmoid(x):
    return F.relu6(x + 3.0) / 6.0


class SqueezeExcite(nn.Module):
    def __init__(self, ch, reduced):
        super().__init__()
        self.conv_reduce = nn.Conv2d(ch, reduced, 1)
        self.conv_expand = nn.Conv2d(reduced, ch, 1)

    def forward(self, x):
        s = F.adaptive_avg_pool2d(x, 1)
        s = F.relu(self.conv_reduce(s))
        s = self.conv_expand(s)
        return x * hard_sigmoid(s)


class GhostModule(nn.Module):
    def __init__(self, inp, oup, ratio=2, dw_size=3, relu=True):
        super().__init__()
        self.oup = oup
        init = math.ceil(oup / ratio)
        new = init * (ratio - 1)
        self.primary_conv = nn.Sequential(
            nn.Conv2d(inp, init, 1, bias=False),
            nn.BatchNorm2d(init),
            nn.ReLU() if relu else nn.Identity())
        self.cheap_operation = nn.Sequential(
            nn.Conv2d(init, new, dw_size, 1, dw_size // 2, groups=init, bias=False),
            nn.BatchNorm2d(new),
            nn.ReLU() if relu else nn.Identity())

    def forward(self, x):
        x1 = self.primary_conv(x)
        x2 = self.cheap_operation(x1)
        out = torch.cat([x1, x2], dim=1)
        return out[:, :self.oup]


class GhostBottleneck(nn.Module):
    def __init__(self, inp, mid, oup, k, stride, se):
        super().__init__()
        self.stride = stride
        self.ghost1 = GhostModule(inp, mid, relu=True)
        if stride > 1:
            self.conv_dw = nn.Conv2d(mid, mid, k, stride, k // 2, groups=mid, bias=False)
            self.bn_dw = nn.BatchNorm2d(mid)
        self.se = SqueezeExcite(mid, max(2, mid // 4)) if se else None
        self.ghost2 = GhostModule(mid, oup, relu=False)
        if inp == oup and stride == 1:
            self.shortcut = nn.Sequential()
        else:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inp, inp, k, stride, k // 2, groups=inp, bias=False),
                nn.BatchNorm2d(inp),
                nn.Conv2d(inp, oup, 1, bias=False),
                nn.BatchNorm2d(oup))

    def forward(self, x):
        r = x
        x = self.ghost1(x)
        if self.stride > 1:
            x = self.bn_dw(self.conv_dw(x))
        if self.se is not None:
            x = self.se(x)
        x = self.ghost2(x)
        return x + self.shortcut(r)


CFG = [(8, 16, 8, 3, 1, False), (8, 20, 11, 3, 2, False), (11, 24, 11, 3, 1, True), (11, 24, 16, 5, 2, True)]


class GhostNet(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.conv_stem = nn.Conv2d(3, 8, 3, 2, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.blocks = nn.ModuleList([GhostBottleneck(*c) for c in CFG])
        self.conv_head = nn.Conv2d(16, 24, 1)
        self.classifier = nn.Linear(24, classes)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv_stem(x)))
        for b in self.blocks:
            x = b(x)
        x = F.adaptive_avg_pool2d(x, 1)
        x = F.relu(self.conv_head(x))
        return self.classifier(torch.flatten(x, 1))


def make():
    torch.manual_seed(11)
    m = GhostNet()
    g = torch.Generator().manual_seed(12)
    with torch.no_grad():
        for n, p in m.state_dict().items():
            if n.endswith("num_batches_tracked"):
                continue
            if n.endswith("running_var"):
                p.copy_(torch.rand(p.shape, generator=g) + 0.5)
            elif p.ndim == 1 and n.endswith("weight"):
                p.copy_(torch.rand(p.shape, generator=g) + 0.5)
            elif p.ndim == 1:
                p.copy_(torch.randn(p.shape, generator=g) * 0.3)
            else:
                p.copy_(torch.randn(p.shape, generator=g) * (1.5 / p[0].numel()) ** 0.5)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    return (r.randn(4, 3, 32, 32).astype("float32"),)
