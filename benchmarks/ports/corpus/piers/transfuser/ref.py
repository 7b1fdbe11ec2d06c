"""A small TransFuser: image and lidar branches, a transformer between them, GRU waypoints."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
SIZE, WIDTH, HEADS, GRID, WAYPOINTS, HISTORY = 12, 8, 2, 3, 4, 3


class SelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.key = nn.Linear(WIDTH, WIDTH)
        self.query = nn.Linear(WIDTH, WIDTH)
        self.value = nn.Linear(WIDTH, WIDTH)
        self.proj = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        b, t, c = x.size()
        k = self.key(x).view(b, t, HEADS, c // HEADS).transpose(1, 2)
        q = self.query(x).view(b, t, HEADS, c // HEADS).transpose(1, 2)
        v = self.value(x).view(b, t, HEADS, c // HEADS).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        y = F.softmax(att, dim=-1) @ v
        return self.proj(y.transpose(1, 2).contiguous().view(b, t, c))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1 = nn.LayerNorm(WIDTH)
        self.ln2 = nn.LayerNorm(WIDTH)
        self.attn = SelfAttention()
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.ReLU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.pos_emb = nn.Parameter(0.3 * torch.randn(1, 2 * GRID * GRID, WIDTH))
        self.vel_emb = nn.Linear(HISTORY, WIDTH)
        self.blocks = nn.Sequential(Block(), Block())
        self.ln_f = nn.LayerNorm(WIDTH)

    def forward(self, image, lidar, velocity):
        b = image.size(0)
        tokens = torch.stack([image, lidar], dim=1)  # (b, 2, c, g, g)
        tokens = tokens.permute(0, 1, 3, 4, 2).contiguous().view(b, -1, WIDTH)
        x = tokens + self.pos_emb + self.vel_emb(velocity).unsqueeze(1)
        x = self.ln_f(self.blocks(x))
        x = x.view(b, 2, GRID, GRID, WIDTH).permute(0, 1, 4, 2, 3).contiguous()
        return x[:, 0], x[:, 1]


class ConvBlock(nn.Module):
    def __init__(self, n_in, stride):
        super().__init__()
        self.conv = nn.Conv2d(n_in, WIDTH, 3, stride=stride, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(WIDTH)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))


class TransFuser(nn.Module):
    def __init__(self):
        super().__init__()
        self.image1, self.lidar1 = ConvBlock(3, 2), ConvBlock(2, 2)
        self.gpt = GPT()
        self.image2, self.lidar2 = ConvBlock(WIDTH, 2), ConvBlock(WIDTH, 2)
        self.join = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU())
        self.decoder = nn.GRUCell(4, WIDTH)
        self.output = nn.Linear(WIDTH, 2)

    def forward(self, image, lidar, velocity, target_point):
        image = (image / 255.0 - 0.45) / 0.225
        fi, fl = self.image1(image), self.lidar1(lidar)
        gi, gl = self.gpt(F.adaptive_avg_pool2d(fi, GRID), F.adaptive_avg_pool2d(fl, GRID), velocity)
        scale = fi.shape[-1] // GRID
        fi = fi + F.interpolate(gi, scale_factor=scale, mode="bilinear", align_corners=False)
        fl = fl + F.interpolate(gl, scale_factor=scale, mode="bilinear", align_corners=False)
        fi, fl = self.image2(fi), self.lidar2(fl)
        fused = fi.mean(dim=(2, 3)) + fl.mean(dim=(2, 3))
        z = self.join(fused)

        x = torch.zeros(z.shape[0], 2)
        waypoints = []
        for _ in range(WAYPOINTS):
            z = self.decoder(torch.cat([x, target_point], dim=1), z)
            x = x + self.output(z)
            waypoints.append(x)
        waypoints = torch.stack(waypoints, dim=1)
        return waypoints, self.control(waypoints)

    @staticmethod
    def control(waypoints):
        """Desired speed and steering angle, as the controller takes them."""
        speed = 2.0 * torch.norm(waypoints[:, 1] - waypoints[:, 0], dim=1)
        aim = (waypoints[:, 1] + waypoints[:, 0]) / 2.0
        angle = (math.pi / 2 - torch.atan2(aim[:, 1], aim[:, 0])) / (math.pi / 2)
        return torch.stack([speed, angle], dim=1)


def make():
    torch.manual_seed(29)
    net = TransFuser()
    for m in net.modules():
        if isinstance(m, (nn.LayerNorm, nn.BatchNorm2d)):
            nn.init.normal_(m.weight, 1.0, 0.2)
            nn.init.normal_(m.bias, 0.1, 0.2)
        if isinstance(m, nn.BatchNorm2d):
            m.running_mean.normal_(0, 0.2)
            m.running_var.uniform_(0.5, 1.5)
        if isinstance(m, nn.Linear):
            nn.init.normal_(m.weight, 0, 1.2 / m.in_features ** 0.5)
            nn.init.normal_(m.bias, 0, 0.2)
    for p in net.decoder.parameters():
        nn.init.normal_(p, 0, 0.5)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    b = 4
    return (rng.integers(0, 256, (b, 3, SIZE, SIZE)).astype("float32"),
            rng.gamma(1.0, 1.0, (b, 2, SIZE, SIZE)).astype("float32"),
            rng.random((b, HISTORY)).astype("float32"), rng.normal(size=(b, 2)).astype("float32"))
