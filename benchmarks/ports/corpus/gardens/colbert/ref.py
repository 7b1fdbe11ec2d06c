"""ColBERT late interaction (Khattab & Zaharia 2020): tiny BERT, MaxSim over an in-batch grid. PyTorch."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
VOCAB, D, HEADS, OUT = 70, 32, 4, 12
PAD, CLS, QM, DM, MASK = 0, 1, 2, 3, 4
PUNCT = [5, 6, 7]


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(D, 3 * D)
        self.proj = nn.Linear(D, D)
        self.ln1 = nn.LayerNorm(D, eps=1e-12)
        self.up = nn.Linear(D, 2 * D)
        self.down = nn.Linear(2 * D, D)
        self.ln2 = nn.LayerNorm(D, eps=1e-12)

    def forward(self, x, attend):
        b, n, _ = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, HEADS, D // HEADS).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=attend[:, None, None, :])
        y = y.transpose(1, 2).reshape(b, n, D)
        x = self.ln1(x + self.proj(y))
        return self.ln2(x + self.down(F.gelu(self.up(x))))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.word = nn.Embedding(VOCAB, D)
        self.pos = nn.Embedding(32, D)
        self.ln = nn.LayerNorm(D, eps=1e-12)
        self.blocks = nn.ModuleList([Block(), Block()])

    def forward(self, ids, attend):
        x = self.word(ids) + self.pos.weight[: ids.shape[1]]
        x = self.ln(x)
        for block in self.blocks:
            x = block(x, attend)
        return x


class ColBERT(nn.Module):
    def __init__(self):
        super().__init__()
        self.bert = Encoder()
        self.linear = nn.Linear(D, OUT, bias=False)
        self.register_buffer("punct", torch.tensor(PUNCT))

    def query(self, ids):
        ids = torch.where(ids == PAD, torch.full_like(ids, MASK), ids)
        q = self.linear(self.bert(ids, torch.ones_like(ids, dtype=torch.bool)))
        return F.normalize(q, p=2, dim=2)

    def doc(self, ids):
        real = ids != PAD
        d = F.normalize(self.linear(self.bert(ids, real)), p=2, dim=2)
        keep = real & ~torch.isin(ids, self.punct)
        return d, keep

    def forward(self, qids, dids):
        q = self.query(qids)
        d, keep = self.doc(dids)
        sim = torch.einsum("qmh,dnh->qdmn", q, d)
        sim = sim.masked_fill(~keep[None, :, None, :], -1e4)
        return sim.max(dim=3).values.sum(dim=2)


def make(seed=21):
    torch.manual_seed(seed)
    net = ColBERT()
    for name, p in net.named_parameters():
        if "ln" in name and name.endswith("weight"):
            nn.init.uniform_(p, 0.6, 1.4)
        elif p.ndim == 1:
            nn.init.normal_(p, 0, 0.2)
        elif "word" in name or "pos" in name:
            nn.init.normal_(p, 0, 0.7)
        else:
            nn.init.normal_(p, 0, 1.3 / p.shape[1] ** 0.5)
    return net.eval()


def inputs(seed=0):
    r = np.random.default_rng(seed)
    q = r.integers(8, VOCAB, (4, 8))
    d = r.integers(5, VOCAB, (5, 14))
    d[:, 4::5] = r.choice(PUNCT, d[:, 4::5].shape)
    q[:, :2], d[:, :2] = (CLS, QM), (CLS, DM)
    for row, n in zip(q, (8, 5, 6, 7)):
        row[n:] = PAD
    for row, n in zip(d, (14, 9, 11, 13, 8)):
        row[n:] = PAD
    return q.astype("int64"), d.astype("int64")
