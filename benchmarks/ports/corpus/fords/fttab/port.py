"""FT-Transformer in PyTorch."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
NUM, CARDS, D, HEADS, FF, DEPTH, OUT = 5, (4, 6), 16, 4, 12, 2, 3


class FeatureTokenizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(NUM, D))
        self.bias = nn.Parameter(torch.zeros(NUM + len(CARDS), D))
        self.categories = nn.Embedding(sum(CARDS), D)
        self.cls = nn.Parameter(torch.zeros(D))
        self.register_buffer("offsets", torch.tensor([0] + list(CARDS[:-1])).cumsum(0), persistent=False)

    def forward(self, x_num, x_cat):
        num = self.weight * x_num.unsqueeze(-1)
        cat = self.categories(x_cat + self.offsets)
        tokens = torch.cat([num, cat], dim=1) + self.bias
        return torch.cat([tokens, self.cls.expand(len(x_num), 1, D)], dim=1)


class Block(nn.Module):
    def __init__(self, index):
        super().__init__()
        self.attn_norm = nn.LayerNorm(D, eps=1e-3) if index > 0 else None
        self.attn = nn.MultiheadAttention(D, HEADS, batch_first=True)
        self.ffn_norm = nn.LayerNorm(D, eps=1e-3)
        self.lin1 = nn.Linear(D, 2 * FF)
        self.lin2 = nn.Linear(FF, D)

    def forward(self, x, last=False):
        kv = x if self.attn_norm is None else self.attn_norm(x)
        q = kv[:, -1:] if last else kv
        x = x[:, -1:] if last else x
        x = x + self.attn(q, kv, kv, need_weights=False)[0]
        value, gate = self.lin1(self.ffn_norm(x)).chunk(2, dim=-1)
        return x + self.lin2(value * F.relu(gate))


class FTTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokenizer = FeatureTokenizer()
        self.blocks = nn.ModuleList(Block(i) for i in range(DEPTH))
        self.head = nn.Sequential(nn.LayerNorm(D, eps=1e-3), nn.ReLU(), nn.Linear(D, OUT))

    def forward(self, x_num, x_cat):
        x = self.tokenizer(x_num, x_cat)
        for i, block in enumerate(self.blocks):
            x = block(x, last=i == DEPTH - 1)
        return self.head(x[:, -1])


def make():
    g = torch.Generator().manual_seed(4)
    m = FTTransformer()
    with torch.no_grad():
        for n, p in m.named_parameters():
            base = 1.0 if n.endswith("norm.weight") or n == "head.0.weight" else 0.0
            p.copy_(base + torch.randn(p.shape, generator=g) * 0.25)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    cats = np.stack([r.randint(0, c, 6) for c in CARDS], 1).astype("int64")
    return r.randn(6, NUM).astype("float32"), cats


def load(ported, original):
    t = lambda v: torch.tensor(np.asarray(v))
    def linear(dst, src):
        dst.weight.copy_(t(src.kernel).T)
        dst.bias.copy_(t(src.bias))
    def norm(dst, src):
        dst.weight.copy_(t(src.gamma))
        dst.bias.copy_(t(src.beta))
    with torch.no_grad():
        a, b = ported.tokenizer, original.tokenizer
        a.weight.copy_(t(b.weight))
        a.bias.copy_(t(b.bias))
        a.categories.weight.copy_(t(b.table.embeddings))
        a.cls.copy_(t(b.cls)[0, 0])
        for p, o in zip(ported.blocks, original.blocks):
            if p.attn_norm is not None:
                norm(p.attn_norm, o.attn_norm)
            norm(p.ffn_norm, o.ffn_norm)
            denses = [o.attn._query_dense, o.attn._key_dense, o.attn._value_dense]
            p.attn.in_proj_weight.copy_(torch.cat([t(d.kernel).reshape(D, D).T for d in denses]))
            p.attn.in_proj_bias.copy_(torch.cat([t(d.bias).reshape(D) for d in denses]))
            p.attn.out_proj.weight.copy_(t(o.attn._output_dense.kernel).reshape(D, D).T)
            p.attn.out_proj.bias.copy_(t(o.attn._output_dense.bias))
            linear(p.lin1, o.lin1)
            linear(p.lin2, o.lin2)
        norm(ported.head[0], original.head_norm)
        linear(ported.head[2], original.head)
