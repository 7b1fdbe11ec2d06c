"""KataGo-like trunk with masked global pooling, policy/value/ownership heads (NCHW)."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
LAYOUT = "NCHW"
C, CG = 12, 6


class NormMask(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.bn = nn.BatchNorm2d(c, eps=1e-4)

    def forward(self, x, mask):
        return self.bn(x) * mask


class GPool(nn.Module):
    def forward(self, x, mask, mask_sum):
        s = torch.sqrt(mask_sum) - 7.0
        mean = x.sum(dim=(2, 3)) / mask_sum
        mx = (x + (mask - 1.0) * 50.0).amax(dim=(2, 3))
        return torch.cat((mean, mean * (s / 5.0), mx), dim=1)


class ValuePool(nn.Module):
    def forward(self, x, mask, mask_sum):
        s = torch.sqrt(mask_sum) - 7.0
        mean = x.sum(dim=(2, 3)) / mask_sum
        return torch.cat((mean, mean * (s / 5.0), mean * (s * s / 10.0 - 0.5)), dim=1)


class ResBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.norm1, self.norm2 = NormMask(c), NormMask(c)
        self.conv1 = nn.Conv2d(c, c, 3, padding=1, bias=False)
        self.conv2 = nn.Conv2d(c, c, 3, padding=1, bias=False)

    def forward(self, x, mask, mask_sum):
        h = self.conv1(F.mish(self.norm1(x, mask)))
        h = self.conv2(F.mish(self.norm2(h, mask)))
        return x + h


class GPoolBlock(nn.Module):
    def __init__(self, c, cg):
        super().__init__()
        self.norm1, self.normg, self.norm2 = NormMask(c), NormMask(cg), NormMask(c)
        self.conv1 = nn.Conv2d(c, c, 3, padding=1, bias=False)
        self.convg = nn.Conv2d(c, cg, 3, padding=1, bias=False)
        self.conv2 = nn.Conv2d(c, c, 3, padding=1, bias=False)
        self.lin = nn.Linear(3 * cg, c, bias=False)
        self.pool = GPool()

    def forward(self, x, mask, mask_sum):
        h = F.mish(self.norm1(x, mask))
        r, g = self.conv1(h), self.convg(h)
        g = self.pool(F.mish(self.normg(g, mask)), mask, mask_sum)
        r = r + self.lin(g)[:, :, None, None]
        return x + self.conv2(F.mish(self.norm2(r, mask)))


class KataNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv_in = nn.Conv2d(6, C, 3, padding=1, bias=False)
        self.lin_in = nn.Linear(4, C, bias=False)
        self.blocks = nn.ModuleList([ResBlock(C), GPoolBlock(C, CG), ResBlock(C)])
        self.norm_out = NormMask(C)
        self.p_conv = nn.Conv2d(C, 8, 1, bias=False)
        self.g_conv = nn.Conv2d(C, CG, 1, bias=False)
        self.g_norm, self.p_norm = NormMask(CG), NormMask(8)
        self.g_lin = nn.Linear(3 * CG, 8, bias=False)
        self.p_out = nn.Conv2d(8, 2, 1, bias=False)
        self.pass_lin = nn.Linear(3 * CG, 2)
        self.v_conv = nn.Conv2d(C, 5, 1, bias=False)
        self.v_norm = NormMask(5)
        self.v_lin1, self.v_lin2 = nn.Linear(15, 16), nn.Linear(16, 3)
        self.own = nn.Conv2d(5, 1, 1)
        self.gpool, self.vpool = GPool(), ValuePool()

    def forward(self, planes, feats):
        mask = planes[:, 0:1]
        mask_sum = mask.sum(dim=(2, 3))
        x = (self.conv_in(planes) + self.lin_in(feats)[:, :, None, None]) * mask
        for b in self.blocks:
            x = b(x, mask, mask_sum)
        x = F.mish(self.norm_out(x, mask))
        # policy
        g = self.gpool(F.mish(self.g_norm(self.g_conv(x), mask)), mask, mask_sum)
        p = self.p_conv(x) + self.g_lin(g)[:, :, None, None]
        p = self.p_out(F.mish(self.p_norm(p, mask)))
        p = p - (1.0 - mask) * 50.0
        board = p.flatten(2)
        policy = torch.cat((board, self.pass_lin(g)[:, :, None]), dim=2)
        # value
        v = F.mish(self.v_norm(self.v_conv(x), mask))
        pooled = self.vpool(v, mask, mask_sum)
        value = self.v_lin2(F.mish(self.v_lin1(pooled)))
        own = torch.tanh(self.own(v)) * mask
        return F.softmax(policy, dim=2), value, own.squeeze(1)


def make():
    g = torch.Generator().manual_seed(11)
    m = KataNet().eval()
    with torch.no_grad():
        for n, t in list(m.named_parameters()) + list(m.named_buffers()):
            if "num_batches" in n:
                continue
            r = torch.randn(t.shape, generator=g)
            if "running_var" in n:
                t.copy_(0.6 + torch.rand(t.shape, generator=g))
            elif "bn.weight" in n:
                t.copy_(1 + 0.2 * r)
            elif t.ndim == 1:
                t.copy_(0.2 * r)
            else:
                t.copy_(r / np.sqrt(t[0].numel()))
    return m


def inputs(seed):
    r = np.random.default_rng(seed)
    x = r.normal(size=(4, 6, 7, 7)).astype("float32")
    m = np.zeros((4, 1, 7, 7), "float32")
    for i, (a, b) in enumerate([(7, 7), (5, 5), (6, 7), (7, 4)]):
        m[i, :, :a, :b] = 1
    x = x * m
    x[:, 0:1] = m
    return x, r.normal(size=(4, 4)).astype("float32")
