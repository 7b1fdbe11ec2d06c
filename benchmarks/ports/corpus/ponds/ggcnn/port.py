"""GG-CNN in PyTorch."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
LAYOUT = "NCHW"
N = 24


class SamePadConv(nn.Conv2d):
    """Conv2d with the asymmetric 'same' padding of TF."""

    def forward(self, x):
        pads = []
        for size, k, s in zip(x.shape[:1:-1], self.kernel_size[::-1], self.stride[::-1]):
            out = -(-size // s)
            total = max((out - 1) * s + k - size, 0)
            pads += [total // 2, total - total // 2]
        return super().forward(F.pad(x, pads))


class SamePadDeconv(nn.ConvTranspose2d):
    def forward(self, x):
        h, w = x.shape[-2] * self.stride[0], x.shape[-1] * self.stride[1]
        y = super().forward(x)
        cut = (self.kernel_size[0] - self.stride[0]) // 2
        return y[:, :, cut:cut + h, cut:cut + w]


class GGCNN(nn.Module):
    def __init__(self, filters=(8, 6, 4)):
        super().__init__()
        f0, f1, f2 = filters
        self.encoder = nn.Sequential(
            SamePadConv(1, f0, 9, stride=3), nn.BatchNorm2d(f0, eps=1e-3), nn.ReLU(),
            SamePadConv(f0, f1, 5, stride=2), nn.BatchNorm2d(f1, eps=1e-3), nn.ReLU(),
            SamePadConv(f1, f2, 3, stride=2), nn.ReLU())
        self.decoder = nn.Sequential(
            SamePadDeconv(f2, f2, 3, stride=2), nn.ReLU(),
            SamePadDeconv(f2, f1, 5, stride=2), nn.ReLU(),
            SamePadDeconv(f1, f0, 9, stride=3), nn.ReLU())
        self.pos_head = SamePadConv(f0, 1, 2)
        self.cos_head = SamePadConv(f0, 1, 2)
        self.sin_head = SamePadConv(f0, 1, 2)
        self.width_head = SamePadConv(f0, 1, 2)

    def forward(self, depth):
        x = self.encoder(depth)
        x = self.decoder(x)
        quality = torch.sigmoid(self.pos_head(x))
        cos, sin = self.cos_head(x), self.sin_head(x)
        r = torch.sqrt(cos * cos + sin * sin + 1e-6)
        angle = torch.atan2(sin / r, cos / r) / 2
        width = 150.0 * self.width_head(x).clamp(-1, 1)
        return quality, angle, width


def make():
    torch.manual_seed(22)
    m = GGCNN()
    for p in m.parameters():
        p.data = torch.randn_like(p) * 0.2
    for b in (m.encoder[1], m.encoder[4]):
        b.running_mean.normal_(0, 0.1)
        b.running_var.uniform_(0.5, 1.5)
    return m.eval()


def inputs(seed):
    x = np.random.RandomState(seed).randn(4, N, N, 1).astype("f") * 0.5
    return (np.ascontiguousarray(x.transpose(0, 3, 1, 2)),)


def load(ported, original):
    def put(dst, name):
        k, b = original.get_layer(name).get_weights()
        dst.weight.data = torch.tensor(k.transpose(3, 2, 0, 1).copy())
        dst.bias.data = torch.tensor(b)
    for i, n in ((0, "enc1"), (3, "enc2"), (6, "enc3")):
        put(ported.encoder[i], n)
    for i, n in ((0, "dec1"), (2, "dec2"), (4, "dec3")):
        put(ported.decoder[i], n)      # keras (h, w, out, in) -> torch (in, out, h, w)
    for i, n in ((1, "bn1"), (4, "bn2")):
        g, b, mu, var = original.get_layer(n).get_weights()
        bn = ported.encoder[i]
        bn.weight.data, bn.bias.data = torch.tensor(g), torch.tensor(b)
        bn.running_mean.copy_(torch.tensor(mu))
        bn.running_var.copy_(torch.tensor(var))
    for n in ("pos", "cos", "sin", "width"):
        put(getattr(ported, n + "_head"), n)
