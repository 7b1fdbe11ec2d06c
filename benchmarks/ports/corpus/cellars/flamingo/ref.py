import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"
VOCAB, MEDIA_ID, D, HEADS, DH, LAT = 17, 3, 12, 2, 5, 4


class FeedForward(nn.Module):
    def __init__(self, dim, mult=2):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc1 = nn.Linear(dim, dim * mult, bias=False)
        self.fc2 = nn.Linear(dim * mult, dim, bias=False)

    def forward(self, x):
        h = torch.relu(self.fc1(self.norm(x)))
        return self.fc2(h * h)


def split(x, h):
    *lead, n, c = x.shape
    return x.reshape(*lead, n, h, c // h).transpose(-3, -2)


def merge(x):
    x = x.transpose(-3, -2)
    return x.reshape(*x.shape[:-2], -1)


class PerceiverAttention(nn.Module):
    def __init__(self):
        super().__init__()
        inner = HEADS * DH
        self.norm_media = nn.LayerNorm(D)
        self.norm_latents = nn.LayerNorm(D)
        self.to_q = nn.Linear(D, inner, bias=False)
        self.to_k = nn.Linear(D, inner, bias=False)
        self.to_v = nn.Linear(D, inner, bias=False)
        self.to_out = nn.Linear(inner, D, bias=False)

    def forward(self, x, latents):
        x = self.norm_media(x)
        latents = self.norm_latents(latents)
        q = split(self.to_q(latents), HEADS) * DH ** -0.5
        kv = torch.cat([x, latents], dim=-2)
        k = split(self.to_k(kv), HEADS)
        v = split(self.to_v(kv), HEADS)
        sim = torch.einsum("...id,...jd->...ij", q, k)
        attn = sim.softmax(dim=-1)
        out = torch.einsum("...ij,...jd->...id", attn, v)
        return self.to_out(merge(out))


class Resampler(nn.Module):
    def __init__(self, depth=2, max_media=4):
        super().__init__()
        self.latents = nn.Parameter(torch.zeros(LAT, D))
        self.media_pos = nn.Parameter(torch.zeros(max_media, 1, D))
        self.layers = nn.ModuleList(
            [nn.ModuleList([PerceiverAttention(), FeedForward(D)]) for _ in range(depth)])
        self.norm = nn.LayerNorm(D)

    def forward(self, x):
        b, m = x.shape[:2]
        x = x + self.media_pos[:m]
        latents = self.latents.expand(b, m, LAT, D)
        for attn, ff in self.layers:
            latents = attn(x, latents) + latents
            latents = ff(latents) + latents
        return self.norm(latents)


class MaskedCrossAttention(nn.Module):
    def __init__(self):
        super().__init__()
        inner = HEADS * DH
        self.norm = nn.LayerNorm(D)
        self.to_q = nn.Linear(D, inner, bias=False)
        self.to_k = nn.Linear(D, inner, bias=False)
        self.to_v = nn.Linear(D, inner, bias=False)
        self.to_out = nn.Linear(inner, D, bias=False)

    def forward(self, x, media, locations):
        b, m, n, _ = media.shape
        text_time = locations.cumsum(dim=-1)
        media_time = torch.arange(m) + 1
        media = media.reshape(b, m * n, D)
        q = split(self.to_q(self.norm(x)), HEADS) * DH ** -0.5
        k = split(self.to_k(media), HEADS)
        v = split(self.to_v(media), HEADS)
        sim = torch.einsum("bhid,bhjd->bhij", q, k)
        same = text_time[:, None, :, None] == media_time.repeat_interleave(n)[None, None, None, :]
        sim = sim.masked_fill(~same, -torch.finfo(sim.dtype).max)
        attn = sim.softmax(dim=-1)
        without = (text_time == 0)[:, None, :, None]
        attn = attn.masked_fill(without, 0.0)
        out = torch.einsum("bhij,bhjd->bhid", attn, v)
        return self.to_out(merge(out))


class GatedCrossAttentionBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = MaskedCrossAttention()
        self.attn_gate = nn.Parameter(torch.zeros(1))
        self.ff = FeedForward(D)
        self.ff_gate = nn.Parameter(torch.zeros(1))

    def forward(self, x, media, locations):
        x = self.attn(x, media, locations) * self.attn_gate.tanh() + x
        x = self.ff(x) * self.ff_gate.tanh() + x
        return x


class DecoderLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(D)
        self.q_proj = nn.Linear(D, D)
        self.k_proj = nn.Linear(D, D)
        self.v_proj = nn.Linear(D, D)
        self.out_proj = nn.Linear(D, D)
        self.ff = FeedForward(D)

    def forward(self, x):
        n = x.shape[1]
        h = self.norm(x)
        q, k, v = (split(p(h), HEADS) for p in (self.q_proj, self.k_proj, self.v_proj))
        sim = torch.matmul(q, k.transpose(-1, -2)) / (D // HEADS) ** 0.5
        future = torch.ones(n, n, dtype=torch.bool).triu(1)
        sim = sim.masked_fill(future, float("-inf"))
        x = x + self.out_proj(merge(torch.matmul(sim.softmax(-1), v)))
        return x + self.ff(x)


class Flamingo(nn.Module):
    def __init__(self, layers=2):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, D)
        self.pos = nn.Embedding(16, D)
        self.resampler = Resampler()
        self.cross = nn.ModuleList([GatedCrossAttentionBlock() for _ in range(layers)])
        self.decoder = nn.ModuleList([DecoderLayer() for _ in range(layers)])
        self.norm = nn.LayerNorm(D)

    def forward(self, text, vision):
        locations = text == MEDIA_ID
        media = self.resampler(vision)
        x = self.embed(text) + self.pos(torch.arange(text.shape[1]))
        for c, d in zip(self.cross, self.decoder):
            x = d(c(x, media, locations))
        return self.norm(x) @ self.embed.weight.t()


def make():
    torch.manual_seed(131)
    m = Flamingo()
    g = torch.Generator().manual_seed(132)
    with torch.no_grad():
        for n, p in m.named_parameters():
            if "norm" in n and n.endswith("weight"):
                p.copy_(torch.rand(p.shape, generator=g) + 0.5)
            elif n.endswith("gate"):
                p.copy_(torch.rand(p.shape, generator=g) * 0.5 + 0.7)
            elif p.ndim == 1:
                p.copy_(torch.randn(p.shape, generator=g) * 0.3)
            elif "latents" in n or "pos" in n or "embed" in n:
                p.copy_(torch.randn(p.shape, generator=g) * 0.8)
            else:
                p.copy_(torch.randn(p.shape, generator=g) * (1.0 / p.shape[1]) ** 0.5)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    text = r.randint(4, VOCAB, (4, 9)).astype("int64")
    for b, at in enumerate(((0, 4), (2, 5), (1, 3), (3, 6))):
        for t in at:
            text[b, t] = MEDIA_ID
    return text, r.randn(4, 2, 6, D).astype("float32")
