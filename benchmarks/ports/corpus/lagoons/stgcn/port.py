"""STGCN in PyTorch: (batch, channels, time, nodes)."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
LAYOUT = "NCHW"
N_NODES, T, KS, KT = 6, 12, 3, 3


def adjacency():
    r = np.random.RandomState(77)
    d = np.abs(r.randn(N_NODES, N_NODES))
    w = np.exp(-(d + d.T) / 2)
    np.fill_diagonal(w, 0)
    return w


def chebyshev(w, order):
    deg = w.sum(1)
    lap = np.eye(len(w)) - w / np.sqrt(deg[:, None] * deg[None])
    lap = 2 * lap / np.linalg.eigvalsh(lap)[-1] - np.eye(len(w))
    polys = [np.eye(len(w)), lap]
    while len(polys) < order:
        polys.append(2 * lap @ polys[-1] - polys[-2])
    return torch.tensor(np.stack(polys), dtype=torch.float32)


class GLUConv(nn.Module):
    def __init__(self, kt, c_in, c_out):
        super().__init__()
        self.kt, self.c_in, self.c_out = kt, c_in, c_out
        self.conv = nn.Conv2d(c_in, 2 * c_out, (kt, 1))

    def forward(self, x):
        res = x[:, :self.c_out, self.kt - 1:]
        if self.c_in < self.c_out:
            res = F.pad(res, (0, 0, 0, 0, 0, self.c_out - self.c_in))
        p, q = self.conv(x).chunk(2, dim=1)
        return (p + res) * torch.sigmoid(q)


class ChebConv(nn.Module):
    def __init__(self, c, polys):
        super().__init__()
        self.register_buffer("polys", polys)
        self.weight = nn.Parameter(torch.zeros(c, KS, c))
        self.bias = nn.Parameter(torch.zeros(c))

    def forward(self, x):
        hops = torch.einsum("bctn,knm->bctkm", x, self.polys)
        y = torch.einsum("bctkm,cko->botm", hops, self.weight)
        return F.relu(y + self.bias.view(1, -1, 1, 1) + x)


class NodeNorm(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(c, 1, N_NODES))
        self.bias = nn.Parameter(torch.zeros(c, 1, N_NODES))

    def forward(self, x):
        var, mean = torch.var_mean(x, dim=(1, 3), correction=0, keepdim=True)
        return (x - mean) * torch.rsqrt(var + 1e-6) * self.weight + self.bias


class STBlock(nn.Sequential):
    def __init__(self, ci, cs, co, polys):
        super().__init__(GLUConv(KT, ci, cs), ChebConv(cs, polys), GLUConv(KT, cs, co), NodeNorm(co))


class STGCN(nn.Module):
    def __init__(self):
        super().__init__()
        polys = chebyshev(adjacency(), KS)
        self.blocks = nn.ModuleList([STBlock(2, 4, 8, polys), STBlock(8, 4, 8, polys)])
        self.head_t1 = GLUConv(T - 8, 8, 8)
        self.head_norm = NodeNorm(8)
        self.head_t2 = nn.Conv2d(8, 8, 1)
        self.fc = nn.Conv2d(8, 1, 1, bias=False)
        self.fc_bias = nn.Parameter(torch.zeros(N_NODES))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        x = self.head_norm(self.head_t1(x))
        x = torch.sigmoid(self.head_t2(x))
        return self.fc(x)[:, 0, 0] + self.fc_bias


def make():
    m = STGCN()
    g = torch.Generator().manual_seed(9)
    with torch.no_grad():
        for p in m.parameters():
            p.copy_(torch.randn(p.shape, generator=g) * 0.4)
    return m.eval()


def load(ported, original):
    v = {k: t.numpy() for k, t in original.vars.items()}

    def put(p, a):
        assert tuple(p.shape) == a.shape, (p.shape, a.shape)
        p.data.copy_(torch.from_numpy(np.ascontiguousarray(a)))

    def conv(c, n):
        put(c.weight, v[n + "/w"].transpose(3, 2, 0, 1))
        put(c.bias, v[n + "/b"])

    def norm(m, n):
        put(m.weight, v[n + "/g"][0].transpose(2, 0, 1))
        put(m.bias, v[n + "/b"][0].transpose(2, 0, 1))

    for i, b in enumerate(ported.blocks):
        conv(b[0].conv, f"b{i}/t1")
        put(b[1].weight, v[f"b{i}/s/w"].reshape(-1, KS, v[f"b{i}/s/w"].shape[-1]))
        put(b[1].bias, v[f"b{i}/s/b"])
        conv(b[2].conv, f"b{i}/t2")
        norm(b[3], f"b{i}/ln")
    conv(ported.head_t1.conv, "out/t1")
    norm(ported.head_norm, "out/ln")
    conv(ported.head_t2, "out/t2")
    put(ported.fc.weight, v["out/fc/w"].transpose(3, 2, 0, 1))
    put(ported.fc_bias, v["out/fc/b"][0, :, 0])


def inputs(seed):
    x = np.random.RandomState(seed).randn(4, T, N_NODES, 2).astype("float32")
    return (np.ascontiguousarray(x.transpose(0, 3, 1, 2)),)
