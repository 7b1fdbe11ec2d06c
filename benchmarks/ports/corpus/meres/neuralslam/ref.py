"""Active Neural SLAM: egocentric map prediction, pose correction, spatial transform, global policy."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
LAYOUT = "NCHW"
IMG, MAP, EGO = 16, 12, 6


class MapPredictor(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 4, stride=2, padding=1)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 6, 3, stride=2, padding=1)
        self.proj = nn.Linear(6 * 4 * 4, 8 * 3 * 3)
        self.deconv = nn.ConvTranspose2d(8, 2, 4, stride=2, padding=1)

    def forward(self, rgb):
        x = F.leaky_relu(self.bn1(self.conv1(rgb)), 0.1)
        x = F.relu(self.conv2(x)).flatten(1)
        x = F.relu(self.proj(x)).view(-1, 8, 3, 3)
        return torch.sigmoid(self.deconv(x))


class NeuralSLAM(nn.Module):
    def __init__(self):
        super().__init__()
        self.mapper = MapPredictor()
        self.pose_conv = nn.Conv2d(4, 6, 3, padding=0)
        self.pose_fc = nn.Linear(6 + 3, 16)
        self.pose_out = nn.Linear(16, 3)
        self.g_conv = nn.Conv2d(4, 8, 3, padding=1)
        self.g_norm = nn.GroupNorm(2, 8)
        self.orientation = nn.Embedding(8, 4)
        self.g_fc = nn.Linear(8 + 4, 16)
        self.goal = nn.Linear(16, 2)
        self.value = nn.Linear(16, 1)

    @staticmethod
    def place(ego):
        """The egocentric window lies in front of (above) the agent at the centre."""
        side = (MAP - EGO) // 2
        return F.pad(ego, (side, side, 0, MAP - EGO))

    @staticmethod
    def warp(image, pose):
        B = pose.shape[0]
        cos, sin = torch.cos(pose[:, 2]), torch.sin(pose[:, 2])
        zero, one = torch.zeros_like(cos), torch.ones_like(cos)
        rot = torch.stack([torch.stack([cos, -sin, zero], 1), torch.stack([sin, cos, zero], 1)], 1)
        trans = torch.stack([torch.stack([one, zero, pose[:, 0]], 1), torch.stack([zero, one, pose[:, 1]], 1)], 1)
        image = F.grid_sample(image, F.affine_grid(rot, image.shape, align_corners=False), align_corners=False)
        return F.grid_sample(image, F.affine_grid(trans, image.shape, align_corners=False), align_corners=False)

    def forward(self, rgb, last_ego, global_map, pose, odometry):
        ego = self.mapper(rgb)
        p = F.relu(self.pose_conv(torch.cat([last_ego, ego], 1))).mean(dim=(2, 3))
        delta = self.pose_out(torch.relu(self.pose_fc(torch.cat([p, odometry], 1))))
        pose = pose + odometry + 0.1 * torch.tanh(delta)
        seen = self.warp(self.place(ego), pose)
        new_map = torch.maximum(global_map, seen)
        coarse = F.max_pool2d(torch.cat([new_map, seen], 1), 2)
        g = F.relu(self.g_norm(self.g_conv(coarse)))
        bin_ = torch.remainder(torch.floor(pose[:, 2] / (2 * np.pi) * 8 + 0.5), 8).long()
        f = torch.relu(self.g_fc(torch.cat([g.mean(dim=(2, 3)), self.orientation(bin_)], 1)))
        return new_map, pose, torch.sigmoid(self.goal(f)), self.value(f)


def make():
    torch.manual_seed(0)
    m = NeuralSLAM().eval()
    g = torch.Generator().manual_seed(51)
    for n, p in m.named_parameters():
        r = torch.randn(p.shape, generator=g)
        p.data = r * 1.4 / np.sqrt(p[0].numel()) if p.dim() > 1 else (1 + 0.3 * r if "bn1.weight" in n or "norm.weight" in n else 0.3 * r)
    m.orientation.weight.data *= 2
    m.mapper.bn1.running_mean = 0.3 * torch.randn(8, generator=g)
    m.mapper.bn1.running_var = 0.5 + torch.rand(8, generator=g)
    return m


def inputs(seed):
    rng = np.random.default_rng(seed)
    pose = np.concatenate([rng.uniform(-0.4, 0.4, size=(4, 2)), rng.uniform(-3, 3, size=(4, 1))], 1)
    return (rng.normal(size=(4, 3, IMG, IMG)).astype("float32"), rng.random((4, 2, EGO, EGO)).astype("float32"),
            (rng.random((4, 2, MAP, MAP)) * 0.5).astype("float32"), pose.astype("float32"),
            (rng.normal(size=(4, 3)) * 0.1).astype("float32"))
