"""SAINT (Somepalli et al., 2021): self and intersample attention for tables. PyTorch, hand-written attention."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
CATS, CONTS, DIM, HEADS, DEPTH, CLASSES = (4, 3, 5), 4, 8, 2, 1, 3
TOKENS = 1 + len(CATS) + CONTS


class ContinuousMLP(nn.Module):
    def __init__(self, hidden, dim):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(1, hidden), nn.ReLU(), nn.Linear(hidden, dim))

    def forward(self, x):
        return self.layers(x.view(x.size(0), 1))


class GEGLU(nn.Module):
    def forward(self, x):
        x, gates = x.chunk(2, dim=-1)
        return x * F.gelu(gates)


class FeedForward(nn.Module):
    def __init__(self, dim, mult=2):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, dim * mult * 2), GEGLU(), nn.Linear(dim * mult, dim))

    def forward(self, x):
        return self.net(x)


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.dim_head = heads, dim // heads
        self.scale = self.dim_head ** -0.5
        self.to_qkv = nn.Linear(dim, dim * 3)
        self.to_out = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.to_qkv(x).chunk(3, dim=-1)
        q, k, v = (t.reshape(b, n, self.heads, self.dim_head).transpose(1, 2) for t in (q, k, v))
        sim = torch.einsum("bhid,bhjd->bhij", q, k) * self.scale
        attn = sim.softmax(dim=-1)
        out = torch.einsum("bhij,bhjd->bhid", attn, v)
        out = out.transpose(1, 2).reshape(b, n, d)
        return self.to_out(out)


class PreNormResidual(nn.Module):
    def __init__(self, dim, fn):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fn = fn

    def forward(self, x):
        return x + self.fn(self.norm(x))


class RowColTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        wide = DIM * TOKENS
        self.layers = nn.ModuleList([nn.ModuleList([
            PreNormResidual(DIM, Attention(DIM, HEADS)),
            PreNormResidual(DIM, FeedForward(DIM)),
            PreNormResidual(wide, Attention(wide, HEADS)),
            PreNormResidual(wide, FeedForward(wide, 1)),
        ]) for _ in range(DEPTH)])

    def forward(self, x):
        b, n, d = x.shape
        for attn, ff, row_attn, row_ff in self.layers:
            x = ff(attn(x))
            x = x.reshape(1, b, n * d)
            x = row_ff(row_attn(x))
            x = x.reshape(b, n, d)
        return x


class SAINT(nn.Module):
    def __init__(self):
        super().__init__()
        self.embeds = nn.Embedding(sum(CATS), DIM)
        self.register_buffer("offsets", torch.tensor([0] + list(np.cumsum(CATS)[:-1])))
        self.cls = nn.Parameter(torch.zeros(DIM))
        self.conts = nn.ModuleList([ContinuousMLP(10, DIM) for _ in range(CONTS)])
        self.transformer = RowColTransformer()
        self.head = nn.Sequential(nn.Linear(DIM, 12), nn.ReLU(), nn.Linear(12, CLASSES))

    def forward(self, x_cat, x_cont):
        tokens = [self.cls.expand(x_cat.shape[0], 1, DIM)]
        tokens.append(self.embeds(x_cat + self.offsets))
        for i, mlp in enumerate(self.conts):
            tokens.append(mlp(x_cont[:, i]).unsqueeze(1))
        x = self.transformer(torch.cat(tokens, dim=1))
        return self.head(x[:, 0])


def make():
    model = SAINT()
    rs = np.random.RandomState(15)
    with torch.no_grad():
        for n, p in model.named_parameters():
            fan = p.shape[1] if p.dim() > 1 and "embeds" not in n else 4
            v = rs.randn(*p.shape) * 1.1 / fan ** 0.5
            p.copy_(torch.from_numpy(1 + 0.5 * v if n.endswith("norm.weight") else v))
    return model.eval()


def inputs(seed):
    rs = np.random.RandomState(seed)
    cat = np.stack([rs.randint(0, c, 6) for c in CATS], axis=1).astype("int64")
    return cat, rs.randn(6, CONTS).astype("float32")
