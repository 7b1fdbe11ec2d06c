"""GQN in PyTorch."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
LAYOUT = "NCHW"
IMG, VIEWS, VP, CR, CH, CZ, STEPS = 8, 2, 7, 8, 6, 3, 3
G = IMG // 2


def tile(v, size):
    return v[:, :, None, None].expand(-1, -1, size, size)


class Pool(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Conv2d(3, CR, 2, 2)
        self.skip = nn.Conv2d(CR + VP, CR, 3, padding=1)
        self.body = nn.Conv2d(CR + VP, CR, 3, padding=1)
        self.out = nn.Conv2d(CR, CR, 1)

    def forward(self, x, v):
        h = torch.cat([F.relu(self.enc(x)), tile(v, G)], dim=1)
        h = F.relu(self.body(h)) + F.relu(self.skip(h))
        return F.relu(self.out(h))


class Core(nn.Module):
    def __init__(self):
        super().__init__()
        self.gates = nn.Conv2d(CH + CZ + VP + CR, 4 * CH, 3, padding=1)
        self.up = nn.ConvTranspose2d(CH, CH, 2, 2, bias=False)

    def forward(self, x, h, c, u):
        f, i, g, o = self.gates(torch.cat([h, x], dim=1)).chunk(4, dim=1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        u = u + self.up(h)
        return h, c, u


class GQN(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = Pool()
        self.cores = nn.ModuleList(Core() for _ in range(STEPS))
        self.prior = nn.Conv2d(CH, 2 * CZ, 3, padding=1)
        self.observe = nn.Conv2d(CH, 3, 1)

    def forward(self, images, viewpoints, query):
        b = images.shape[0]
        r = self.pool(images.flatten(0, 1), viewpoints.flatten(0, 1))
        r = r.view(b, VIEWS, CR, G, G).sum(dim=1)
        cond = torch.cat([tile(query, G), r], dim=1)
        h, c = images.new_zeros(b, CH, G, G), images.new_zeros(b, CH, G, G)
        u = images.new_zeros(b, CH, IMG, IMG)
        kls = []
        for core in self.cores:
            mu, logvar = self.prior(h).chunk(2, dim=1)
            kls.append((mu.pow(2) + logvar.exp() - logvar - 1).mean(dim=(2, 3)))
            h, c, u = core(torch.cat([mu, cond], dim=1), h, c, u)
        return torch.sigmoid(self.observe(u)), torch.stack(kls, dim=1)


def make():
    g = torch.Generator().manual_seed(77)
    m = GQN()
    with torch.no_grad():
        for p in m.parameters():
            p.copy_(torch.randn(p.shape, generator=g) * 0.2)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    return (r.rand(4, VIEWS, 3, IMG, IMG).astype("float32"), r.randn(4, VIEWS, VP).astype("float32"),
            r.randn(4, VP).astype("float32"))


def load(ported, original):
    def conv(dst, src):
        dst.weight.copy_(torch.from_numpy(src.W.array))
        if dst.bias is not None:
            dst.bias.copy_(torch.from_numpy(src.b.array))
    with torch.no_grad():
        conv(ported.pool.enc, original.rep.conv1)
        conv(ported.pool.skip, original.rep.conv_skip)
        conv(ported.pool.body, original.rep.conv2)
        conv(ported.pool.out, original.rep.conv3)
        for a, b in zip(ported.cores, original.cores):
            conv(a.gates, b.lstm)
            conv(a.up, b.upsample_h)
        conv(ported.prior, original.prior)
        conv(ported.observe, original.obs)
