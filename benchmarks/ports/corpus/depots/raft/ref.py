"""RAFT (Teed & Deng 2020), small: encoders, correlation pyramid, SepConvGRU, convex upsampling."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
LAYOUT = "NCHW"
HIDDEN, CONTEXT, FEATURES = 8, 8, 16
LEVELS, RADIUS, ITERS = 2, 2, 2


def bilinear_sampler(img, coords):
    """grid_sample in pixel coordinates."""
    H, W = img.shape[-2:]
    xgrid, ygrid = coords.split([1, 1], dim=-1)
    xgrid = 2 * xgrid / (W - 1) - 1
    ygrid = 2 * ygrid / (H - 1) - 1
    grid = torch.cat([xgrid, ygrid], dim=-1)
    return F.grid_sample(img, grid, align_corners=True)


def coords_grid(batch, ht, wd):
    ys, xs = torch.meshgrid(torch.arange(ht), torch.arange(wd), indexing="ij")
    return torch.stack([xs, ys], dim=0).float()[None].repeat(batch, 1, 1, 1)


class ResidualBlock(nn.Module):
    def __init__(self, in_planes, planes, norm, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(in_planes, planes, 3, padding=1, stride=stride)
        self.conv2 = nn.Conv2d(planes, planes, 3, padding=1)
        make_norm = nn.InstanceNorm2d if norm == "instance" else nn.BatchNorm2d
        self.norm1, self.norm2 = make_norm(planes), make_norm(planes)
        self.downsample = None
        if stride != 1:
            self.downsample = nn.Sequential(nn.Conv2d(in_planes, planes, 1, stride=stride), make_norm(planes))

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        y = F.relu(self.norm2(self.conv2(y)))
        if self.downsample is not None:
            x = self.downsample(x)
        return F.relu(x + y)


class Encoder(nn.Module):
    def __init__(self, out, norm):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 7, stride=2, padding=3)
        self.norm1 = nn.InstanceNorm2d(8) if norm == "instance" else nn.BatchNorm2d(8)
        self.layer1 = ResidualBlock(8, 8, norm)
        self.layer2 = ResidualBlock(8, 12, norm, stride=2)
        self.conv2 = nn.Conv2d(12, out, 1)

    def forward(self, x):
        x = F.relu(self.norm1(self.conv1(x)))
        return self.conv2(self.layer2(self.layer1(x)))


class CorrBlock:
    def __init__(self, fmap1, fmap2):
        corr = self.corr(fmap1, fmap2)
        b, h1, w1, h2, w2 = corr.shape
        corr = corr.reshape(b * h1 * w1, 1, h2, w2)
        self.pyramid = [corr]
        for _ in range(LEVELS - 1):
            corr = F.avg_pool2d(corr, 2, stride=2)
            self.pyramid.append(corr)

    def __call__(self, coords):
        r = RADIUS
        coords = coords.permute(0, 2, 3, 1)
        b, h1, w1, _ = coords.shape
        out = []
        for i, corr in enumerate(self.pyramid):
            dx = torch.linspace(-r, r, 2 * r + 1)
            dy = torch.linspace(-r, r, 2 * r + 1)
            delta = torch.stack(torch.meshgrid(dy, dx, indexing="ij"), dim=-1)
            centroid = coords.reshape(b * h1 * w1, 1, 1, 2) / 2**i
            lookup = centroid + delta.view(1, 2 * r + 1, 2 * r + 1, 2)
            sampled = bilinear_sampler(corr, lookup)
            out.append(sampled.view(b, h1, w1, -1))
        return torch.cat(out, dim=-1).permute(0, 3, 1, 2)

    @staticmethod
    def corr(fmap1, fmap2):
        b, dim, h, w = fmap1.shape
        fmap1 = fmap1.view(b, dim, h * w)
        fmap2 = fmap2.view(b, dim, h * w)
        corr = torch.matmul(fmap1.transpose(1, 2), fmap2)
        return corr.view(b, h, w, h, w) / math.sqrt(dim)


class SepConvGRU(nn.Module):
    def __init__(self, hidden, inputs):
        super().__init__()
        both = hidden + inputs
        self.convz1 = nn.Conv2d(both, hidden, (1, 5), padding=(0, 2))
        self.convr1 = nn.Conv2d(both, hidden, (1, 5), padding=(0, 2))
        self.convq1 = nn.Conv2d(both, hidden, (1, 5), padding=(0, 2))
        self.convz2 = nn.Conv2d(both, hidden, (5, 1), padding=(2, 0))
        self.convr2 = nn.Conv2d(both, hidden, (5, 1), padding=(2, 0))
        self.convq2 = nn.Conv2d(both, hidden, (5, 1), padding=(2, 0))

    def forward(self, h, x):
        hx = torch.cat([h, x], dim=1)  # horizontal
        z = torch.sigmoid(self.convz1(hx))
        r = torch.sigmoid(self.convr1(hx))
        q = torch.tanh(self.convq1(torch.cat([r * h, x], dim=1)))
        h = (1 - z) * h + z * q
        hx = torch.cat([h, x], dim=1)  # vertical
        z = torch.sigmoid(self.convz2(hx))
        r = torch.sigmoid(self.convr2(hx))
        q = torch.tanh(self.convq2(torch.cat([r * h, x], dim=1)))
        h = (1 - z) * h + z * q
        return h


class MotionEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.convc1 = nn.Conv2d(LEVELS * (2 * RADIUS + 1) ** 2, 12, 1)
        self.convf1 = nn.Conv2d(2, 8, 7, padding=3)
        self.convf2 = nn.Conv2d(8, 6, 3, padding=1)
        self.conv = nn.Conv2d(18, 10, 3, padding=1)

    def forward(self, flow, corr):
        cor = F.relu(self.convc1(corr))
        flo = F.relu(self.convf1(flow))
        flo = F.relu(self.convf2(flo))
        out = F.relu(self.conv(torch.cat([cor, flo], dim=1)))
        return torch.cat([out, flow], dim=1)


class RAFT(nn.Module):
    def __init__(self):
        super().__init__()
        self.fnet = Encoder(FEATURES, "instance")
        self.cnet = Encoder(HIDDEN + CONTEXT, "batch")
        self.encoder = MotionEncoder()
        self.gru = SepConvGRU(HIDDEN, CONTEXT + 12)
        self.flow1 = nn.Conv2d(HIDDEN, 12, 3, padding=1)
        self.flow2 = nn.Conv2d(12, 2, 3, padding=1)
        self.mask1 = nn.Conv2d(HIDDEN, 12, 3, padding=1)
        self.mask2 = nn.Conv2d(12, 4 * 4 * 9, 1)

    def upsample_flow(self, flow, mask):
        N, _, H, W = flow.shape
        mask = mask.view(N, 1, 9, 4, 4, H, W)
        mask = torch.softmax(mask, dim=2)
        up = F.unfold(4 * flow, [3, 3], padding=1)
        up = up.view(N, 2, 9, 1, 1, H, W)
        up = torch.sum(mask * up, dim=2)
        return up.permute(0, 1, 4, 2, 5, 3).reshape(N, 2, 4 * H, 4 * W)

    def forward(self, image1, image2):
        image1 = 2 * (image1 / 255.0) - 1.0
        image2 = 2 * (image2 / 255.0) - 1.0
        corr_fn = CorrBlock(self.fnet(image1), self.fnet(image2))
        net, inp = torch.split(self.cnet(image1), [HIDDEN, CONTEXT], dim=1)
        net, inp = torch.tanh(net), torch.relu(inp)
        N, _, H, W = image1.shape
        coords0 = coords_grid(N, H // 4, W // 4)
        coords1 = coords0.clone()
        flows = []
        for _ in range(ITERS):
            corr = corr_fn(coords1)
            motion = self.encoder(coords1 - coords0, corr)
            net = self.gru(net, torch.cat([inp, motion], dim=1))
            delta = self.flow2(F.relu(self.flow1(net)))
            mask = 0.25 * self.mask2(F.relu(self.mask1(net)))
            coords1 = coords1 + delta
            flows.append(self.upsample_flow(coords1 - coords0, mask))
        return flows


def make():
    torch.manual_seed(11)
    model = RAFT()
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, nn.Conv2d):
                fan = module.weight[0].numel()
                module.weight.normal_(0, 1.3 / math.sqrt(fan))
                module.bias.normal_(0, 0.2)
            elif isinstance(module, nn.BatchNorm2d):
                module.weight.uniform_(0.6, 1.4)
                module.bias.normal_(0, 0.2)
                module.running_mean.normal_(0, 0.3)
                module.running_var.uniform_(0.5, 1.5)
    return model.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    return tuple(rng.uniform(0, 255, (4, 3, 32, 40)).astype("float32") for _ in range(2))
