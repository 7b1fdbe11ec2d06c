"""DGN in PyTorch."""
import math
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
N, OBS, HID, HEADS, ACTIONS = 5, 10, 24, 4, 6


class NeighbourAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.wq, self.wk, self.wv = (nn.Linear(width, width) for _ in range(3))
        self.proj = nn.Linear(width, width)

    def forward(self, x, adj):
        B, n, W = x.shape
        q = self.wq(x).relu().view(B, n, self.heads, -1)
        k = self.wk(x).relu().view(B, n, self.heads, -1)
        v = self.wv(x).relu().view(B, n, self.heads, -1)
        score = torch.einsum("bihd,bjhd->bhij", q, k) / math.sqrt(q.shape[-1])
        score = score.masked_fill(adj[:, None] == 0, float("-inf"))
        p = score.softmax(dim=-1)
        mixed = torch.einsum("bhij,bjhd->bihd", p, v)
        mixed = mixed.reshape(B, n, W)
        return F.relu(self.proj(mixed))


class DGN(nn.Module):
    def __init__(self, layers=2):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(OBS, 32), nn.ReLU(), nn.Linear(32, HID), nn.ReLU())
        self.convs = nn.ModuleList([NeighbourAttention(HID, HEADS) for _ in range(layers)])
        self.q_head = nn.Linear((layers + 1) * HID, ACTIONS)

    def forward(self, obs, adj):
        feats = [self.encoder(obs)]
        for conv in self.convs:
            feats.append(conv(feats[-1], adj))
        return self.q_head(torch.cat(feats, dim=-1))


def make(seed=7):
    torch.manual_seed(seed)
    net = DGN()
    for p in net.parameters():
        nn.init.normal_(p, 0, 1.4 / p.shape[1] ** 0.5 if p.ndim == 2 else 0.2)
    return net.eval()


def inputs(seed=0):
    rng = np.random.RandomState(seed)
    adj = (rng.rand(6, N, N) < 0.45).astype("f")
    adj = np.maximum(adj, np.eye(N, dtype="f"))
    return rng.randn(6, N, OBS).astype("f"), adj


@torch.no_grad()
def load(ported, original):
    pairs = [(ported.encoder[0], original.enc1), (ported.encoder[2], original.enc2), (ported.q_head, original.q)]
    for c, o in zip(ported.convs, (original.conv1, original.conv2)):
        pairs += [(c.wq, o.query), (c.wk, o.key), (c.wv, o.value), (c.proj, o.out)]
    for a, b in pairs:
        a.weight.copy_(torch.from_numpy(b.W.array))
        a.bias.copy_(torch.from_numpy(b.b.array))
