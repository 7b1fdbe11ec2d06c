"""PointNet for part segmentation (Qi et al. 2017), channels first as in the usual torch code."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
POINTS, CLASSES, PARTS = 24, 5, 7


def conv_bn(cin, cout):
    return nn.Sequential(nn.Conv1d(cin, cout, 1), nn.BatchNorm1d(cout), nn.ReLU())


def fc_bn(cin, cout):
    return nn.Sequential(nn.Linear(cin, cout), nn.BatchNorm1d(cout), nn.ReLU())


class TNet(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k
        self.points = nn.Sequential(conv_bn(k, 32), conv_bn(32, 64))
        self.vector = nn.Sequential(fc_bn(64, 32), nn.Linear(32, k * k))

    def forward(self, x):
        h = self.points(x).amax(dim=2)
        delta = self.vector(h).view(-1, self.k, self.k)
        return delta + torch.eye(self.k)


class PointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stn = TNet(3)
        self.first = conv_bn(3, 16)
        self.fstn = TNet(16)
        self.second = nn.Sequential(conv_bn(16, 48), conv_bn(48, 64))
        self.classifier = nn.Sequential(fc_bn(64, 32), nn.Linear(32, CLASSES))
        self.segment = nn.Sequential(conv_bn(64 + 16, 40), conv_bn(40, 24), nn.Conv1d(24, PARTS, 1))

    def forward(self, cloud):
        x = torch.bmm(cloud.transpose(1, 2), self.stn(cloud)).transpose(1, 2)
        x = self.first(x)
        local = torch.bmm(x.transpose(1, 2), self.fstn(x)).transpose(1, 2)
        pooled = self.second(local).amax(dim=2)
        spread = pooled.unsqueeze(2).expand(-1, -1, cloud.shape[2])
        joined = torch.cat([spread, local], dim=1)
        parts = F.log_softmax(self.segment(joined), dim=1)
        return F.log_softmax(self.classifier(pooled), dim=1), parts.transpose(1, 2)


def make(seed=0):
    torch.manual_seed(seed)
    net = PointNet()
    for module in net.modules():
        if isinstance(module, nn.BatchNorm1d):
            nn.init.uniform_(module.weight, 0.6, 1.4)
            nn.init.normal_(module.bias, std=0.2)
            nn.init.normal_(module.running_mean, std=0.3)
            nn.init.uniform_(module.running_var, 0.3, 1.2)
        elif isinstance(module, (nn.Linear, nn.Conv1d)):
            nn.init.normal_(module.bias, std=0.1)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    cloud = rng.normal(size=(4, 3, POINTS))
    cloud /= np.abs(cloud).max(axis=(1, 2), keepdims=True)
    return (cloud.astype("float32"),)
