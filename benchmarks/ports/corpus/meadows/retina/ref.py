"""RetinaNet (Lin et al. 2017): FPN, shared class/box towers, anchor decoding."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
CLASSES = 5
RATIOS = (0.5, 1.0, 2.0)
SCALES = (1.0, 2 ** 0.5)
A = len(RATIOS) * len(SCALES)
HEIGHT, WIDTH = 64, 96
STRIDES = (4, 8, 16, 32)


def stage(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(cout),
        nn.ReLU(),
    )


def level_anchors(height, width, stride):
    ys = (torch.arange(height, dtype=torch.float32) + 0.5) * stride
    xs = (torch.arange(width, dtype=torch.float32) + 0.5) * stride
    cy, cx = torch.meshgrid(ys, xs, indexing="ij")
    shapes = [
        (4 * stride * s / math.sqrt(r), 4 * stride * s * math.sqrt(r))
        for r in RATIOS for s in SCALES
    ]
    wh = torch.tensor(shapes)
    centres = torch.stack([cx, cy], -1).reshape(-1, 1, 2).expand(-1, A, -1)
    wh = wh[None].expand(centres.shape[0], -1, -1)
    return torch.cat([centres, wh], -1).reshape(-1, 4)


class RetinaNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.stem = stage(3, 8)
        self.c3 = stage(8, 12)
        self.c4 = stage(12, 16)
        self.c5 = stage(16, 24)
        self.lateral = nn.ModuleList([nn.Conv2d(c, width, 1) for c in (12, 16, 24)])
        self.smooth = nn.ModuleList([nn.Conv2d(width, width, 3, padding=1) for _ in range(3)])
        self.p6 = nn.Conv2d(24, width, 3, stride=2, padding=1)
        self.cls_tower = nn.ModuleList([nn.Conv2d(width, width, 3, padding=1) for _ in range(2)])
        self.box_tower = nn.ModuleList([nn.Conv2d(width, width, 3, padding=1) for _ in range(2)])
        self.cls_out = nn.Conv2d(width, A * CLASSES, 3, padding=1)
        self.box_out = nn.Conv2d(width, A * 4, 3, padding=1)

    def pyramid(self, image):
        c3 = self.c3(self.stem(image))
        c4 = self.c4(c3)
        c5 = self.c5(c4)
        l3, l4, l5 = (conv(c) for conv, c in zip(self.lateral, (c3, c4, c5)))
        l4 = l4 + F.interpolate(l5, scale_factor=2, mode="nearest")
        l3 = l3 + F.interpolate(l4, scale_factor=2, mode="nearest")
        p3, p4, p5 = (conv(x) for conv, x in zip(self.smooth, (l3, l4, l5)))
        p6 = self.p6(c5)
        return [p3, p4, p5, p6]

    @staticmethod
    def flat(out, size):
        batch, _, height, width = out.shape
        out = out.view(batch, A, size, height, width)
        return out.permute(0, 3, 4, 1, 2).reshape(batch, -1, size)

    def forward(self, image):
        scores, deltas, anchors = [], [], []
        for p, stride in zip(self.pyramid(image), STRIDES):
            c = b = p
            for conv in self.cls_tower:
                c = F.relu(conv(c))
            for conv in self.box_tower:
                b = F.relu(conv(b))
            scores.append(self.flat(self.cls_out(c), CLASSES))
            deltas.append(self.flat(self.box_out(b), 4))
            anchors.append(level_anchors(p.shape[2], p.shape[3], stride))
        scores = torch.sigmoid(torch.cat(scores, 1))
        deltas = torch.cat(deltas, 1) * torch.tensor([0.1, 0.1, 0.2, 0.2])
        anchors = torch.cat(anchors, 0)
        centre = anchors[:, :2] + deltas[..., :2] * anchors[:, 2:]
        size = anchors[:, 2:] * torch.exp(deltas[..., 2:].clamp(max=math.log(1000 / 16)))
        boxes = torch.cat([centre - size / 2, centre + size / 2], -1)
        return scores, boxes


def make(seed=0):
    torch.manual_seed(seed)
    net = RetinaNet()
    for m in net.modules():
        if isinstance(m, nn.BatchNorm2d):
            nn.init.uniform_(m.weight, 0.6, 1.4)
            nn.init.normal_(m.bias, 0, 0.2)
            m.running_mean.normal_(0, 0.2)
            m.running_var.uniform_(0.5, 1.5)
        elif isinstance(m, nn.Conv2d):
            nn.init.kaiming_normal_(m.weight, nonlinearity="relu")
            if m.bias is not None:
                nn.init.normal_(m.bias, 0, 0.1)
    return net.eval()


def images(rng):
    coarse = rng.normal(size=(4, 3, HEIGHT // 8, WIDTH // 8)).repeat(8, 2).repeat(8, 3)
    return (coarse + 0.3 * rng.normal(size=(4, 3, HEIGHT, WIDTH))).astype("float32")


def inputs(seed=0):
    return images(np.random.default_rng(seed))
