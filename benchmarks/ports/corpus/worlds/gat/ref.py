"""Two graph attention layers over a dense adjacency. torch."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
N, FIN, HEADS, FOUT, CLASSES = 9, 11, 3, 8, 4


class GATLayer(nn.Module):
    def __init__(self, n_in, n_out, heads, concat=True):
        super().__init__()
        self.heads, self.n_out, self.concat = heads, n_out, concat
        self.proj = nn.Linear(n_in, heads * n_out, bias=False)
        self.a_src = nn.Parameter(torch.empty(heads, n_out))
        self.a_dst = nn.Parameter(torch.empty(heads, n_out))
        self.bias = nn.Parameter(torch.zeros(heads * n_out if concat else n_out))
        nn.init.xavier_uniform_(self.proj.weight)
        nn.init.xavier_uniform_(self.a_src)
        nn.init.xavier_uniform_(self.a_dst)

    def forward(self, x, adj):
        B, n, _ = x.shape
        h = self.proj(x).view(B, n, self.heads, self.n_out)
        s = (h * self.a_src).sum(-1)  # (B, N, H)
        d = (h * self.a_dst).sum(-1)
        e = F.leaky_relu(s.unsqueeze(2) + d.unsqueeze(1), 0.2)  # (B, i, j, H)
        e = e.masked_fill(adj.unsqueeze(-1) == 0, float("-inf"))
        alpha = torch.softmax(e, dim=2)
        out = torch.einsum("bijh,bjhf->bihf", alpha, h)
        out = out.flatten(2) if self.concat else out.mean(dim=2)
        return out + self.bias


class GAT(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = GATLayer(FIN, FOUT, HEADS)
        self.layer2 = GATLayer(HEADS * FOUT, CLASSES, 2, concat=False)

    def forward(self, x, adj):
        adj = torch.clamp(adj + torch.eye(adj.shape[-1]), max=1)
        h = F.elu(self.layer1(x, adj))
        return F.log_softmax(self.layer2(h, adj), dim=-1)


def rough(module, seed=7, size=0.1):
    """Moves all vectors (biases, norms) off their trivial defaults, as training would."""
    gen = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in module.parameters():
            if p.ndim == 1:
                p.add_(size * torch.randn(p.shape, generator=gen))
    return module


def make():
    torch.manual_seed(3)
    return rough(GAT())


def inputs(seed):
    g = np.random.default_rng(seed + 3)
    adj = (g.random((4, N, N)) < 0.35).astype("float32")
    return g.normal(size=(4, N, FIN)).astype("float32"), adj
