"""Graphormer (Ying et al. 2021): attention with spatial, edge and degree encodings."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
B, N, DIM, HEADS, LAYERS, FFN = 4, 6, 12, 3, 2, 20
ATOMS, DEG, DIST, EDGES, HOPS, OUT = 9, 6, 7, 8, 3, 4


class GraphNodeFeature(nn.Module):
    def __init__(self):
        super().__init__()
        self.atom_encoder = nn.Embedding(ATOMS, DIM)
        self.in_degree_encoder = nn.Embedding(DEG, DIM)
        self.out_degree_encoder = nn.Embedding(DEG, DIM)
        self.graph_token = nn.Embedding(1, DIM)

    def forward(self, x, in_degree, out_degree):
        node = self.atom_encoder(x).sum(dim=-2)
        node = node + self.in_degree_encoder(in_degree) + self.out_degree_encoder(out_degree)
        token = self.graph_token.weight.unsqueeze(0).repeat(x.shape[0], 1, 1)
        return torch.cat([token, node], dim=1)


class GraphAttnBias(nn.Module):
    def __init__(self):
        super().__init__()
        self.edge_encoder = nn.Embedding(EDGES, HEADS)
        self.edge_dis_encoder = nn.Embedding(HOPS * HEADS * HEADS, 1)
        self.spatial_pos_encoder = nn.Embedding(DIST, HEADS)
        self.graph_token_virtual_distance = nn.Embedding(1, HEADS)

    def forward(self, spatial_pos, edge_input, pad):
        b, n, _ = spatial_pos.shape
        bias = torch.zeros(b, HEADS, n + 1, n + 1)
        spatial = self.spatial_pos_encoder(spatial_pos).permute(0, 3, 1, 2)
        bias[:, :, 1:, 1:] = bias[:, :, 1:, 1:] + spatial
        t = self.graph_token_virtual_distance.weight.view(1, HEADS, 1)
        bias[:, :, 1:, 0] = bias[:, :, 1:, 0] + t
        bias[:, :, 0, :] = bias[:, :, 0, :] + t
        dist = spatial_pos.clone()
        dist[dist == 0] = 1
        dist = torch.where(dist > 1, dist - 1, dist).clamp(0, HOPS)
        e = self.edge_encoder(edge_input).mean(-2)
        e = e.permute(3, 0, 1, 2, 4).reshape(HOPS, -1, HEADS)
        e = torch.bmm(e, self.edge_dis_encoder.weight.reshape(HOPS, HEADS, HEADS))
        e = e.reshape(HOPS, b, n, n, HEADS).permute(1, 2, 3, 0, 4)
        e = (e.sum(-2) / dist.float().unsqueeze(-1)).permute(0, 3, 1, 2)
        bias[:, :, 1:, 1:] = bias[:, :, 1:, 1:] + e
        full = torch.cat([torch.zeros(b, 1, dtype=torch.bool), pad], dim=1)
        return bias.masked_fill(full[:, None, None, :], -1e9)


class MultiheadAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.hd = DIM // HEADS
        self.q_proj, self.k_proj = nn.Linear(DIM, DIM), nn.Linear(DIM, DIM)
        self.v_proj, self.out_proj = nn.Linear(DIM, DIM), nn.Linear(DIM, DIM)

    def forward(self, x, bias):
        b, n, _ = x.shape
        q = self.q_proj(x).view(b, n, HEADS, self.hd).transpose(1, 2) * self.hd ** -0.5
        k = self.k_proj(x).view(b, n, HEADS, self.hd).transpose(1, 2)
        v = self.v_proj(x).view(b, n, HEADS, self.hd).transpose(1, 2)
        attn = torch.matmul(q, k.transpose(-1, -2)) + bias
        attn = torch.softmax(attn, dim=-1)
        y = torch.matmul(attn, v).transpose(1, 2).reshape(b, n, DIM)
        return self.out_proj(y)


class EncoderLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.self_attn_layer_norm, self.final_layer_norm = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.self_attn = MultiheadAttention()
        self.fc1, self.fc2 = nn.Linear(DIM, FFN), nn.Linear(FFN, DIM)

    def forward(self, x, bias):
        x = x + self.self_attn(self.self_attn_layer_norm(x), bias)
        return x + self.fc2(F.gelu(self.fc1(self.final_layer_norm(x))))


class Graphormer(nn.Module):
    def __init__(self):
        super().__init__()
        self.node = GraphNodeFeature()
        self.bias = GraphAttnBias()
        self.emb_layer_norm = nn.LayerNorm(DIM)
        self.layers = nn.ModuleList([EncoderLayer() for _ in range(LAYERS)])
        self.head = nn.Linear(DIM, OUT)

    def forward(self, x, in_degree, out_degree, spatial_pos, edge_input, pad):
        h = self.emb_layer_norm(self.node(x, in_degree, out_degree))
        bias = self.bias(spatial_pos, edge_input, pad)
        for layer in self.layers:
            h = layer(h, bias)
        return self.head(h[:, 0])


def make():
    m = Graphormer()
    g = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for name, p in m.named_parameters():
            r = torch.randn(p.shape, generator=g)
            if "norm" in name and name.endswith("weight"):
                p.copy_(1 + 0.2 * r)
            else:
                p.copy_(0.4 * r)
        m.bias.spatial_pos_encoder.weight.mul_(2)
        m.bias.edge_encoder.weight.mul_(3)
        m.bias.graph_token_virtual_distance.weight.mul_(3)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    pad = np.zeros((B, N), bool)
    pad[1, 4:] = True
    pad[3, 5:] = True
    return (r.randint(0, ATOMS, (B, N, 2)), r.randint(0, DEG, (B, N)), r.randint(0, DEG, (B, N)),
            r.randint(0, DIST, (B, N, N)), r.randint(0, EDGES, (B, N, N, HOPS, 2)), pad)
