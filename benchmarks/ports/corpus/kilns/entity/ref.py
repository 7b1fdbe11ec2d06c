"""Entity-based policy: attention over a masked set of units, pooled, with a pointer to a target."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"


class EntityEncoder(nn.Module):
    def __init__(self, n_types=7, features=9, d=24, heads=4):
        super().__init__()
        self.type_embedding = nn.Embedding(n_types, d, padding_idx=0)
        self.project = nn.Linear(features, d)
        self.attention = nn.MultiheadAttention(d, heads, batch_first=True)
        self.norm1 = nn.LayerNorm(d)
        self.ff = nn.Sequential(nn.Linear(d, 2 * d), nn.ReLU(), nn.Linear(2 * d, d))
        self.norm2 = nn.LayerNorm(d)

    def forward(self, entities, types, mask):
        x = self.project(entities) + self.type_embedding(types)
        attended, _ = self.attention(x, x, x, key_padding_mask=~mask, need_weights=False)
        x = self.norm1(x + attended)
        x = self.norm2(x + self.ff(x))
        weight = mask.unsqueeze(-1).to(x.dtype)
        mean = (x * weight).sum(dim=1) / weight.sum(dim=1)
        peak = x.masked_fill(~mask.unsqueeze(-1), -1e9).max(dim=1).values
        return x, torch.cat([mean, peak], dim=-1)


class UnitPolicy(nn.Module):
    def __init__(self, d=24, n_actions=6, own=7):
        super().__init__()
        self.encoder = EntityEncoder(d=d)
        self.own = nn.Linear(own, d)
        self.core = nn.Linear(3 * d, 32)
        self.action_head = nn.Linear(32, n_actions)
        self.action_embedding = nn.Linear(n_actions, 16)
        self.query = nn.Linear(32, 16)
        self.key = nn.Linear(d, 16)
        self.value = nn.Linear(32, 1)

    def forward(self, entities, types, mask, own):
        x, pooled = self.encoder(entities, types, mask)
        core = F.relu(self.core(torch.cat([pooled, F.relu(self.own(own))], dim=-1)))
        logits = self.action_head(core)
        policy = F.softmax(logits, dim=-1)
        query = self.query(core) + self.action_embedding(policy)
        scores = torch.einsum("bd,bnd->bn", query, self.key(x)) / 16**0.5
        target = F.log_softmax(scores.masked_fill(~mask, -1e9), dim=-1)
        return policy, target.exp(), torch.tanh(self.value(core))


def make():
    torch.manual_seed(71)
    net = UnitPolicy()
    with torch.no_grad():
        for name, p in net.named_parameters():
            p.copy_(p * 1.2 if p.ndim > 1 else p + 0.2 * torch.randn_like(p))
    return net.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    b, n = 5, 6
    counts = np.array([6, 3, 4, 2, 5])
    mask = np.arange(n) < counts[:, None]
    types = np.where(mask, rng.integers(1, 7, size=(b, n)), 0)
    return (
        rng.normal(size=(b, n, 9)).astype("float32"),
        types.astype("int64"),
        mask,
        rng.normal(size=(b, 7)).astype("float32"),
    )
