"""Gated PixelCNN in torch: cropped/padded convolutions in place of masks for the stacks."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"


class GateAct(nn.Module):
    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        return a.tanh() * b.sigmoid()


class CausalBlock(nn.Module):
    def __init__(self, cin, dim, n_classes, mask_type="B"):
        super().__init__()
        self.mask_type = mask_type
        rows = 1 if mask_type == "A" else 2
        cols = 1 if mask_type == "A" else 2
        self.v_conv = nn.Conv2d(cin, 2 * dim, (rows, 3))
        self.h_conv = nn.Conv2d(cin, 2 * dim, (1, cols))
        self.v2h = nn.Conv2d(2 * dim, 2 * dim, 1)
        self.h_proj = nn.Conv2d(dim, dim, 1)
        self.v_cond = nn.Embedding(n_classes, 2 * dim)
        self.h_cond = nn.Embedding(n_classes, 2 * dim)
        self.gate = GateAct()

    def vertical(self, v):
        if self.mask_type == "A":
            v = F.pad(v, (1, 1, 1, 0))[:, :, :-1]
        else:
            v = F.pad(v, (1, 1, 1, 0))
        return self.v_conv(v)

    def horizontal(self, h):
        if self.mask_type == "A":
            h = F.pad(h, (1, 0, 0, 0))[..., :-1]
        else:
            h = F.pad(h, (1, 0, 0, 0))
        return self.h_conv(h)

    def forward(self, v, h, y):
        v_pre = self.vertical(v)
        v_new = self.gate(v_pre + self.v_cond(y)[:, :, None, None])
        h_pre = self.horizontal(h) + self.v2h(v_pre)
        h_new = self.gate(h_pre + self.h_cond(y)[:, :, None, None])
        h_new = self.h_proj(h_new)
        if self.mask_type == "B":
            h_new = h_new + h
        return v_new, h_new


class GatedPixelCNN(nn.Module):
    def __init__(self, levels=8, n_classes=5, dim=10, depth=3):
        super().__init__()
        self.levels = levels
        self.blocks = nn.ModuleList()
        for i in range(depth):
            self.blocks.append(CausalBlock(1 if i == 0 else dim, dim, n_classes, "A" if i == 0 else "B"))
        self.head = nn.Sequential(nn.ReLU(), nn.Conv2d(dim, 16, 1), nn.ReLU(), nn.Conv2d(16, levels, 1))

    def forward(self, img, y):
        x = 2.0 * img.float() / (self.levels - 1) - 1.0
        v, h = x, x
        for block in self.blocks:
            v, h = block(v, h, y)
        return self.head(h)


def make(seed=77):
    net = GatedPixelCNN()
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(0.35 * torch.randn(p.shape, generator=g))
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:12, :12]
    imgs = [3.5 + 3.5 * np.sin(x * a + y * b + c) for a, b, c in rng.uniform(0.2, 1.2, (5, 3))]
    imgs = np.clip(np.round(np.array(imgs) + rng.normal(0, 0.6, (5, 12, 12))), 0, 7)
    return imgs[:, None].astype("int64"), np.array([3, 0, 4, 1, 2], "int64")


@torch.no_grad()
def load(ported, original):
    def conv(dst, src, rows=slice(None), cols=slice(None)):
        k = src.kernel.numpy()[rows, cols].transpose(3, 2, 0, 1)
        dst.weight.copy_(torch.from_numpy(k.copy()))
        dst.bias.copy_(torch.from_numpy(src.bias.numpy()))

    for block, layer in zip(ported.blocks, original.layers):
        keep = slice(0, 1 if layer.first else 2)
        conv(block.v_conv, layer.vert, rows=keep)
        conv(block.h_conv, layer.horiz, cols=keep)
        conv(block.v2h, layer.v_to_h)
        conv(block.h_proj, layer.h_out)
        block.v_cond.weight.copy_(torch.from_numpy(layer.cond_v.numpy()))
        block.h_cond.weight.copy_(torch.from_numpy(layer.cond_h.numpy()))
    conv(ported.head[1], original.out1)
    conv(ported.head[3], original.out2)
