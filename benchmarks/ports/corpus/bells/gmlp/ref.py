"""gMLP / aMLP language model (Liu et al. 2021), causal, with tiny attention."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
V, N, D, FF, DA, DEPTH = 20, 10, 12, 24, 6, 2


class TinyAttention(nn.Module):
    def __init__(self, dim, dim_out, dim_inner):
        super().__init__()
        self.scale = dim_inner ** -0.5
        self.to_qkv = nn.Linear(dim, dim_inner * 3, bias=False)
        self.to_out = nn.Linear(dim_inner, dim_out)

    def forward(self, x):
        n = x.shape[1]
        q, k, v = self.to_qkv(x).chunk(3, dim=-1)
        sim = torch.einsum("bid,bjd->bij", q, k) * self.scale
        mask = torch.ones(n, n, dtype=torch.bool).triu(1)
        sim = sim.masked_fill(mask, -1e9)
        attn = sim.softmax(dim=-1)
        return self.to_out(torch.einsum("bij,bjd->bid", attn, v))


class SpatialGatingUnit(nn.Module):
    def __init__(self, dim, n):
        super().__init__()
        self.norm = nn.LayerNorm(dim // 2)
        self.weight = nn.Parameter(torch.zeros(n, n))
        self.bias = nn.Parameter(torch.ones(n))

    def forward(self, x, gate_res):
        res, gate = x.chunk(2, dim=-1)
        gate = self.norm(gate)
        w = self.weight.tril()
        gate = torch.einsum("bnd,mn->bmd", gate, w) + self.bias[None, :, None]
        gate = gate + gate_res
        return gate * res


class GMLPBlock(nn.Module):
    def __init__(self, dim, dim_ff, n, dim_attn):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.attn = TinyAttention(dim, dim_ff // 2, dim_attn)
        self.proj_in = nn.Linear(dim, dim_ff)
        self.sgu = SpatialGatingUnit(dim_ff, n)
        self.proj_out = nn.Linear(dim_ff // 2, dim)

    def forward(self, x):
        shortcut = x
        x = self.norm(x)
        gate_res = self.attn(x)
        x = F.gelu(self.proj_in(x))
        x = self.sgu(x, gate_res)
        return self.proj_out(x) + shortcut


class GMLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(V, D)
        self.layers = nn.ModuleList([GMLPBlock(D, FF, N, DA) for _ in range(DEPTH)])
        self.norm = nn.LayerNorm(D)
        self.to_logits = nn.Linear(D, V)

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.to_logits(self.norm(x))


def make():
    m = GMLP()
    g = torch.Generator().manual_seed(11)
    with torch.no_grad():
        for name, p in m.named_parameters():
            r = torch.randn(p.shape, generator=g)
            p.copy_(1 + 0.2 * r if "norm" in name and name.endswith("weight") else 0.35 * r)
        m.embed.weight.mul_(3)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    return (r.randint(0, V, (4, N)),)
