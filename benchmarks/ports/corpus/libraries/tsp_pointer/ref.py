"""Attention model for the TSP (Kool et al.), greedy decoding; heads as separate weights."""
import math

import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
D, H, LAYERS, CLIP = 32, 4, 2, 10.0


class MHA(nn.Module):
    def __init__(self):
        super().__init__()
        k = D // H
        self.norm_factor = 1 / math.sqrt(k)
        self.W_query = nn.Parameter(torch.randn(H, D, k))
        self.W_key = nn.Parameter(torch.randn(H, D, k))
        self.W_val = nn.Parameter(torch.randn(H, D, k))
        self.W_out = nn.Parameter(torch.randn(H, k, D))

    def forward(self, x):
        q = torch.einsum("bnd,hdk->hbnk", x, self.W_query)
        k = torch.einsum("bnd,hdk->hbnk", x, self.W_key)
        v = torch.einsum("bnd,hdk->hbnk", x, self.W_val)
        attn = (self.norm_factor * q @ k.transpose(2, 3)).softmax(-1)
        return torch.einsum("hbnk,hkd->bnd", attn @ v, self.W_out)


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.bn = nn.BatchNorm1d(D)

    def forward(self, x):
        return self.bn(x.reshape(-1, D)).view_as(x)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.att, self.n1, self.n2 = MHA(), Norm(), Norm()
        self.ff = nn.Sequential(nn.Linear(D, 2 * D), nn.ReLU(), nn.Linear(2 * D, D))

    def forward(self, x):
        x = self.n1(x + self.att(x))
        return self.n2(x + self.ff(x))


class AttentionModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(2, D)
        self.layers = nn.Sequential(*[Layer() for _ in range(LAYERS)])
        self.project_nodes = nn.Linear(D, 3 * D, bias=False)
        self.project_graph = nn.Linear(D, D, bias=False)
        self.project_step = nn.Linear(2 * D, D, bias=False)
        self.project_out = nn.Linear(D, D, bias=False)
        self.placeholder = nn.Parameter(torch.rand(2 * D) * 2 - 1)

    def glimpse(self, query, k, v, visited):
        b, n, _ = k.shape
        q = query.view(b, H, -1)
        k, v = k.view(b, n, H, -1), v.view(b, n, H, -1)
        score = torch.einsum("bhd,bnhd->bhn", q, k) / math.sqrt(D // H)
        score = score.masked_fill(visited.unsqueeze(1), -math.inf)
        return self.project_out(torch.einsum("bhn,bnhd->bhd", score.softmax(-1), v).reshape(b, D))

    def forward(self, xy):
        b, n, _ = xy.shape
        h = self.layers(self.embed(xy))
        glimpse_k, glimpse_v, logit_k = self.project_nodes(h).chunk(3, dim=-1)
        fixed = self.project_graph(h.mean(1))
        visited = torch.zeros(b, n, dtype=torch.bool)
        rows = torch.arange(b)
        tour, log_p, probs = [], [], []
        for i in range(n):
            if i == 0:
                step = self.placeholder.expand(b, -1)
            else:
                step = torch.cat([h[rows, tour[0]], h[rows, tour[-1]]], -1)
            query = fixed + self.project_step(step)
            final = self.glimpse(query, glimpse_k, glimpse_v, visited)
            logits = CLIP * torch.tanh(torch.einsum("bd,bnd->bn", final, logit_k) / math.sqrt(D))
            logits = logits.masked_fill(visited, -math.inf)
            lp = logits.log_softmax(-1)
            choice = lp.argmax(-1)
            visited = visited.index_put((rows, choice), torch.tensor(True))
            tour.append(choice)
            log_p.append(lp[rows, choice])
            probs.append(lp.exp())
        tour = torch.stack(tour, 1)
        path = xy.gather(1, tour.unsqueeze(-1).expand(-1, -1, 2))
        length = (path[:, 1:] - path[:, :-1]).norm(dim=-1).sum(1) + (path[:, -1] - path[:, 0]).norm(dim=-1)
        return torch.stack(probs, 1), torch.stack(log_p, 1).sum(1), length, tour


def make():
    torch.manual_seed(8)
    model = AttentionModel()
    with torch.no_grad():
        for n, p in model.named_parameters():
            if p.ndim == 1:
                p.normal_(0, 0.3)
            elif n.endswith(("query", "key", "val", "out")):
                p.normal_(0, 1 / D**0.5)
            else:
                p.normal_(0, 0.6 / p.shape[-1] ** 0.5)
        model.embed.weight.mul_(4)
        for m in model.modules():
            if isinstance(m, nn.BatchNorm1d):
                m.weight.uniform_(0.7, 1.3)
                m.running_mean.normal_(0, 0.3)
                m.running_var.uniform_(0.8, 3)
    return model.eval()


def inputs(seed):
    return (np.random.default_rng(seed).random((4, 7, 2)).astype("float32"),)
