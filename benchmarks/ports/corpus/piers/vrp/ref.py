"""The attention model for the capacitated vehicle routing problem, decoded greedily."""
import math

import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
NODES, WIDTH, HEADS, STEPS, CLIP = 7, 16, 4, 4, 10.0


class MultiHeadAttention(nn.Module):
    def __init__(self):
        super().__init__()
        key = WIDTH // HEADS
        self.W_query = nn.Parameter(torch.empty(HEADS, WIDTH, key))
        self.W_key = nn.Parameter(torch.empty(HEADS, WIDTH, key))
        self.W_val = nn.Parameter(torch.empty(HEADS, WIDTH, key))
        self.W_out = nn.Parameter(torch.empty(HEADS, key, WIDTH))
        for p in self.parameters():
            nn.init.normal_(p, 0, 1 / math.sqrt(p.shape[1]))

    def forward(self, h):
        q = torch.matmul(h.unsqueeze(1), self.W_query)
        k = torch.matmul(h.unsqueeze(1), self.W_key)
        v = torch.matmul(h.unsqueeze(1), self.W_val)
        compat = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(q.size(-1))
        attn = torch.softmax(compat, dim=-1)
        heads = torch.matmul(attn, v)
        return torch.einsum("bhnk,hkd->bnd", heads, self.W_out)


class Normalization(nn.Module):
    def __init__(self):
        super().__init__()
        self.normalizer = nn.BatchNorm1d(WIDTH)

    def forward(self, x):
        return self.normalizer(x.view(-1, x.size(-1))).view(*x.size())


class EncoderLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.mha = MultiHeadAttention()
        self.norm1 = Normalization()
        self.ff = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.ReLU(), nn.Linear(2 * WIDTH, WIDTH))
        self.norm2 = Normalization()

    def forward(self, h):
        h = self.norm1(h + self.mha(h))
        return self.norm2(h + self.ff(h))


class AttentionModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.init_depot = nn.Linear(2, WIDTH)
        self.init_node = nn.Linear(3, WIDTH)
        self.layers = nn.Sequential(EncoderLayer(), EncoderLayer())
        self.project_nodes = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.project_fixed = nn.Linear(WIDTH, WIDTH, bias=False)
        self.project_step = nn.Linear(WIDTH + 1, WIDTH, bias=False)
        self.project_out = nn.Linear(WIDTH, WIDTH, bias=False)

    def split_heads(self, x):
        return x.view(x.size(0), x.size(1), HEADS, -1).transpose(1, 2)

    def glimpse(self, query, key, val, mask):
        q = self.split_heads(query.unsqueeze(1))
        compat = q @ key.transpose(-2, -1) / math.sqrt(q.size(-1))
        compat = compat.masked_fill(mask[:, None, None, :], -math.inf)
        heads = torch.softmax(compat, -1) @ val
        return self.project_out(heads.transpose(1, 2).reshape(query.size(0), WIDTH))

    def forward(self, depot, loc, demand):
        batch = torch.arange(loc.size(0))
        h = torch.cat([self.init_depot(depot)[:, None],
                       self.init_node(torch.cat([loc, demand[:, :, None]], -1))], 1)
        h = self.layers(h)
        fixed = self.project_fixed(h.mean(1))
        glimpse_k, glimpse_v, logit_k = self.project_nodes(h).chunk(3, dim=-1)
        glimpse_k, glimpse_v = self.split_heads(glimpse_k), self.split_heads(glimpse_v)

        demand = torch.cat([torch.zeros_like(demand[:, :1]), demand], 1)
        visited = torch.zeros(demand.shape, dtype=torch.bool)
        current = torch.zeros(loc.size(0), dtype=torch.long)
        remaining = torch.ones(loc.size(0))
        probs, log_likelihood = [], 0.0
        for _ in range(STEPS):
            mask = visited | (demand > remaining[:, None])
            mask[:, 0] = current == 0
            context = torch.cat([h[batch, current], remaining[:, None]], -1)
            query = fixed + self.project_step(context)
            final = self.glimpse(query, glimpse_k, glimpse_v, mask)
            logits = (logit_k @ final[:, :, None]).squeeze(-1) / math.sqrt(WIDTH)
            logits = torch.tanh(logits) * CLIP
            logits = logits.masked_fill(mask, -math.inf)
            log_p = torch.log_softmax(logits, -1)
            probs.append(log_p.exp())
            current = log_p.argmax(-1)
            log_likelihood = log_likelihood + log_p[batch, current]
            remaining = torch.where(current == 0, 1.0, remaining - demand[batch, current])
            visited = visited.clone()
            visited[batch, current] = True
        return torch.stack(probs, 1), log_likelihood, remaining


def make():
    torch.manual_seed(5)
    net = AttentionModel()
    for m in net.modules():
        if isinstance(m, nn.BatchNorm1d):
            nn.init.normal_(m.weight, 1.0, 0.2)
            nn.init.normal_(m.bias, 0.0, 0.2)
            m.running_mean.normal_(0, 0.3)
            m.running_var.uniform_(0.6, 1.6)
        elif isinstance(m, nn.Linear):
            nn.init.normal_(m.weight, 0, 1 / math.sqrt(m.in_features))
            if m.bias is not None:
                nn.init.normal_(m.bias, 0, 0.2)
    with torch.no_grad():
        net.project_nodes.weight.mul_(0.6)
        net.init_node.weight.mul_(2)
        for k in range(20):  # statistics as after some training
            net(*(torch.from_numpy(x) for x in inputs(100 + k)))
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    b = 5
    return (rng.random((b, 2)).astype("float32"), rng.random((b, NODES, 2)).astype("float32"),
            rng.uniform(0.05, 0.45, (b, NODES)).astype("float32"))
