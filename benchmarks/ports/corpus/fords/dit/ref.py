"""DiT (Peebles & Xie 2023), with a pair of times (t, r) as the flow-map variants have it."""
import math
import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"
LAYOUT = "NCHW"
C, S, P, D, HEADS, DEPTH, NCLS, FREQ = 3, 8, 2, 16, 4, 2, 10, 12


def modulate(x, shift, scale):
    return x * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)


def sincos_1d(dim, pos):
    omega = 1.0 / 10000 ** (np.arange(dim // 2) / (dim / 2.0))
    out = np.einsum("m,d->md", pos.reshape(-1), omega)
    return np.concatenate([np.sin(out), np.cos(out)], axis=1)


def sincos_2d(dim, grid):
    w, h = np.meshgrid(np.arange(grid), np.arange(grid))
    return np.concatenate([sincos_1d(dim // 2, w), sincos_1d(dim // 2, h)], axis=1)


class TimestepEmbedder(nn.Module):
    def __init__(self, hidden, freq=FREQ):
        super().__init__()
        self.freq = freq
        self.mlp = nn.Sequential(nn.Linear(freq, hidden), nn.SiLU(), nn.Linear(hidden, hidden))

    def forward(self, t):
        half = self.freq // 2
        freqs = torch.exp(-math.log(10000) * torch.arange(half, dtype=torch.float32) / half)
        args = t[..., None] * 100.0 * freqs
        emb = torch.cat([torch.cos(args), torch.sin(args)], dim=-1)
        return self.mlp(emb)


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.head_dim = heads, dim // heads
        self.scale = self.head_dim ** -0.5
        self.qkv = nn.Linear(dim, dim * 3)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        B, N, Cc = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.heads, self.head_dim).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        attn = (q * self.scale) @ k.transpose(-2, -1)
        attn = attn.softmax(dim=-1)
        return self.proj((attn @ v).transpose(1, 2).reshape(B, N, Cc))


class DiTBlock(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim, elementwise_affine=False, eps=1e-6)
        self.attn = Attention(dim, heads)
        self.norm2 = nn.LayerNorm(dim, elementwise_affine=False, eps=1e-6)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(approximate="tanh"), nn.Linear(2 * dim, dim))
        self.adaLN_modulation = nn.Sequential(nn.SiLU(), nn.Linear(dim, 6 * dim))

    def forward(self, x, c):
        s1, sc1, g1, s2, sc2, g2 = self.adaLN_modulation(c).chunk(6, dim=1)
        x = x + g1.unsqueeze(1) * self.attn(modulate(self.norm1(x), s1, sc1))
        x = x + g2.unsqueeze(1) * self.mlp(modulate(self.norm2(x), s2, sc2))
        return x


class FinalLayer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm_final = nn.LayerNorm(dim, elementwise_affine=False, eps=1e-6)
        self.linear = nn.Linear(dim, P * P * C)
        self.adaLN_modulation = nn.Sequential(nn.SiLU(), nn.Linear(dim, 2 * dim))

    def forward(self, x, c):
        shift, scale = self.adaLN_modulation(c).chunk(2, dim=1)
        return self.linear(modulate(self.norm_final(x), shift, scale))


class DiT(nn.Module):
    def __init__(self):
        super().__init__()
        self.x_embedder = nn.Conv2d(C, D, P, stride=P)
        self.t_embedder = TimestepEmbedder(D)
        self.y_embedder = nn.Embedding(NCLS, D)
        self.register_buffer("pos_embed", torch.tensor(sincos_2d(D, S // P), dtype=torch.float32)[None], persistent=False)
        self.blocks = nn.ModuleList([DiTBlock(D, HEADS) for _ in range(DEPTH)])
        self.final_layer = FinalLayer(D)

    def unpatchify(self, x):
        h = w = S // P
        x = x.reshape(x.shape[0], h, w, P, P, C)
        x = torch.einsum("nhwpqc->nchpwq", x)
        return x.reshape(x.shape[0], C, h * P, w * P)

    def forward(self, x, t, y):
        x = self.x_embedder(x).flatten(2).transpose(1, 2) + self.pos_embed
        c = self.t_embedder(t).sum(dim=1) + self.y_embedder(y).mean(dim=1)
        for block in self.blocks:
            x = block(x, c)
        return self.unpatchify(self.final_layer(x, c))


def make():
    g = torch.Generator().manual_seed(3)
    m = DiT()
    with torch.no_grad():
        for p in m.parameters():
            s = 1.0 / math.sqrt(p[0].numel()) if p.ndim > 1 else 0.2
            p.copy_(torch.randn(p.shape, generator=g) * s)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    return (r.randn(4, C, S, S).astype("float32"), r.rand(4, 2).astype("float32"),
            r.randint(0, NCLS, (4, 3)).astype("int64"))
