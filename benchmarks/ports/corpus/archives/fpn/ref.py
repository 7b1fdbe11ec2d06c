"""FPN with nearest upsampling and an SSD-style head with box decoding."""
import math
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
A, C = 2, 5
SIZES = [(12.0, 8.0), (8.0, 16.0)]
CLIP = math.log(1000.0 / 16)


def anchors_of(h, w, stride, offset=0.5):
    ys, xs = np.meshgrid(np.arange(h), np.arange(w), indexing="ij")
    cx, cy = (xs + offset) * stride, (ys + offset) * stride
    rows = [np.stack([cx, cy, np.full_like(cx, s[0] * stride / 4), np.full_like(cx, s[1] * stride / 4)], -1) for s in SIZES]
    return np.stack(rows, 2).reshape(-1, 4).astype("float32")


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.c3 = nn.Conv2d(3, 8, 3, 4, 1)
        self.c4 = nn.Conv2d(8, 12, 3, 2, 1)
        self.lat3, self.lat4 = nn.Conv2d(8, 10, 1), nn.Conv2d(12, 10, 1)
        self.smooth3, self.smooth4 = nn.Conv2d(10, 10, 3, padding=1), nn.Conv2d(10, 10, 3, padding=1)
        self.cls = nn.Conv2d(10, A * C, 3, padding=1)
        self.box = nn.Conv2d(10, A * 4, 3, padding=1)

    def forward(self, x):
        c3 = F.leaky_relu(self.c3(x), 0.1)
        c4 = F.leaky_relu(self.c4(c3), 0.1)
        p4 = self.lat4(c4)
        p3 = self.lat3(c3) + F.interpolate(p4, scale_factor=2, mode="nearest")
        boxes, scores = [], []
        for p, smooth, stride in ((p3, self.smooth3, 4), (p4, self.smooth4, 8)):
            p = smooth(p)
            b, _, h, w = p.shape
            cls = self.cls(p).view(b, A, C, h, w).permute(0, 3, 4, 1, 2).reshape(b, -1, C)
            reg = self.box(p).view(b, A, 4, h, w).permute(0, 3, 4, 1, 2).reshape(b, -1, 4)
            anchors = torch.from_numpy(anchors_of(h, w, stride)).to(reg)
            xy = anchors[:, :2] + reg[..., :2] * 0.1 * anchors[:, 2:]
            wh = anchors[:, 2:] * torch.exp(torch.clamp(reg[..., 2:] * 0.2, max=CLIP))
            boxes.append(torch.cat([xy - wh / 2, xy + wh / 2], dim=-1))
            scores.append(torch.sigmoid(cls))
        return torch.cat(boxes, 1), torch.cat(scores, 1)


def make():
    torch.manual_seed(2)
    return Detector().eval()


def inputs(seed):
    return np.random.default_rng(seed).normal(size=(3, 3, 32, 32)).astype("float32")
