"""SPADE (Park et al. 2019): spatially-adaptive normalisation generator."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
LAYOUT = "NCHW"


class SPADE(nn.Module):
    def __init__(self, norm_nc, label_nc, hidden=8):
        super().__init__()
        self.param_free_norm = nn.BatchNorm2d(norm_nc, affine=False)
        self.mlp_shared = nn.Sequential(nn.Conv2d(label_nc, hidden, 3, padding=1), nn.ReLU())
        self.mlp_gamma = nn.Conv2d(hidden, norm_nc, 3, padding=1)
        self.mlp_beta = nn.Conv2d(hidden, norm_nc, 3, padding=1)

    def forward(self, x, segmap):
        normalized = self.param_free_norm(x)
        segmap = F.interpolate(segmap, size=x.size()[2:], mode="nearest")
        actv = self.mlp_shared(segmap)
        gamma = self.mlp_gamma(actv)
        beta = self.mlp_beta(actv)
        return normalized * (1 + gamma) + beta


class SPADEResnetBlock(nn.Module):
    def __init__(self, fin, fout, label_nc):
        super().__init__()
        self.learned_shortcut = fin != fout
        fmiddle = min(fin, fout)
        self.conv_0 = nn.Conv2d(fin, fmiddle, 3, padding=1)
        self.conv_1 = nn.Conv2d(fmiddle, fout, 3, padding=1)
        self.norm_0 = SPADE(fin, label_nc)
        self.norm_1 = SPADE(fmiddle, label_nc)
        if self.learned_shortcut:
            self.conv_s = nn.Conv2d(fin, fout, 1, bias=False)
            self.norm_s = SPADE(fin, label_nc)

    def forward(self, x, seg):
        x_s = self.shortcut(x, seg)
        dx = self.conv_0(self.actvn(self.norm_0(x, seg)))
        dx = self.conv_1(self.actvn(self.norm_1(dx, seg)))
        return x_s + dx

    def shortcut(self, x, seg):
        if self.learned_shortcut:
            return self.conv_s(self.norm_s(x, seg))
        return x

    def actvn(self, x):
        return F.leaky_relu(x, 2e-1)


class Generator(nn.Module):
    def __init__(self, z_dim=12, label_nc=5, nf=8):
        super().__init__()
        self.nf = nf
        self.fc = nn.Linear(z_dim, nf * 4 * 4)
        self.head = SPADEResnetBlock(nf, nf, label_nc)
        self.up_0 = SPADEResnetBlock(nf, 6, label_nc)
        self.conv_img = nn.Conv2d(6, 3, 3, padding=1)
        self.up = nn.Upsample(scale_factor=2)

    def forward(self, z, seg):
        x = self.fc(z).view(-1, self.nf, 4, 4)
        x = self.head(x, seg)
        x = self.up(x)
        x = self.up_0(x, seg)
        x = self.up(x)
        x = self.conv_img(F.leaky_relu(x, 2e-1))
        return torch.tanh(x)


def make():
    net = Generator()
    g = torch.Generator().manual_seed(11)
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(torch.randn(p.shape, generator=g) * (0.15 if p.dim() > 1 else 0.2))
        for m in net.modules():
            if isinstance(m, nn.BatchNorm2d):
                m.running_mean.copy_(torch.randn(m.running_mean.shape, generator=g) * 0.2)
                m.running_var.copy_(torch.rand(m.running_var.shape, generator=g) * 0.2 + 0.03)
    net.conv_img.weight.data.mul_(0.2)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(4, 12)).astype("float32")
    labels = rng.integers(0, 5, size=(4, 16, 16))
    seg = np.eye(5, dtype="float32")[labels].transpose(0, 3, 1, 2)
    return z, np.ascontiguousarray(seg)
