"""T5 v1.1 in PyTorch, modules as blocks (bias table handed through the stack)."""
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"


class T5LayerNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(d)), eps

    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)


class RelativeBias(nn.Module):
    def __init__(self, heads, bidirectional, buckets=8, max_distance=20):
        super().__init__()
        self.table = nn.Embedding(buckets, heads)
        self.bidirectional, self.buckets, self.max_distance = bidirectional, buckets, max_distance

    def bucket(self, relative):
        n_buckets, base = self.buckets, 0
        if self.bidirectional:
            n_buckets = n_buckets // 2
            base = (relative > 0).long() * n_buckets
            dist = relative.abs()
        else:
            dist = (-relative).clamp(min=0)
        exact = n_buckets // 2
        log_ratio = torch.log(dist.clamp(min=1).double() / exact) / math.log(self.max_distance / exact)
        large = (exact + (log_ratio * (n_buckets - exact)).long()).clamp(max=n_buckets - 1)
        return base + torch.where(dist < exact, dist, large)

    def forward(self, tq, tk):
        relative = torch.arange(tk)[None, :] - torch.arange(tq)[:, None]
        return self.table(self.bucket(relative)).permute(2, 0, 1).unsqueeze(0)


class T5Attention(nn.Module):
    def __init__(self, d, heads, d_kv):
        super().__init__()
        self.heads = heads
        inner = heads * d_kv
        self.q, self.k, self.v = (nn.Linear(d, inner, bias=False) for _ in range(3))
        self.o = nn.Linear(inner, d, bias=False)

    def forward(self, x, kv, bias):
        split = lambda t: t.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        logits = torch.einsum("bhqd,bhkd->bhqk", split(self.q(x)), split(self.k(kv))) + bias
        mixed = F.softmax(logits, dim=-1) @ split(self.v(kv))
        return self.o(mixed.transpose(1, 2).flatten(2))


class GEGLU(nn.Module):
    def __init__(self, d, d_ff):
        super().__init__()
        self.wi_0, self.wi_1 = nn.Linear(d, d_ff, bias=False), nn.Linear(d, d_ff, bias=False)
        self.wo = nn.Linear(d_ff, d, bias=False)

    def forward(self, x):
        return self.wo(F.gelu(self.wi_0(x), approximate="tanh") * self.wi_1(x))


class Block(nn.Module):
    def __init__(self, d, heads, d_kv, d_ff, decoder):
        super().__init__()
        self.norm_self, self.self_att = T5LayerNorm(d), T5Attention(d, heads, d_kv)
        if decoder:
            self.norm_cross, self.cross = T5LayerNorm(d), T5Attention(d, heads, d_kv)
        self.decoder = decoder
        self.norm_ff, self.ff = T5LayerNorm(d), GEGLU(d, d_ff)

    def forward(self, x, bias, memory=None, memory_bias=None):
        y = self.norm_self(x)
        x = x + self.self_att(y, y, bias)
        if self.decoder:
            x = x + self.cross(self.norm_cross(x), memory, memory_bias)
        return x + self.ff(self.norm_ff(x))


class Stack(nn.Module):
    def __init__(self, d, heads, d_kv, d_ff, depth, decoder):
        super().__init__()
        self.rel = RelativeBias(heads, bidirectional=not decoder)
        self.blocks = nn.ModuleList(Block(d, heads, d_kv, d_ff, decoder) for _ in range(depth))
        self.final = T5LayerNorm(d)

    def forward(self, x, mask, **memory):
        bias = self.rel(x.size(1), x.size(1)) + mask
        for block in self.blocks:
            x = block(x, bias, **memory)
        return self.final(x)


class T5(nn.Module):
    def __init__(self, vocab=50, d=16, heads=2, d_kv=8, d_ff=28, depth=2):
        super().__init__()
        self.shared = nn.Embedding(vocab, d)
        self.encoder = Stack(d, heads, d_kv, d_ff, depth, False)
        self.decoder = Stack(d, heads, d_kv, d_ff, depth, True)
        self.lm_head = nn.Linear(d, vocab, bias=False)

    def forward(self, src, tgt):
        pad = torch.zeros(src.shape).masked_fill(src == 0, -1e9)[:, None, None, :]
        memory = self.encoder(self.shared(src), pad)
        t = tgt.size(1)
        future = torch.full((t, t), -1e9).triu(1)
        out = self.decoder(self.shared(tgt), future, memory=memory, memory_bias=pad)
        return self.lm_head(out)


def make(seed=23):
    torch.manual_seed(seed)
    net = T5()
    for n, p in net.named_parameters():
        nn.init.normal_(p, 1.0 if p.dim() == 1 else 0.0, 0.3)
    return net.eval()


def inputs(seed):
    r = np.random.default_rng(seed)
    src, tgt = r.integers(2, 50, (4, 11)), r.integers(2, 50, (4, 7))
    for i, n in enumerate((11, 8, 6, 9)):
        src[i, n - 1] = 1
        src[i, n:] = 0
    tgt[:, 0] = 0
    return src.astype("int64"), tgt.astype("int64")


@torch.no_grad()
def load(ported, original):
    t = lambda v: torch.from_numpy(v.numpy())

    def lin(dst, src):
        dst.weight.copy_(t(src.kernel).T)

    def att(dst, src):
        for n in "qkvo":
            lin(getattr(dst, n), getattr(src, n))

    ported.shared.weight.copy_(t(original.shared.embeddings))
    lin(ported.lm_head, original.lm_head)
    for stack, kind, per in ((ported.encoder, "enc", 2), (ported.decoder, "dec", 3)):
        norms, atts, ffs = (getattr(original, f"{kind}_{n}") for n in ("norms", "att", "ff"))
        stack.rel.table.weight.copy_(t(atts[0].bias.embeddings))
        stack.final.weight.copy_(t(norms[-1].scale))
        for i, block in enumerate(stack.blocks):
            att(block.self_att, atts[i])
            for n in ("wi_0", "wi_1", "wo"):
                lin(getattr(block.ff, n), getattr(ffs[i], n))
            block.norm_self.weight.copy_(t(norms[per * i].scale))
            block.norm_ff.weight.copy_(t(norms[per * i + per - 1].scale))
            if per == 3:
                att(block.cross, original.dec_cross[i])
                block.norm_cross.weight.copy_(t(norms[3 * i + 1].scale))
