"""Graph Transformer with edge features and Laplacian codes (Dwivedi & Bresson 2021), dense batches."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"


class MultiHeadAttentionLayer(nn.Module):
    def __init__(self, dim, num_heads):
        super().__init__()
        self.h, self.d = num_heads, dim // num_heads
        self.Q = nn.Linear(dim, dim)
        self.K = nn.Linear(dim, dim)
        self.V = nn.Linear(dim, dim)
        self.proj_e = nn.Linear(dim, dim)

    def forward(self, h, e, adj):
        b, n, _ = h.shape
        q = self.Q(h).view(b, n, self.h, self.d)
        k = self.K(h).view(b, n, self.h, self.d)
        v = self.V(h).view(b, n, self.h, self.d)
        pe = self.proj_e(e).view(b, n, n, self.h, self.d)

        # score of destination i and source j, feature by feature
        score = q.unsqueeze(2) * k.unsqueeze(1) / math.sqrt(self.d)
        score = score * pe
        e_out = score.reshape(b, n, n, self.h * self.d)
        weight = torch.exp(score.sum(-1, keepdim=True).clamp(-5, 5))
        weight = weight * adj[:, :, :, None, None]
        wV = (weight * v.unsqueeze(1)).sum(2)
        z = weight.sum(2)
        h_out = wV / (z + 1e-6)
        return h_out.reshape(b, n, self.h * self.d), e_out


class GraphTransformerLayer(nn.Module):
    def __init__(self, dim, num_heads):
        super().__init__()
        self.attention = MultiHeadAttentionLayer(dim, num_heads)
        self.O_h = nn.Linear(dim, dim)
        self.O_e = nn.Linear(dim, dim)
        self.norm1_h = nn.LayerNorm(dim)
        self.norm1_e = nn.LayerNorm(dim)
        self.ffn_h1 = nn.Linear(dim, dim * 2)
        self.ffn_h2 = nn.Linear(dim * 2, dim)
        self.norm2_h = nn.LayerNorm(dim)

    def forward(self, h, e, adj):
        h_in1, e_in1 = h, e
        h_attn, e_attn = self.attention(h, e, adj)
        h = h_in1 + self.O_h(h_attn)
        e = e_in1 + self.O_e(e_attn)
        h = self.norm1_h(h)
        e = self.norm1_e(e)
        h_in2 = h
        h = self.ffn_h2(F.relu(self.ffn_h1(h)))
        h = h_in2 + h
        return self.norm2_h(h), e


class GraphTransformerNet(nn.Module):
    def __init__(self, in_dim=5, pos_dim=3, num_bond=4, dim=12, heads=3, layers=2, out_dim=2):
        super().__init__()
        self.embedding_h = nn.Linear(in_dim, dim)
        self.embedding_lap_pos_enc = nn.Linear(pos_dim, dim)
        self.embedding_e = nn.Embedding(num_bond, dim)
        self.layers = nn.ModuleList(GraphTransformerLayer(dim, heads) for _ in range(layers))
        self.readout1 = nn.Linear(dim, dim // 2)
        self.readout2 = nn.Linear(dim // 2, out_dim)

    def forward(self, feats, lap_pos_enc, bonds, node_mask):
        adj = (bonds > 0).float() * node_mask[:, :, None] * node_mask[:, None, :]
        h = self.embedding_h(feats) + self.embedding_lap_pos_enc(lap_pos_enc)
        e = self.embedding_e(bonds)
        for layer in self.layers:
            h, e = layer(h, e, adj)
        hg = (h * node_mask.unsqueeze(-1)).sum(1) / node_mask.sum(1, keepdim=True)
        return self.readout2(F.relu(self.readout1(hg)))


def make():
    net = GraphTransformerNet()
    rng = np.random.default_rng(21)
    with torch.no_grad():
        for name, p in net.named_parameters():
            if "norm" in name and name.endswith("weight"):
                value = rng.uniform(0.6, 1.4, p.shape)
            elif p.ndim > 1:
                value = rng.normal(0, 1.2 / math.sqrt(p.shape[1]), p.shape)
            else:
                value = rng.normal(0, 0.2, p.shape)
            p.copy_(torch.tensor(value, dtype=torch.float32))
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    b, n = 5, 6
    mask = (np.arange(n)[None] < np.array([6, 4, 5, 6, 3])[:, None]).astype("float32")
    bonds = rng.integers(0, 4, (b, n, n))
    bonds = np.maximum(np.tril(bonds, -1), np.tril(bonds, -1).transpose(0, 2, 1))
    adj = (bonds > 0) * mask[:, :, None] * mask[:, None, :]
    lap = np.eye(n)[None] * adj.sum(-1)[:, :, None] - adj
    vectors = np.linalg.eigh(lap)[1][:, :, 1:4]
    feats = rng.normal(size=(b, n, 5))
    return (
        feats.astype("float32"),
        vectors.astype("float32"),
        bonds.astype("int64"),
        mask,
    )
