"""Hierarchical gating network recommender with a diversity-aware slate of a few steps."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
ITEMS, L, CAND, D, UF, STEPS = 20, 5, 6, 8, 7, 3
TAU, DIV = 0.5, 0.4


class HGN(nn.Module):
    def __init__(self):
        super().__init__()
        self.item = nn.Embedding(ITEMS, D)
        self.out_w = nn.Embedding(ITEMS, D)
        self.out_b = nn.Embedding(ITEMS, 1)
        self.user = nn.Linear(UF, D)
        self.gate_item = nn.Linear(D, D)
        self.gate_user = nn.Linear(D, D, bias=False)
        self.inst_item = nn.Parameter(torch.zeros(D, 1))
        self.inst_user = nn.Parameter(torch.zeros(D, L))

    def gates(self, e, u, mask):
        feat = torch.sigmoid(self.gate_item(e) + self.gate_user(u).unsqueeze(1))
        gated = e * feat
        score = torch.sigmoid((gated @ self.inst_item).squeeze(-1) + u @ self.inst_user) * mask
        pooled = (gated * score.unsqueeze(-1)).sum(1)
        return pooled / (score.sum(1, keepdim=True) + 1e-6)

    def slate(self, scores, cand):
        picks = []
        for _ in range(STEPS):
            p = torch.softmax(scores / TAU, dim=-1)
            picks.append(p)
            chosen = torch.bmm(p.unsqueeze(1), cand).squeeze(1)
            sim = F.cosine_similarity(cand, chosen.unsqueeze(1), dim=-1)
            scores = scores - DIV * sim
        return torch.stack(picks, dim=1), scores

    def forward(self, seq, user_feats, cands):
        mask = (seq != 0).float()
        e = self.item(seq) * mask.unsqueeze(-1)
        u = torch.tanh(self.user(user_feats))
        pooled = self.gates(e, u, mask)
        w = self.out_w(cands)
        b = self.out_b(cands).squeeze(-1)
        scores = torch.einsum("bd,bcd->bc", u, w) + b
        scores = scores + torch.einsum("bd,bcd->bc", pooled, w)
        scores = scores + torch.matmul(e, w.transpose(1, 2)).sum(1)
        picks, left = self.slate(scores, self.item(cands))
        return scores, picks, left


def make():
    m = HGN()
    g = torch.Generator().manual_seed(43)
    with torch.no_grad():
        for n, p in m.named_parameters():
            r = torch.randn(p.shape, generator=g)
            if n in ("item.weight", "out_w.weight"):
                p.copy_(0.6 * r)
            elif n.startswith("inst"):
                p.copy_(r / p.shape[0] ** 0.5)
            else:
                p.copy_(r / p.shape[1] ** 0.5 if p.dim() > 1 and p.shape[1] > 1 else 0.3 * r)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    seq = r.randint(1, ITEMS, (5, L)).astype("int64")
    seq[0, :2] = 0
    seq[3, :1] = 0
    cands = np.stack([r.permutation(np.arange(1, ITEMS))[:CAND] for _ in range(5)]).astype("int64")
    return seq, r.randn(5, UF).astype("float32"), cands
