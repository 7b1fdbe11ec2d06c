"""A U-Net of two levels with batch norm. torch."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"


class Double(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)), inplace=True)
        return F.relu(self.bn2(self.conv2(x)), inplace=True)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2 = Double(3, 6), Double(6, 8)
        self.bottom = Double(8, 10)
        self.up2, self.up1 = nn.ConvTranspose2d(10, 8, 2, stride=2), nn.ConvTranspose2d(8, 6, 2, stride=2)
        self.dec2, self.dec1 = Double(16, 8), Double(12, 6)
        self.head = nn.Conv2d(6, 2, 1)

    @staticmethod
    def fit(x, like):
        return F.interpolate(x, size=like.shape[2:], mode="bilinear", align_corners=True)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        c = self.bottom(F.max_pool2d(b, 2))
        d = self.dec2(torch.cat([b, self.fit(self.up2(c), b)], dim=1))
        e = self.dec1(torch.cat([a, self.fit(self.up1(d), a)], dim=1))
        return torch.sigmoid(self.head(e))


def rough(module, seed=7, size=0.1):
    """Moves all vectors (biases, norms) off their trivial defaults, as training would."""
    gen = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in module.parameters():
            if p.ndim == 1:
                p.add_(size * torch.randn(p.shape, generator=gen))
    return module


def make():
    torch.manual_seed(10)
    net = rough(UNet())
    for m in net.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.running_mean.normal_(0, 0.2)
            m.running_var.uniform_(0.05, 0.6)
    return net.eval()


def inputs(seed):
    return np.random.default_rng(seed + 10).normal(size=(3, 3, 18, 18)).astype("float32")
