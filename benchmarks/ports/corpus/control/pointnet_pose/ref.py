"""PointNet object-pose regressor: T-Net, shared MLPs, masked max pooling, quaternion + translation + grasp weights."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"


def conv_bn(i, o):
    return nn.Sequential(nn.Conv1d(i, o, 1), nn.BatchNorm1d(o))


def masked_max(x, mask):
    return x.masked_fill(~mask[:, None, :], -1e9).amax(dim=2)


def quat_to_matrix(q):
    w, x, y, z = q.unbind(-1)
    return torch.stack([
        1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
        2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
        2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], -1).view(-1, 3, 3)


class TNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = conv_bn(3, 16), conv_bn(16, 32)
        self.fc = nn.Linear(32, 9)

    def forward(self, x, mask):
        h = F.relu(self.c1(x))
        h = masked_max(F.relu(self.c2(h)), mask)
        return self.fc(h).view(-1, 3, 3) + torch.eye(3)


class PointNetPose(nn.Module):
    def __init__(self):
        super().__init__()
        self.tnet = TNet()
        self.m1, self.m2, self.m3 = conv_bn(3, 16), conv_bn(16, 32), conv_bn(32, 32)
        self.seg1 = conv_bn(16 + 32, 24)
        self.seg2 = nn.Conv1d(24, 1, 1)
        self.head = nn.Sequential(nn.Linear(32, 24), nn.LeakyReLU(0.2), nn.Linear(24, 7))

    def forward(self, pts, mask):
        mask = mask.bool()
        x = pts.transpose(1, 2)                                  # (B, 3, N)
        T = self.tnet(x, mask)
        x = torch.bmm(pts, T).transpose(1, 2)
        local = F.relu(self.m1(x))
        h = F.relu(self.m2(local))
        glob = masked_max(self.m3(h), mask)                      # no relu before pooling
        seg = torch.cat([local, glob[:, :, None].expand(-1, -1, x.shape[2])], 1)
        logits = self.seg2(F.relu(self.seg1(seg))).squeeze(1)
        w = torch.softmax(logits.masked_fill(~mask, float("-inf")), dim=1)
        pose = self.head(glob)
        q = F.normalize(pose[:, :4] + torch.tensor([1.0, 0, 0, 0]), dim=1)
        t = pose[:, 4:]
        moved = pts @ quat_to_matrix(q).transpose(1, 2) + t[:, None]
        centre = (w[..., None] * moved).sum(1)
        return {"quat": q, "trans": t, "weights": w, "moved": moved, "centre": centre}


def make():
    torch.manual_seed(23)
    net = PointNetPose()
    for m in net.modules():
        if isinstance(m, nn.BatchNorm1d):
            nn.init.uniform_(m.weight, 0.6, 1.4)
            nn.init.normal_(m.bias, 0, 0.25)
            m.running_mean.normal_(0, 0.3)
            m.running_var.uniform_(0.3, 1.5)
    return net.eval()


def inputs(seed):
    g = np.random.default_rng(seed + 7)
    pts = (g.normal(size=(4, 12, 3)) * [0.5, 0.3, 0.8]).astype(np.float32)
    mask = (np.arange(12)[None] < np.array([12, 7, 9, 5])[:, None])
    pts[~mask] = 0.0
    return pts, mask.astype(np.float32)
