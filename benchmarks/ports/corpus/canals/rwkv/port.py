import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"


class TokenShift(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.shift = nn.ZeroPad2d((0, 0, 1, -1))
        self.mix = nn.Parameter(torch.rand(dim))

    def forward(self, x):
        return torch.lerp(self.shift(x), x, self.mix)


class Attention(nn.Module):
    """RWKV time mixing"""

    def __init__(self, dim):
        super().__init__()
        self.time_decay = nn.Parameter(torch.rand(dim) - 1)
        self.time_first = nn.Parameter(torch.rand(dim))
        self.shift_k, self.shift_v, self.shift_r = TokenShift(dim), TokenShift(dim), TokenShift(dim)
        self.key = nn.Linear(dim, dim, bias=False)
        self.value = nn.Linear(dim, dim, bias=False)
        self.receptance = nn.Linear(dim, dim, bias=False)
        self.output = nn.Linear(dim, dim, bias=False)

    def wkv(self, k, v):
        w = -torch.exp(self.time_decay)
        u = self.time_first
        aa = torch.zeros_like(k[:, 0])
        bb = torch.zeros_like(k[:, 0])
        pp = torch.full_like(k[:, 0], -1e30)
        ys = []
        for kt, vt in zip(k.unbind(1), v.unbind(1)):
            ww = u + kt
            p = torch.maximum(pp, ww)
            a, b = torch.exp(pp - p), torch.exp(ww - p)
            ys.append((a * aa + b * vt) / (a * bb + b))
            ww = pp + w
            p = torch.maximum(ww, kt)
            a, b = torch.exp(ww - p), torch.exp(kt - p)
            aa, bb, pp = a * aa + b * vt, a * bb + b, p
        return torch.stack(ys, dim=1)

    def forward(self, x):
        xk, xv, xr = self.shift_k(x), self.shift_v(x), self.shift_r(x)
        k, v = self.key(xk), self.value(xv)
        r = torch.sigmoid(self.receptance(xr))
        return self.output(r * self.wkv(k, v))


class FeedForward(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.shift_k, self.shift_r = TokenShift(dim), TokenShift(dim)
        self.key = nn.Linear(dim, hidden, bias=False)
        self.receptance = nn.Linear(dim, dim, bias=False)
        self.value = nn.Linear(hidden, dim, bias=False)

    def forward(self, x):
        xk, xr = self.shift_k(x), self.shift_r(x)
        k = F.relu(self.key(xk)) ** 2
        gate = torch.sigmoid(self.receptance(xr))
        return gate * self.value(k)


class Block(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.att, self.ffn = Attention(dim), FeedForward(dim, hidden)

    def forward(self, x):
        x = x + self.att(self.ln1(x))
        return x + self.ffn(self.ln2(x))


class RWKV(nn.Module):
    def __init__(self, vocab=50, dim=24, depth=2, hidden=64):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.ln_in = nn.LayerNorm(dim)
        self.blocks = nn.Sequential(*[Block(dim, hidden) for _ in range(depth)])
        self.ln_out = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocab, bias=False)

    def forward(self, idx):
        x = self.ln_in(self.emb(idx))
        x = self.blocks(x)
        return self.head(self.ln_out(x))


def make():
    torch.manual_seed(91)
    net = RWKV().eval()
    for n, p in net.named_parameters():
        if "ln" in n:
            p.data += 0.1 * torch.randn_like(p)
    return net


@torch.no_grad()
def load(ported, original):
    def put(p, v):
        p.copy_(torch.from_numpy(np.array(v)))

    def lin(m, l):
        put(m.weight, l.kernel.numpy().T)

    def ln(m, l):
        put(m.weight, l.gamma), put(m.bias, l.beta)

    put(ported.emb.weight, original.emb.embeddings)
    ln(ported.ln_in, original.ln0), ln(ported.ln_out, original.ln_out), lin(ported.head, original.head)
    for i, b in enumerate(ported.blocks):
        ln(b.ln1, original.ln1[i]), ln(b.ln2, original.ln2[i])
        a, f = original.att[i], original.ffn[i]
        put(b.att.time_decay, a.decay), put(b.att.time_first, a.bonus)
        for n in "kvr":
            put(getattr(b.att, "shift_" + n).mix, getattr(a, "mix_" + n))
        for n in "kr":
            put(getattr(b.ffn, "shift_" + n).mix, getattr(f, "mix_" + n))
        lin(b.att.key, a.key), lin(b.att.value, a.value)
        lin(b.att.receptance, a.receptance), lin(b.att.output, a.output_)
        lin(b.ffn.key, f.key), lin(b.ffn.receptance, f.receptance), lin(b.ffn.value, f.value)


def inputs(seed=0):
    return np.random.default_rng(seed).integers(0, 50, (4, 16))
