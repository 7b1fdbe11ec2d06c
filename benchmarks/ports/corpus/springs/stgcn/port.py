"""STGCN in PyTorch."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
N, T, KT, KS = 6, 10, 3, 3
BLOCKS = [(1, 4, 8), (8, 4, 8)]


class Align(nn.Module):
    def __init__(self, c_in, c_out):
        super().__init__()
        self.extra = c_out - c_in
        self.conv = nn.Conv2d(c_in, c_out, 1, bias=False) if c_in > c_out else None

    def forward(self, x):
        if self.conv is not None:
            return self.conv(x)
        return F.pad(x, (0, 0, 0, 0, 0, self.extra)) if self.extra else x


class TemporalConv(nn.Module):
    """(B, C, T, N) -> (B, C', T - kt + 1, N)"""

    def __init__(self, kt, c_in, c_out, act="relu"):
        super().__init__()
        self.kt, self.act = kt, act
        if act != "sigmoid":
            self.align = Align(c_in, c_out)
        self.conv = nn.Conv2d(c_in, c_out * (2 if act == "glu" else 1), (kt, 1))

    def forward(self, x):
        y = self.conv(x)
        if self.act == "sigmoid":
            return torch.sigmoid(y)
        res = self.align(x)[:, :, self.kt - 1:]
        if self.act == "glu":
            p, q = y.chunk(2, dim=1)
            return (p + res) * torch.sigmoid(q)
        return F.relu(y + res)


class ChebConv(nn.Module):
    def __init__(self, c_in, c_out):
        super().__init__()
        self.align = Align(c_in, c_out)
        self.theta = nn.Parameter(torch.randn(c_in, KS, c_out) * (KS * c_in) ** -0.5)
        self.bias = nn.Parameter(torch.randn(c_out) * 0.3)

    def forward(self, x, cheb):
        g = torch.einsum("bctm,kmn->bcktn", x, cheb)
        y = torch.einsum("bcktn,cko->botn", g, self.theta) + self.bias.view(1, -1, 1, 1)
        return F.relu(y + self.align(x))


class NodeNorm(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(N, c) + 0.5)
        self.bias = nn.Parameter(torch.randn(N, c) * 0.3)

    def forward(self, x):
        x = x.permute(0, 2, 3, 1)
        x = F.layer_norm(x, x.shape[-2:], eps=1e-6) * self.weight + self.bias
        return x.permute(0, 3, 1, 2)


class STBlock(nn.Module):
    def __init__(self, c0, c1, c2):
        super().__init__()
        self.t1 = TemporalConv(KT, c0, c1, "glu")
        self.s = ChebConv(c1, c1)
        self.t2 = TemporalConv(KT, c1, c2)
        self.norm = NodeNorm(c2)

    def forward(self, x, cheb):
        return self.norm(self.t2(self.s(self.t1(x), cheb)))


class STGCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cheb", torch.randn(KS, N, N))
        self.blocks = nn.ModuleList([STBlock(*c) for c in BLOCKS])
        c = BLOCKS[-1][-1]
        self.out1 = TemporalConv(T - 2 * (KT - 1) * len(BLOCKS), c, c, "glu")
        self.norm = NodeNorm(c)
        self.out2 = TemporalConv(1, c, c, "sigmoid")
        self.fc = nn.Conv2d(c, 1, 1, bias=False)
        self.bias = nn.Parameter(torch.randn(N) * 0.3)

    def forward(self, x):
        x = x.permute(0, 3, 1, 2)
        for blk in self.blocks:
            x = blk(x, self.cheb)
        x = self.out2(self.norm(self.out1(x)))
        x = self.fc(x) + self.bias
        return x.permute(0, 2, 3, 1)


def make():
    torch.manual_seed(3)
    return STGCN().eval()


def inputs(seed):
    return (np.random.RandomState(seed).randn(4, T, N, 1).astype("float32"),)


def load(ported, original):
    def put(t, a):
        t.data.copy_(torch.from_numpy(np.array(a)).reshape(t.shape))

    def conv(m, w, b=None):
        put(m.weight, w.numpy().transpose(3, 2, 0, 1))
        if b is not None:
            put(m.bias, b.numpy())

    def temporal(m, o):
        conv(m.conv, o.wt, o.bt)
        if o.w_input is not None:
            conv(m.align.conv, o.w_input)

    def norm(m, o):
        put(m.weight, o.gamma.numpy())
        put(m.bias, o.beta.numpy())

    put(ported.cheb, original.kernel.numpy().reshape(N, KS, N).transpose(1, 0, 2))
    for m, o in zip(ported.blocks, original.blocks):
        temporal(m.t1, o.t1)
        put(m.s.theta, o.s.ws.numpy())
        put(m.s.bias, o.s.bs.numpy())
        temporal(m.t2, o.t2)
        norm(m.norm, o.ln)
    temporal(ported.out1, original.out1)
    norm(ported.norm, original.ln)
    temporal(ported.out2, original.out2)
    conv(ported.fc, original.w)
    put(ported.bias, original.b.numpy())
