"""Stockfish-style NNUE evaluation (nnue-pytorch): feature transformer, layer stacks, PSQT."""
import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"
FEATS, L1, L2, L3, BUCKETS, MAXP = 96, 16, 7, 8, 4, 16


class FeatureTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(FEATS, L1 + BUCKETS))
        self.bias = nn.Parameter(torch.zeros(L1 + BUCKETS))

    def forward(self, idx):
        active = (idx >= 0).unsqueeze(-1)
        rows = self.weight[idx.clamp(min=0)]
        return (rows * active).sum(1) + self.bias


class LayerStacks(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(L1, (L2 + 1) * BUCKETS)
        self.l1_fact = nn.Linear(L1, L2 + 1)
        self.l2 = nn.Linear(2 * L2, L3 * BUCKETS)
        self.output = nn.Linear(L3, BUCKETS)

    def forward(self, x, bucket):
        B = x.shape[0]
        rows = torch.arange(B)
        l1s = self.l1(x).reshape(B, BUCKETS, L2 + 1)[rows, bucket]
        l1c = l1s + self.l1_fact(x)
        l1x, skip = l1c.split([L2, 1], dim=1)
        l1x = torch.clamp(torch.cat([l1x.pow(2.0) * (127 / 128), l1x], dim=1), 0.0, 1.0)
        l2x = self.l2(l1x).reshape(B, BUCKETS, L3)[rows, bucket]
        l2x = torch.clamp(l2x, 0.0, 1.0)
        out = self.output(l2x)[rows, bucket].unsqueeze(1)
        return out + skip


class NNUE(nn.Module):
    def __init__(self):
        super().__init__()
        self.input = FeatureTransformer()
        self.layer_stacks = LayerStacks()

    def forward(self, white, black, us_them):
        us, them = us_them[:, :1], us_them[:, 1:]
        bucket = ((white >= 0).sum(1) - 1) // 4
        wp = self.input(white)
        bp = self.input(black)
        w, wpsqt = wp.split([L1, BUCKETS], dim=1)
        b, bpsqt = bp.split([L1, BUCKETS], dim=1)
        l0 = us * torch.cat([w, b], dim=1) + them * torch.cat([b, w], dim=1)
        l0 = torch.clamp(l0, 0.0, 1.0)
        s = torch.split(l0, L1 // 2, dim=1)
        l0 = torch.cat([s[0] * s[1], s[2] * s[3]], dim=1) * (127 / 128)
        wps = wpsqt.gather(1, bucket.unsqueeze(1))
        bps = bpsqt.gather(1, bucket.unsqueeze(1))
        score = self.layer_stacks(l0, bucket) + (wps - bps) * (us - 0.5)
        cp = score * 600.0
        win = torch.sigmoid((cp - 270.0) / 380.0)
        loss = torch.sigmoid((-cp - 270.0) / 380.0)
        return score, torch.cat([win, 1.0 - win - loss, loss], dim=1)


def make():
    m = NNUE()
    r = np.random.RandomState(3)
    for n, p in m.named_parameters():
        s = 0.5 if p.dim() == 2 else 0.25
        p.data = torch.tensor(r.randn(*p.shape) * s, dtype=torch.float32)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    B = 6
    n = np.array([15, 12, 8, 4, 10, 16])
    w = np.full((B, MAXP), -1)
    b = np.full((B, MAXP), -1)
    for i in range(B):
        w[i, :n[i]] = r.permutation(FEATS)[:n[i]]
        b[i, :n[i]] = r.permutation(FEATS)[:n[i]]
    us = np.array([1, 0, 1, 0, 0, 1], "f")
    return w.astype("int64"), b.astype("int64"), np.stack([us, 1 - us], 1)
