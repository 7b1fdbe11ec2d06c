"""Progressive GAN discriminator in PyTorch with equalized layers."""
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
LAYOUT = "NCHW"


class EqualConv2d(nn.Module):
    def __init__(self, cin, cout, k):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(cout, cin, k, k))
        self.bias = nn.Parameter(torch.randn(cout) * 0.3)
        self.scale = math.sqrt(2) / math.sqrt(cin * k * k)
        self.pad = k // 2

    def forward(self, x):
        x = F.conv2d(x, self.weight * self.scale, self.bias, padding=self.pad)
        return F.leaky_relu(x, 0.2)


class EqualLinear(nn.Module):
    def __init__(self, i, o, gain):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(o, i))
        self.bias = nn.Parameter(torch.randn(o) * 0.3)
        self.scale = gain / math.sqrt(i)

    def forward(self, x):
        return F.linear(x, self.weight * self.scale, self.bias)


class MinibatchStd(nn.Module):
    def __init__(self, group=4):
        super().__init__()
        self.group = group

    def forward(self, x):
        n, c, h, w = x.shape
        y = x.reshape(self.group, -1, c, h, w)
        std = torch.sqrt(y.var(0, unbiased=False) + 1e-8)
        std = std.mean(dim=(1, 2, 3)).view(-1, 1, 1, 1)
        std = std.repeat(self.group, 1, h, w)
        return torch.cat([x, std], dim=1)


class Block(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv0 = EqualConv2d(cin, cin, 3)
        self.conv1 = EqualConv2d(cin, cout, 3)

    def forward(self, x):
        return F.avg_pool2d(self.conv1(self.conv0(x)), 2)


class Discriminator(nn.Module):
    def __init__(self, alpha=0.3):
        super().__init__()
        self.alpha = alpha
        self.from_rgb16 = EqualConv2d(3, 4, 1)
        self.from_rgb8 = EqualConv2d(3, 6, 1)
        self.block16 = Block(4, 6)
        self.block8 = Block(6, 8)
        self.mbstd = MinibatchStd()
        self.conv4 = EqualConv2d(9, 8, 3)
        self.dense0 = EqualLinear(16 * 8, 12, gain=math.sqrt(2))
        self.dense1 = EqualLinear(12, 2, gain=1.0)

    def forward(self, img):
        x = self.block16(self.from_rgb16(img))
        skip = self.from_rgb8(F.avg_pool2d(img, 2))
        x = self.alpha * x + (1 - self.alpha) * skip
        x = self.block8(x)
        x = self.mbstd(x)
        x = self.conv4(x)
        x = x.permute(0, 2, 3, 1).flatten(1)
        x = F.leaky_relu(self.dense0(x), 0.2)
        return self.dense1(x)


def make():
    torch.manual_seed(1)
    return Discriminator().eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    return ((r.randn(8, 3, 16, 16) * np.linspace(0.2, 3, 8)[:, None, None, None]).astype("float32"),)


def load(p, o):
    names = {"fromrgb16": p.from_rgb16, "fromrgb8": p.from_rgb8, "conv0_16": p.block16.conv0, "conv1_16": p.block16.conv1,
             "conv0_8": p.block8.conv0, "conv1_8": p.block8.conv1, "conv_4": p.conv4, "dense0": p.dense0, "dense1": p.dense1}
    with torch.no_grad():
        for k, m in names.items():
            w = torch.from_numpy(o.p[k + "/w"].numpy())
            m.weight.copy_(w.permute(3, 2, 0, 1) if w.ndim == 4 else w.T)
            m.bias.copy_(torch.from_numpy(o.p[k + "/b"].numpy()))
