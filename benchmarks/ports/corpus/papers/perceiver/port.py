"""Perceiver, second version: attention by einsum, no nn.MultiheadAttention."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"


def position_features(n, bands=3, top=8.0):
    """sin/cos features of the index, scaled to [-1, 1]"""
    p = 2.0 * torch.arange(n, dtype=torch.float32) / (n - 1) - 1.0
    freqs = torch.tensor(np.linspace(1.0, top / 2, bands), dtype=torch.float32)
    phase = torch.outer(p, freqs) * np.pi
    return torch.hstack([torch.sin(phase), torch.cos(phase), p[:, None]])


def split(x, heads):
    return x.unflatten(-1, (heads, -1))


class Attention(nn.Module):
    def __init__(self, dim, context_dim, heads=4):
        super().__init__()
        self.heads = heads
        self.scale = (dim // heads) ** -0.5
        self.q = nn.Linear(dim, dim)
        self.k = nn.Linear(context_dim, dim)
        self.v = nn.Linear(context_dim, dim)
        self.o = nn.Linear(dim, dim)

    def forward(self, x, context, keep=None):
        q = split(self.q(x), self.heads)
        k = split(self.k(context), self.heads)
        v = split(self.v(context), self.heads)
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * self.scale
        if keep is not None:
            scores = scores.masked_fill(~keep[:, None, None, :], float("-inf"))
        w = scores.softmax(-1)
        out = torch.einsum("bhqk,bkhd->bqhd", w, v)
        return self.o(out.flatten(-2))


class MLP(nn.Module):
    def __init__(self, dim, mult=2):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 2 * mult * dim)
        self.down = nn.Linear(mult * dim, dim)

    def forward(self, x):
        h = self.up(self.norm(x))
        half = h.shape[-1] // 2
        return self.down(h[..., :half] * F.gelu(h[..., half:]))


class Stage(nn.Module):
    def __init__(self, dim, context_dim):
        super().__init__()
        self.n_lat = nn.LayerNorm(dim)
        self.n_ctx = nn.LayerNorm(context_dim)
        self.n_self = nn.LayerNorm(dim)
        self.read = Attention(dim, context_dim)
        self.mix = Attention(dim, dim)
        self.mlp1 = MLP(dim)
        self.mlp2 = MLP(dim)

    def forward(self, z, context, keep):
        z = z + self.read(self.n_lat(z), self.n_ctx(context), keep)
        z = z + self.mlp1(z)
        s = self.n_self(z)
        z = z + self.mix(s, s)
        return z + self.mlp2(z)


class PerceiverAgent(nn.Module):
    def __init__(self, features=5, dim=24, latents=6, depth=3, actions=7):
        super().__init__()
        ctx = features + 7
        self.depth = depth
        self.z0 = nn.Parameter(torch.zeros(latents, dim))
        self.stages = nn.ModuleList([Stage(dim, ctx), Stage(dim, ctx)])
        self.norm = nn.LayerNorm(dim)
        self.heads = nn.Linear(dim, actions + 1)

    def forward(self, tokens, valid):
        pos = position_features(tokens.shape[1])
        context = torch.cat((tokens, pos[None].expand(len(tokens), -1, -1)), -1)
        z = self.z0.expand(len(tokens), -1, -1)
        for i in range(self.depth):
            stage = self.stages[min(i, 1)]
            z = stage(z, context, valid)
        out = self.heads(self.norm(z.mean(1)))
        return out[:, :-1], out[:, -1]


def make():
    torch.manual_seed(2)
    return PerceiverAgent().eval()


def _attention(dst, src):
    dim = src.embed_dim
    if src.in_proj_weight is not None:
        wq, wk, wv = src.in_proj_weight.data.chunk(3)
    else:
        wq, wk, wv = src.q_proj_weight.data, src.k_proj_weight.data, src.v_proj_weight.data
    bq, bk, bv = src.in_proj_bias.data.split(dim)
    for layer, w, b in ((dst.q, wq, bq), (dst.k, wk, bk), (dst.v, wv, bv)):
        layer.weight.data.copy_(w)
        layer.bias.data.copy_(b)
    dst.o.load_state_dict(src.out_proj.state_dict())


def _mlp(dst, src):
    dst.norm.load_state_dict(src.norm.state_dict())
    dst.up.load_state_dict(src.net[0].state_dict())
    dst.down.load_state_dict(src.net[2].state_dict())


def load(model, reference):
    model.z0.data.copy_(reference.latents.data)
    for dst, src in zip(model.stages, (reference.blocks[0], reference.blocks[1])):
        dst.n_lat.load_state_dict(src.cross.norm.state_dict())
        dst.n_ctx.load_state_dict(src.cross.norm_context.state_dict())
        dst.n_self.load_state_dict(src.latent.norm.state_dict())
        _attention(dst.read, src.cross.attn)
        _attention(dst.mix, src.latent.attn)
        _mlp(dst.mlp1, src.cross_ff)
        _mlp(dst.mlp2, src.latent_ff)
    model.norm.load_state_dict(reference.norm.state_dict())
    model.heads.weight.data.copy_(torch.cat([reference.policy.weight.data, reference.value.weight.data]))
    model.heads.bias.data.copy_(torch.cat([reference.policy.bias.data, reference.value.bias.data]))
