"""Selective Kernel network (Li et al. 2019)."""
import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"
LAYOUT = "NCHW"


class SKConv(nn.Module):
    def __init__(self, features, M=2, G=4, r=2, L=6):
        super().__init__()
        d = max(features // r, L)
        self.M, self.features = M, features
        self.convs = nn.ModuleList([
            nn.Sequential(nn.Conv2d(features, features, 3, padding=1 + i, dilation=1 + i, groups=G, bias=False),
                          nn.BatchNorm2d(features), nn.ReLU()) for i in range(M)])
        self.gap = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Sequential(nn.Conv2d(features, d, 1, bias=False), nn.BatchNorm2d(d), nn.ReLU())
        self.fcs = nn.ModuleList([nn.Conv2d(d, features, 1) for _ in range(M)])

    def forward(self, x):
        b = x.shape[0]
        feats = torch.cat([conv(x) for conv in self.convs], dim=1)
        feats = feats.view(b, self.M, self.features, feats.shape[2], feats.shape[3])
        feats_U = torch.sum(feats, dim=1)
        feats_S = self.gap(feats_U)
        feats_Z = self.fc(feats_S)
        vectors = torch.cat([fc(feats_Z) for fc in self.fcs], dim=1)
        vectors = vectors.view(b, self.M, self.features, 1, 1)
        vectors = torch.softmax(vectors, dim=1)
        return torch.sum(feats * vectors, dim=1)


class SKUnit(nn.Module):
    def __init__(self, cin, mid, cout):
        super().__init__()
        self.conv1 = nn.Sequential(nn.Conv2d(cin, mid, 1, bias=False), nn.BatchNorm2d(mid), nn.ReLU())
        self.conv2_sk = SKConv(mid)
        self.conv3 = nn.Sequential(nn.Conv2d(mid, cout, 1, bias=False), nn.BatchNorm2d(cout))
        if cin == cout:
            self.shortcut = nn.Sequential()
        else:
            self.shortcut = nn.Sequential(nn.Conv2d(cin, cout, 1, bias=False), nn.BatchNorm2d(cout))
        self.relu = nn.ReLU()

    def forward(self, x):
        out = self.conv3(self.conv2_sk(self.conv1(x)))
        return self.relu(out + self.shortcut(x))


class SKNet(nn.Module):
    def __init__(self, classes=7):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.pool = nn.MaxPool2d(3, 2, padding=1)
        self.stage = nn.Sequential(SKUnit(8, 8, 12), SKUnit(12, 8, 12))
        self.gap = nn.AdaptiveAvgPool2d((1, 1))
        self.classifier = nn.Linear(12, classes)

    def forward(self, x):
        x = self.pool(self.stem(x))
        x = self.stage(x)
        return self.classifier(torch.flatten(self.gap(x), 1))


def make():
    m = SKNet()
    g = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for p in m.parameters():
            r = torch.randn(p.shape, generator=g)
            p.copy_(r / np.prod(p.shape[1:]) ** 0.5 * 1.5 if p.ndim > 1 else 0.3 * r)
        for k in m.modules():
            if isinstance(k, nn.BatchNorm2d):
                k.weight.add_(1)
                k.running_mean.copy_(0.2 * torch.randn(k.running_mean.shape, generator=g))
                k.running_var.copy_(0.5 + torch.rand(k.running_var.shape, generator=g))
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    return (r.randn(4, 3, 24, 24).astype("float32"),)
