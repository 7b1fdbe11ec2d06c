"""A PointNet classifier with an input T-Net."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"


class TNet(nn.Module):
    def __init__(self, k=3):
        super().__init__()
        self.k = k
        self.conv1, self.conv2 = nn.Conv1d(k, 16, 1), nn.Conv1d(16, 32, 1)
        self.bn1, self.bn2, self.bn3 = nn.BatchNorm1d(16), nn.BatchNorm1d(32), nn.BatchNorm1d(16)
        self.fc1, self.fc2 = nn.Linear(32, 16), nn.Linear(16, k * k)

    def forward(self, x):
        h = F.relu(self.bn1(self.conv1(x)))
        h = F.relu(self.bn2(self.conv2(h))).amax(2)
        h = self.fc2(F.relu(self.bn3(self.fc1(h))))
        return h.view(-1, self.k, self.k) + torch.eye(self.k)


class PointNet(nn.Module):
    def __init__(self, classes=6):
        super().__init__()
        self.tnet = TNet()
        self.conv1, self.conv2 = nn.Conv1d(3, 16, 1), nn.Conv1d(16, 48, 1)
        self.bn1, self.bn2 = nn.BatchNorm1d(16), nn.BatchNorm1d(48)
        self.fc1, self.fc2 = nn.Linear(48, 24), nn.Linear(24, classes)

    def forward(self, points):  # (b, n, 3)
        t = self.tnet(points.transpose(1, 2))
        x = torch.bmm(points, t).transpose(1, 2)
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.bn2(self.conv2(x)).amax(2)
        return F.log_softmax(self.fc2(F.relu(self.fc1(x))), -1)


def make():
    torch.manual_seed(9)
    net = PointNet()
    for m in net.modules():
        if isinstance(m, nn.BatchNorm1d):
            m.running_mean.normal_(0, 0.2)
            m.running_var.uniform_(0.05, 0.5)
            nn.init.uniform_(m.weight, 0.5, 1.5)
            nn.init.normal_(m.bias, 0, 0.3)
    return net.eval()


def inputs(seed):
    return np.random.default_rng(seed).normal(size=(4, 30, 3)).astype("float32")
