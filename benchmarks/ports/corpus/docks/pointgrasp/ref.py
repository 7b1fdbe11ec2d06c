"""A grasp critic: points go into the gripper's frame, a small PointNet scores the grasp."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
POINTS, FEAT = 14, 12


def rotate(quat, v):
    """v (B, N, 3) turned by quat (B, 4), which is x, y, z, w."""
    xyz, w = quat[:, None, :3].expand_as(v), quat[:, None, 3:]
    t = 2 * torch.cross(xyz, v, dim=-1)
    return v + w * t + torch.cross(xyz, t, dim=-1)


class SharedMLP(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.conv = nn.Conv1d(n_in, n_out, 1)
        self.bn = nn.BatchNorm1d(n_out)

    def forward(self, x):
        return F.leaky_relu(self.bn(self.conv(x)), 0.2)


class TNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp1 = SharedMLP(3, 8)
        self.mlp2 = SharedMLP(8, 12)
        self.fc = nn.Linear(12, 9)

    def forward(self, x):
        h = self.mlp2(self.mlp1(x)).max(dim=2).values
        return self.fc(h).view(-1, 3, 3) + torch.eye(3)


class GraspCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.tnet = TNet()
        self.mlp1 = SharedMLP(3 + 2, 8)
        self.mlp2 = SharedMLP(8, FEAT)
        self.gate = nn.Linear(FEAT, FEAT)
        self.fc1 = nn.Linear(2 * FEAT + 3, 10)
        self.fc2 = nn.Linear(10, 2)

    def forward(self, points, colours, pose):
        position, quat = pose[:, :3], pose[:, 3:]
        quat = F.normalize(quat, dim=-1)
        inverse = quat * torch.tensor([-1.0, -1.0, -1.0, 1.0])
        local = rotate(inverse, points - position.unsqueeze(1))
        radius = local.norm(dim=-1, keepdim=True)
        local = local / (radius.max(dim=1, keepdim=True).values + 1e-6)
        x = local.transpose(1, 2)
        x = torch.bmm(self.tnet(x), x)
        x = torch.cat([x, colours.transpose(1, 2)], dim=1)
        x = self.mlp2(self.mlp1(x))
        context = x.mean(dim=2)
        x = x * torch.sigmoid(self.gate(context)).unsqueeze(2)
        pooled = torch.cat([x.max(dim=2).values, x.mean(dim=2), position], dim=1)
        h = F.softplus(self.fc1(pooled))
        q, log_var = self.fc2(h).unbind(dim=1)
        near = torch.exp(-4.0 * radius.squeeze(-1) ** 2)
        return q + near.sum(dim=1), torch.exp(0.5 * log_var), x.std(dim=2)


def make():
    g = torch.Generator().manual_seed(10)
    m = GraspCritic()
    with torch.no_grad():
        for n, p in m.named_parameters():
            p.copy_(torch.randn(p.shape, generator=g) * 0.2 + (0.8 if n.endswith("bn.weight") else 0.0))
        for n, b in m.named_buffers():
            if n.endswith("mean"):
                b.copy_(torch.randn(b.shape, generator=g) * 0.2)
            if n.endswith("var"):
                b.copy_(torch.rand(b.shape, generator=g) * 0.3 + 0.05)
    return m.eval()


def inputs(seed):
    r = np.random.default_rng(seed)
    f = lambda *s: r.normal(size=s).astype("float32")
    return f(5, POINTS, 3), f(5, POINTS, 2), f(5, 7)
