"""EfficientNet MBConv blocks with squeeze-excite, in torch."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"


class MBConv(nn.Module):
    def __init__(self, cin, cout, stride, expand=4):
        super().__init__()
        mid = cin * expand
        self.skip = stride == 1 and cin == cout
        self.expand, self.bn1 = nn.Conv2d(cin, mid, 1, bias=False), nn.BatchNorm2d(mid)
        self.depth, self.bn2 = nn.Conv2d(mid, mid, 3, stride, 1, groups=mid, bias=False), nn.BatchNorm2d(mid)
        self.se1, self.se2 = nn.Conv2d(mid, cin // 2, 1), nn.Conv2d(cin // 2, mid, 1)
        self.project, self.bn3 = nn.Conv2d(mid, cout, 1, bias=False), nn.BatchNorm2d(cout)

    def forward(self, x):
        h = F.silu(self.bn1(self.expand(x)))
        h = F.silu(self.bn2(self.depth(h)))
        s = F.adaptive_avg_pool2d(h, 1)
        s = torch.sigmoid(self.se2(F.silu(self.se1(s))))
        h = self.bn3(self.project(h * s))
        return x + h if self.skip else h


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.b1, self.b2, self.b3 = MBConv(8, 8, 1), MBConv(8, 12, 2), MBConv(12, 12, 1)
        self.head = nn.Linear(12, 6)

    def forward(self, x):
        h = self.b3(self.b2(self.b1(F.silu(self.stem(x)))))
        return self.head(h.mean(dim=(2, 3)))


def make():
    torch.manual_seed(0)
    net = Net().eval()
    for m in net.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.running_mean.normal_(0, 0.2), m.running_var.uniform_(0.3, 1.5)
            with torch.no_grad():
                m.weight.uniform_(0.5, 1.5), m.bias.normal_(0, 0.3)
    return net


def inputs(seed):
    return np.random.default_rng(seed + 9).normal(size=(4, 3, 16, 16)).astype("float32")
