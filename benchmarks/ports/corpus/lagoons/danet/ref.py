"""DANet (Fu et al. 2019) dual-attention head on a small dilated backbone, after junfu1115/DANet."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
LAYOUT = "NCHW"


class PAM_Module(nn.Module):
    def __init__(self, in_dim):
        super().__init__()
        self.query_conv = nn.Conv2d(in_dim, in_dim // 4, 1)
        self.key_conv = nn.Conv2d(in_dim, in_dim // 4, 1)
        self.value_conv = nn.Conv2d(in_dim, in_dim, 1)
        self.gamma = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        n, C, h, w = x.size()
        proj_query = self.query_conv(x).view(n, -1, w * h).permute(0, 2, 1)
        proj_key = self.key_conv(x).view(n, -1, w * h)
        energy = torch.bmm(proj_query, proj_key)
        attention = torch.softmax(energy, dim=-1)
        proj_value = self.value_conv(x).view(n, -1, w * h)
        out = torch.bmm(proj_value, attention.permute(0, 2, 1)).view(n, C, h, w)
        return self.gamma * out + x


class CAM_Module(nn.Module):
    def __init__(self):
        super().__init__()
        self.gamma = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        n, C, h, w = x.size()
        proj_query = x.view(n, C, -1)
        proj_key = x.view(n, C, -1).permute(0, 2, 1)
        energy = torch.bmm(proj_query, proj_key)
        energy_new = torch.max(energy, -1, keepdim=True)[0].expand_as(energy) - energy
        attention = torch.softmax(energy_new, dim=-1)
        out = torch.bmm(attention, x.view(n, C, -1)).view(n, C, h, w)
        return self.gamma * out + x


def conv_bn_relu(i, o, k=3, dilation=1):
    return nn.Sequential(nn.Conv2d(i, o, k, padding=dilation * (k // 2), dilation=dilation, bias=False),
                         nn.BatchNorm2d(o), nn.ReLU())


class DilatedBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.conv1 = conv_bn_relu(c, c)
        self.conv2 = nn.Conv2d(c, c, 3, padding=2, dilation=2, bias=False)
        self.bn2 = nn.BatchNorm2d(c)

    def forward(self, x):
        return F.relu(self.bn2(self.conv2(self.conv1(x))) + x)


class DANetHead(nn.Module):
    def __init__(self, c_in, c, n_cls):
        super().__init__()
        self.conv5a = conv_bn_relu(c_in, c)
        self.conv5c = conv_bn_relu(c_in, c)
        self.sa = PAM_Module(c)
        self.sc = CAM_Module()
        self.conv51 = conv_bn_relu(c, c)
        self.conv52 = conv_bn_relu(c, c)
        self.conv6 = nn.Conv2d(c, n_cls, 1)
        self.conv7 = nn.Conv2d(c, n_cls, 1)
        self.conv8 = nn.Conv2d(c, n_cls, 1)

    def forward(self, x):
        sa_conv = self.conv51(self.sa(self.conv5a(x)))
        sc_conv = self.conv52(self.sc(self.conv5c(x)))
        return self.conv8(sa_conv + sc_conv), self.conv6(sa_conv), self.conv7(sc_conv)


class DANet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = conv_bn_relu(3, 12)
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.block = DilatedBlock(12)
        self.head = DANetHead(12, 8, 4)

    def forward(self, x):
        size = x.size()[2:]
        feat = self.block(self.pool(self.stem(x)))
        return tuple(F.interpolate(o, size, mode="bilinear", align_corners=True) for o in self.head(feat))


def make():
    m = DANet()
    g = torch.Generator().manual_seed(14)
    with torch.no_grad():
        for n, p in list(m.named_parameters()) + list(m.named_buffers()):
            if not p.is_floating_point():
                continue
            r = torch.randn(p.shape, generator=g)
            if "running_var" in n:
                p.copy_(0.6 + r.abs())
            elif "gamma" in n:
                p.copy_(0.8 + 0.1 * r)
            elif p.dim() == 1:
                p.copy_((1.0 if n.endswith("weight") else 0.0) + 0.25 * r)
            else:
                p.copy_(r / p[0].numel() ** 0.5)
    return m.eval()


def inputs(seed):
    return (np.random.RandomState(seed).randn(4, 3, 10, 10).astype("float32"),)
