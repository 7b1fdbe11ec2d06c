"""SNGAN projection discriminator in PyTorch."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"


class SN:
    """Mixin: the weight divided by its largest singular value (one power step)."""

    def init_u(self):
        self.register_buffer("u", torch.randn(self.weight.shape[0]))

    def w_bar(self):
        w = self.weight.flatten(1)
        with torch.no_grad():
            v = F.normalize(w.t() @ self.u, dim=0, eps=1e-12)
            u = F.normalize(w @ v, dim=0, eps=1e-12)
        return self.weight / torch.dot(u, w @ v)


class SNConv2d(nn.Conv2d, SN):
    def __init__(self, *a, **k):
        super().__init__(*a, **k)
        self.init_u()

    def forward(self, x):
        return F.conv2d(x, self.w_bar(), self.bias, self.stride, self.padding)


class SNLinear(nn.Linear, SN):
    def __init__(self, *a):
        super().__init__(*a)
        self.init_u()

    def forward(self, x):
        return F.linear(x, self.w_bar(), self.bias)


class SNEmbedding(nn.Embedding, SN):
    def __init__(self, *a):
        super().__init__(*a)
        self.init_u()

    def forward(self, y):
        return F.embedding(y, self.w_bar())


class FirstBlock(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.c1 = SNConv2d(cin, cout, 3, padding=1)
        self.c2 = SNConv2d(cout, cout, 3, padding=1)
        self.c_sc = SNConv2d(cin, cout, 1)

    def forward(self, x):
        h = self.c2(F.relu(self.c1(x)))
        return F.avg_pool2d(h, 2) + self.c_sc(F.avg_pool2d(x, 2))


class Block(nn.Module):
    def __init__(self, cin, cout, down=False):
        super().__init__()
        self.c1 = SNConv2d(cin, cout, 3, padding=1)
        self.c2 = SNConv2d(cout, cout, 3, padding=1)
        self.c_sc = SNConv2d(cin, cout, 1) if down or cin != cout else nn.Identity()
        self.pool = nn.AvgPool2d(2) if down else nn.Identity()

    def forward(self, x):
        h = self.c1(F.relu(x))
        h = self.c2(F.relu(h))
        return self.pool(h) + self.pool(self.c_sc(x))


class Discriminator(nn.Module):
    def __init__(self, ch=8, n_classes=6):
        super().__init__()
        self.block1 = FirstBlock(3, ch)
        self.block2 = Block(ch, ch * 2, down=True)
        self.block3 = Block(ch * 2, ch * 2)
        self.l_y = SNEmbedding(n_classes, ch * 2)
        self.l6 = SNLinear(ch * 2, 4)

    def forward(self, x, y):
        h = self.block3(self.block2(self.block1(x)))
        h = F.relu(h).sum((2, 3))
        w_y = self.l_y(y).sum(1)
        return self.l6(h) + (w_y * h).sum(1, keepdim=True)


def make():
    torch.manual_seed(2)
    m = Discriminator().eval()
    with torch.no_grad():
        for p in m.parameters():
            p.normal_(0, 0.3 if p.dim() > 1 else 0.2)
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    return r.randn(4, 3, 16, 16).astype("f"), r.randint(0, 6, (4, 2)).astype("int64")


def load(ported, original):
    src = dict(original.namedlinks(skipself=True))
    for name, m in ported.named_modules():
        if hasattr(m, "u"):
            l = src["/" + name.replace(".", "/")]
            m.weight.data.copy_(torch.tensor(l.W.array))
            m.u.copy_(torch.tensor(l.u[0]))
            if getattr(m, "bias", None) is not None:
                m.bias.data.copy_(torch.tensor(l.b.array))
