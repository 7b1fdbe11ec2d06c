"""Hungry-geese network on a torus (HandyRL's GeeseNet), with a value for each of the players."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
LAYOUT = "NCHW"
C, PLANES, H, W, LAYERS, PLAYERS = 12, 9, 5, 7, 3, 3


class TorusConv2d(nn.Module):
    def __init__(self, cin, cout, kernel_size):
        super().__init__()
        self.edge = kernel_size // 2
        self.conv = nn.Conv2d(cin, cout, kernel_size, bias=False)
        self.bn = nn.BatchNorm2d(cout)

    def forward(self, x):
        e = self.edge
        h = torch.cat([x[:, :, :, -e:], x, x[:, :, :, :e]], dim=3)
        h = torch.cat([h[:, :, -e:], h, h[:, :, :e]], dim=2)
        return self.bn(self.conv(h))


class GeeseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv0 = TorusConv2d(PLANES, C, 3)
        self.blocks = nn.ModuleList([TorusConv2d(C, C, 3) for _ in range(LAYERS)])
        self.head_p = nn.Linear(C, 4, bias=False)
        self.head_v1 = nn.Linear(2 * C, 8)
        self.head_v2 = nn.Linear(8, 1, bias=False)

    def forward(self, x, legal):
        h = F.relu(self.conv0(x))
        for block in self.blocks:
            h = F.relu(h + block(h))
        h_avg = h.flatten(2).mean(-1)
        h_head = (h * x[:, :1]).flatten(2).sum(-1)
        logits = self.head_p(h_head)
        logits = logits - (1 - legal) * 1e9
        p = torch.softmax(logits, dim=1)
        values = []
        for i in range(PLAYERS):
            own = (h * x[:, i:i + 1]).flatten(2).sum(-1)
            z = F.leaky_relu(self.head_v1(torch.cat([own, h_avg], 1)), 0.1)
            values.append(torch.tanh(self.head_v2(z)))
        v = torch.cat(values, 1)
        v = v - v.mean(1, keepdim=True)
        entropy = -(p * torch.log(p + 1e-8)).sum(1, keepdim=True)
        return p, v, entropy


def make():
    m = GeeseNet()
    g = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for n, p in list(m.named_parameters()) + list(m.named_buffers()):
            if not p.is_floating_point():
                continue
            r = torch.randn(p.shape, generator=g)
            if n.endswith("running_var"):
                p.copy_(0.5 + r.abs())
            elif n.endswith("bn.weight"):
                p.copy_(1 + 0.2 * r)
            elif p.dim() > 1:
                p.copy_(r / np.sqrt(p[0].numel()))
            else:
                p.copy_(0.2 * r)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    x = (r.rand(4, PLANES, H, W) < 0.3).astype("float32")
    for i in range(PLAYERS):
        x[:, i] = 0
        for b in range(4):
            x[b, i, r.randint(H), r.randint(W)] = 1
    legal = np.array([[1, 1, 0, 1], [1, 1, 1, 1], [0, 1, 1, 1], [1, 0, 1, 1]], "float32")
    return x, legal
