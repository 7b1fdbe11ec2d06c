"""SAINT again in PyTorch: fused attention, one batched embedder for all the continuous columns."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
CATS, CONTS, DIM, HEADS, DEPTH, CLASSES = (4, 3, 5), 4, 8, 2, 1, 3
TOKENS = 1 + len(CATS) + CONTS


class TableEmbedding(nn.Module):
    def __init__(self, hidden=10):
        super().__init__()
        self.cls = nn.Parameter(torch.zeros(1, 1, DIM))
        self.table = nn.Embedding(sum(CATS), DIM)
        self.register_buffer("start", torch.tensor(CATS).cumsum(0) - torch.tensor(CATS))
        self.w1 = nn.Parameter(torch.zeros(CONTS, hidden))
        self.b1 = nn.Parameter(torch.zeros(CONTS, hidden))
        self.w2 = nn.Parameter(torch.zeros(CONTS, hidden, DIM))
        self.b2 = nn.Parameter(torch.zeros(CONTS, DIM))

    def forward(self, cat, cont):
        c = self.table(cat + self.start)
        h = torch.relu(cont.unsqueeze(-1) * self.w1 + self.b1)
        x = torch.einsum("bfh,fhd->bfd", h, self.w2) + self.b2
        return torch.cat([self.cls.expand(len(cat), -1, -1), c, x], dim=1)


class Encoder(nn.Module):
    """One pre-norm transformer layer with a gated feed-forward."""

    def __init__(self, dim, mult):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, HEADS, batch_first=True)
        self.norm2 = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 2 * mult * dim)
        self.down = nn.Linear(mult * dim, dim)

    def forward(self, x):
        h = self.norm1(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        h = self.norm2(x)
        value, gate = self.up(h).chunk(2, dim=-1)
        return x + self.down(value * F.gelu(gate))


class SAINT(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = TableEmbedding()
        self.columns = nn.ModuleList([Encoder(DIM, 2) for _ in range(DEPTH)])
        self.rows = nn.ModuleList([Encoder(DIM * TOKENS, 1) for _ in range(DEPTH)])
        self.head = nn.Sequential(nn.Linear(DIM, 12), nn.ReLU(), nn.Linear(12, CLASSES))

    def forward(self, cat, cont):
        x = self.embedding(cat, cont)
        for col, row in zip(self.columns, self.rows):
            x = col(x)
            samples = x.flatten(1).unsqueeze(0)
            x = row(samples).view_as(x)
        return self.head(x[:, 0])


def make():
    model = SAINT()
    rs = np.random.RandomState(16)
    with torch.no_grad():
        for n, p in model.named_parameters():
            v = rs.randn(*p.shape) * 0.3
            p.copy_(torch.from_numpy(1 + v if n.endswith(("norm1.weight", "norm2.weight")) else v))
    return model.eval()


def inputs(seed):
    rs = np.random.RandomState(seed)
    cat = np.stack([rs.randint(0, c, 6) for c in CATS], axis=1).astype("int64")
    return cat, rs.randn(6, CONTS).astype("float32")


def load(ported, original):
    with torch.no_grad():
        e = ported.embedding
        e.cls.copy_(original.cls.view(1, 1, -1))
        e.table.weight.copy_(original.embeds.weight)
        for i, m in enumerate(original.conts):
            e.w1[i] = m.layers[0].weight[:, 0]
            e.b1[i] = m.layers[0].bias
            e.w2[i] = m.layers[2].weight.T
            e.b2[i] = m.layers[2].bias
        for i, (attn, ff, row_attn, row_ff) in enumerate(original.transformer.layers):
            for enc, a, f in ((ported.columns[i], attn, ff), (ported.rows[i], row_attn, row_ff)):
                enc.norm1.load_state_dict(a.norm.state_dict())
                enc.norm2.load_state_dict(f.norm.state_dict())
                enc.attn.in_proj_weight.copy_(a.fn.to_qkv.weight)
                enc.attn.in_proj_bias.copy_(a.fn.to_qkv.bias)
                enc.attn.out_proj.load_state_dict(a.fn.to_out.state_dict())
                enc.up.load_state_dict(f.fn.net[0].state_dict())
                enc.down.load_state_dict(f.fn.net[2].state_dict())
        ported.head.load_state_dict(original.head.state_dict())
