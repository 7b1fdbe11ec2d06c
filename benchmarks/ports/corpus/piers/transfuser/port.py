"""TransFuser rewritten for inference: fused attention, functional layers, one GRU step as matmuls."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
SIZE, WIDTH, HEADS, GRID, WAYPOINTS, HISTORY = 12, 8, 2, 3, 4, 3


def conv_bn(n_in, stride):
    return nn.Sequential(nn.Conv2d(n_in, WIDTH, 3, stride, 1, bias=False), nn.BatchNorm2d(WIDTH), nn.ReLU())


class Fusion(nn.Module):
    def __init__(self):
        super().__init__()
        self.position = nn.Parameter(torch.randn(2 * GRID * GRID, WIDTH))
        self.velocity = nn.Linear(HISTORY, WIDTH)
        self.norm1 = nn.ModuleList([nn.LayerNorm(WIDTH) for _ in range(2)])
        self.qkv = nn.ModuleList([nn.Linear(WIDTH, 3 * WIDTH) for _ in range(2)])
        self.proj = nn.ModuleList([nn.Linear(WIDTH, WIDTH) for _ in range(2)])
        self.norm2 = nn.ModuleList([nn.LayerNorm(WIDTH) for _ in range(2)])
        self.up = nn.ModuleList([nn.Linear(WIDTH, 2 * WIDTH) for _ in range(2)])
        self.down = nn.ModuleList([nn.Linear(2 * WIDTH, WIDTH) for _ in range(2)])
        self.norm = nn.LayerNorm(WIDTH)

    def attention(self, i, x):
        q, k, v = self.qkv[i](x).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v)
        return self.proj[i](y.transpose(1, 2).flatten(2))

    def forward(self, image, lidar, velocity):
        tokens = [m.flatten(2).transpose(1, 2) for m in (image, lidar)]
        x = torch.cat(tokens, dim=1)
        x = x + self.position + self.velocity(velocity)[:, None]
        for i in range(2):
            x = x + self.attention(i, self.norm1[i](x))
            x = x + self.down[i](F.relu(self.up[i](self.norm2[i](x))))
        image, lidar = self.norm(x).chunk(2, dim=1)
        return tuple(m.transpose(1, 2).unflatten(2, (GRID, GRID)) for m in (image, lidar))


class WaypointGRU(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Linear(4, 3 * WIDTH)
        self.u = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, 2)

    def step(self, x, h):
        xr, xz, xn = self.w(x).chunk(3, -1)
        hr, hz, hn = self.u(h).chunk(3, -1)
        r, z = torch.sigmoid(xr + hr), torch.sigmoid(xz + hz)
        n = torch.tanh(xn + r * hn)
        return n + z * (h - n)

    def forward(self, h, target_point):
        point = h.new_zeros(len(h), 2)
        points = []
        for _ in range(WAYPOINTS):
            h = self.step(torch.cat([point, target_point], -1), h)
            point = point + self.out(h)
            points.append(point)
        return torch.stack(points, 1)


class TransFuser(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.ModuleDict({"image": conv_bn(3, 2), "lidar": conv_bn(2, 2)})
        self.fusion = Fusion()
        self.stage = nn.ModuleDict({"image": conv_bn(WIDTH, 2), "lidar": conv_bn(WIDTH, 2)})
        self.join = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU())
        self.waypoints = WaypointGRU()

    def forward(self, image, lidar, velocity, target_point):
        image = (image - 0.45 * 255) / (0.225 * 255)
        maps = [self.stem["image"](image), self.stem["lidar"](lidar)]
        pooled = [F.avg_pool2d(m, m.shape[-1] // GRID) for m in maps]
        fused = self.fusion(*pooled, velocity)
        maps = [m + F.interpolate(f, size=m.shape[-2:], mode="bilinear") for m, f in zip(maps, fused)]
        image, lidar = self.stage["image"](maps[0]), self.stage["lidar"](maps[1])
        z = F.adaptive_avg_pool2d(image, 1).flatten(1) + F.adaptive_avg_pool2d(lidar, 1).flatten(1)
        points = self.waypoints(self.join(z), target_point)

        first, second = points[:, 0], points[:, 1]
        speed = (second - first).pow(2).sum(-1).sqrt() * 2.0
        aim = 0.5 * (first + second)
        angle = 1 - torch.atan2(aim[:, 1], aim[:, 0]) * 2 / math.pi
        return points, torch.stack([speed, angle], -1)


def make():
    torch.manual_seed(1)
    net = TransFuser()
    for m in net.modules():
        if isinstance(m, (nn.LayerNorm, nn.BatchNorm2d)):
            nn.init.normal_(m.weight, 1.0, 0.2)
            nn.init.normal_(m.bias, 0.0, 0.2)
        if isinstance(m, nn.BatchNorm2d):
            m.running_mean.normal_(0, 0.2)
            m.running_var.uniform_(0.5, 1.5)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    b = 4
    return (rng.integers(0, 256, (b, 3, SIZE, SIZE)).astype("float32"),
            rng.gamma(1.0, 1.0, (b, 2, SIZE, SIZE)).astype("float32"),
            rng.random((b, HISTORY)).astype("float32"), rng.normal(size=(b, 2)).astype("float32"))


def load(ported, original):
    with torch.no_grad():
        for name, index in (("stem", 1), ("stage", 2)):
            for kind in ("image", "lidar"):
                block = getattr(original, f"{kind}{index}")
                ported.get_submodule(f"{name}.{kind}.0").load_state_dict(block.conv.state_dict())
                ported.get_submodule(f"{name}.{kind}.1").load_state_dict(block.bn.state_dict())
        fusion, gpt = ported.fusion, original.gpt
        fusion.position.copy_(gpt.pos_emb[0])
        fusion.velocity.load_state_dict(gpt.vel_emb.state_dict())
        fusion.norm.load_state_dict(gpt.ln_f.state_dict())
        for i, block in enumerate(gpt.blocks):
            at = block.attn
            fusion.norm1[i].load_state_dict(block.ln1.state_dict())
            fusion.norm2[i].load_state_dict(block.ln2.state_dict())
            fusion.qkv[i].weight.copy_(torch.cat([at.query.weight, at.key.weight, at.value.weight]))
            fusion.qkv[i].bias.copy_(torch.cat([at.query.bias, at.key.bias, at.value.bias]))
            fusion.proj[i].load_state_dict(at.proj.state_dict())
            fusion.up[i].load_state_dict(block.mlp[0].state_dict())
            fusion.down[i].load_state_dict(block.mlp[2].state_dict())
        ported.join.load_state_dict(original.join.state_dict())
        gru = ported.waypoints
        gru.w.weight.copy_(original.decoder.weight_ih)
        gru.w.bias.copy_(original.decoder.bias_ih)
        gru.u.weight.copy_(original.decoder.weight_hh)
        gru.u.bias.copy_(original.decoder.bias_hh)
        gru.out.load_state_dict(original.output.state_dict())
