"""UPDeT: transformer agent over entities with a recurrent hidden token, policy decoupling per enemy."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
TOK, EMB, HEADS, DEPTH, BASIC, ENEMIES, ALLIES, T = 5, 8, 2, 2, 4, 3, 2, 2


class SelfAttention(nn.Module):
    def __init__(self, emb, heads):
        super().__init__()
        self.emb, self.heads = emb, heads
        self.tokeys = nn.Linear(emb, emb * heads, bias=False)
        self.toqueries = nn.Linear(emb, emb * heads, bias=False)
        self.tovalues = nn.Linear(emb, emb * heads, bias=False)
        self.unifyheads = nn.Linear(heads * emb, emb)

    def forward(self, x, mask):
        b, t, e = x.size()
        h = self.heads
        keys = self.tokeys(x).view(b, t, h, e)
        queries = self.toqueries(x).view(b, t, h, e)
        values = self.tovalues(x).view(b, t, h, e)
        keys = keys.transpose(1, 2).contiguous().view(b * h, t, e)
        queries = queries.transpose(1, 2).contiguous().view(b * h, t, e)
        values = values.transpose(1, 2).contiguous().view(b * h, t, e)
        queries = queries / (e ** 0.25)
        keys = keys / (e ** 0.25)
        dot = torch.bmm(queries, keys.transpose(1, 2))
        m = mask[:, None, None, :].expand(b, h, t, t).reshape(b * h, t, t)
        dot = dot.masked_fill(m == 0, -1e9)
        dot = F.softmax(dot, dim=2)
        out = torch.bmm(dot, values).view(b, h, t, e)
        out = out.transpose(1, 2).contiguous().view(b, t, h * e)
        return self.unifyheads(out)


class Block(nn.Module):
    def __init__(self, emb, heads):
        super().__init__()
        self.attention = SelfAttention(emb, heads)
        self.norm1, self.norm2 = nn.LayerNorm(emb), nn.LayerNorm(emb)
        self.ff = nn.Sequential(nn.Linear(emb, 4 * emb), nn.ReLU(), nn.Linear(4 * emb, emb))

    def forward(self, x, mask):
        x = self.norm1(self.attention(x, mask) + x)
        return self.norm2(self.ff(x) + x)


class UPDeT(nn.Module):
    def __init__(self):
        super().__init__()
        self.token_embedding = nn.Linear(TOK, EMB)
        self.blocks = nn.ModuleList([Block(EMB, HEADS) for _ in range(DEPTH)])
        self.toprobs = nn.Linear(EMB, EMB)
        self.q_basic = nn.Linear(EMB, BASIC)

    def step(self, ent, alive, hidden):
        b = ent.size(0)
        tokens = torch.cat((self.token_embedding(ent), hidden), dim=1)
        mask = torch.cat((alive, torch.ones(b, 1)), dim=1)
        for blk in self.blocks:
            tokens = blk(tokens, mask)
        out = self.toprobs(tokens)
        h = out[:, -1:, :]
        q_basic = self.q_basic(out[:, 0])
        qs = [q_basic]
        for i in range(ENEMIES):
            q_enemy = self.q_basic(out[:, 1 + i])
            qs.append(q_enemy.mean(dim=1, keepdim=True))
        return torch.cat(qs, dim=1), h

    def forward(self, entities, alive, hidden):
        qs = []
        for t in range(T):
            q, hidden = self.step(entities[:, t], alive[:, t], hidden)
            qs.append(q)
        return torch.stack(qs, dim=1), hidden


def make():
    g = torch.Generator().manual_seed(101)
    m = UPDeT().eval()
    with torch.no_grad():
        for n, p in m.named_parameters():
            r = torch.randn(p.shape, generator=g)
            if "norm" in n and n.endswith("weight"):
                p.copy_(1 + 0.2 * r)
            elif p.ndim == 1:
                p.copy_(0.2 * r)
            else:
                p.copy_(1.2 * r / np.sqrt(p.shape[1]))
    return m


def inputs(seed):
    r = np.random.default_rng(seed)
    n = 1 + ENEMIES + ALLIES
    alive = (r.random((4, T, n)) < 0.7).astype("float32")
    alive[..., 0] = 1
    return (r.normal(size=(4, T, n, TOK)).astype("float32"), alive,
            (0.5 * r.normal(size=(4, 1, EMB))).astype("float32"))
