"""PWC-Net optical flow (Sun et al. 2018), two pyramid levels, PyTorch."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
C1, C2, R = 8, 12, 2


def conv(i, o, stride=1):
    return nn.Sequential(nn.Conv2d(i, o, 3, stride, 1), nn.LeakyReLU(0.1))


def correlate(a, b, radius=R):
    """Cost volume, dy outer, dx inner."""
    h, w = a.shape[2:]
    padded = F.pad(b, [radius] * 4)
    planes = []
    for dy in range(2 * radius + 1):
        for dx in range(2 * radius + 1):
            planes.append((a * padded[:, :, dy:dy + h, dx:dx + w]).mean(1))
    return torch.stack(planes, 1)


def backwarp(img, flow):
    """Sample img at p + flow(p)."""
    b, _, h, w = img.shape
    ys, xs = torch.meshgrid(torch.arange(h, dtype=flow.dtype), torch.arange(w, dtype=flow.dtype),
                            indexing="ij")
    gx = (xs + flow[:, 0]) * 2 / (w - 1) - 1
    gy = (ys + flow[:, 1]) * 2 / (h - 1) - 1
    grid = torch.stack([gx, gy], dim=3)
    return F.grid_sample(img, grid, mode="bilinear", padding_mode="zeros", align_corners=True)


class Pyramid(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Sequential(conv(3, C1, 2), conv(C1, C1))
        self.two = nn.Sequential(conv(C1, C2, 2), conv(C2, C2))

    def forward(self, x):
        fine = self.one(x)
        return fine, self.two(fine)


class Estimator(nn.Module):
    def __init__(self, cin):
        super().__init__()
        self.a = conv(cin, 16)
        self.b = conv(cin + 16, 12)
        self.flow = nn.Conv2d(cin + 28, 2, 3, padding=1)

    def forward(self, x):
        x = torch.cat([self.a(x), x], 1)
        x = torch.cat([self.b(x), x], 1)
        return self.flow(x)


class PWCNet(nn.Module):
    def __init__(self):
        super().__init__()
        n = (2 * R + 1) ** 2
        self.pyramid = Pyramid()
        self.coarse = Estimator(n + C2)
        self.fine = Estimator(n + C1 + 2)
        self.context = nn.Sequential(
            nn.Conv2d(2, 8, 3, padding=2, dilation=2), nn.LeakyReLU(0.1), nn.Conv2d(8, 2, 3, padding=1))

    def forward(self, first, second):
        f1, c1 = self.pyramid(first)
        f2, c2 = self.pyramid(second)
        cost = F.leaky_relu(correlate(c1, c2), 0.1)
        flow = self.coarse(torch.cat([cost, c1], 1))
        up = 2 * F.interpolate(flow, scale_factor=2, mode="nearest")
        warped = backwarp(f2, up)
        cost = F.leaky_relu(correlate(f1, warped), 0.1)
        flow = up + self.fine(torch.cat([cost, f1, up], 1))
        return flow + self.context(flow)


def make(seed=19):
    torch.manual_seed(seed)
    net = PWCNet()
    for m in net.modules():
        if isinstance(m, nn.Conv2d):
            nn.init.kaiming_normal_(m.weight, a=0.1)
            nn.init.normal_(m.bias, 0, 0.1)
    return net.eval()


def inputs(seed=0):
    r = np.random.default_rng(seed)
    big = r.random((4, 3, 30, 38))
    big = sum(np.roll(big, (i, j), (2, 3)) for i in range(3) for j in range(3)) / 9
    big = (big - 0.5) * 4
    return big[:, :, 2:26, 2:34].astype("float32"), big[:, :, 3:27, 4:36].astype("float32")
