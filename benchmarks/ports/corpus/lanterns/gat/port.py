"""GAT graph classifier in torch."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"


class GraphAttention(nn.Module):
    def __init__(self, in_dim, out_dim, heads, concat):
        super().__init__()
        self.heads, self.out_dim, self.concat = heads, out_dim, concat
        self.proj = nn.Linear(in_dim, heads * out_dim, bias=False)
        self.a_src = nn.Parameter(torch.empty(heads, out_dim))
        self.a_dst = nn.Parameter(torch.empty(heads, out_dim))
        self.bias = nn.Parameter(torch.empty(heads, out_dim))

    def forward(self, x, edges):
        b, n, _ = x.shape
        h = self.proj(x).view(b, n, self.heads, self.out_dim)
        src = (h * self.a_src).sum(-1)
        dst = (h * self.a_dst).sum(-1)
        e = F.leaky_relu(src[:, :, None] + dst[:, None, :], 0.2)
        e = e.masked_fill(~edges[..., None], -1e9)
        attention = torch.softmax(e, dim=2)
        out = torch.einsum("bijh,bjhd->bihd", attention, h) + self.bias
        if self.concat:
            return out.flatten(2)
        return out.mean(dim=2)


class GAT(nn.Module):
    def __init__(self, features=9, hidden=6, heads=3, classes=4):
        super().__init__()
        self.conv1 = GraphAttention(features, hidden, heads, concat=True)
        self.conv2 = GraphAttention(heads * hidden, hidden, heads, concat=False)
        self.classify = nn.Linear(hidden, classes)

    def forward(self, x, adj, nodes):
        loops = torch.eye(adj.shape[1], dtype=torch.bool)
        edges = (adj > 0) | loops
        x = F.elu(self.conv1(x, edges))
        x = F.elu(self.conv2(x, edges))
        x = x * nodes.unsqueeze(-1)
        graph = x.sum(dim=1) / nodes.sum(dim=1, keepdim=True)
        return self.classify(graph).log_softmax(dim=-1)


def make(seed=1):
    torch.manual_seed(seed)
    net = GAT()
    for p in net.parameters():
        nn.init.normal_(p, std=0.3)
    return net.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    n = 10
    sizes = rng.integers(5, n + 1, size=6)
    nodes = (np.arange(n) < sizes[:, None]).astype("float32")
    x = rng.normal(size=(6, n, 9)).astype("float32") * nodes[:, :, None]
    adj = np.triu(rng.random((6, n, n)) < 0.35, 1)
    ring = np.roll(np.eye(n, dtype=bool), 1, axis=1)
    adj = (adj | adj.transpose(0, 2, 1) | ring | ring.T).astype("float32")
    return x, (adj * nodes[:, :, None] * nodes[:, None, :]).astype("float32"), nodes


@torch.no_grad()
def load(ported, original):
    for conv, layer in ((ported.conv1, original.params["layer1"]), (ported.conv2, original.params["layer2"])):
        kernel = layer["kernel"].numpy()
        conv.proj.weight.copy_(torch.tensor(kernel.transpose(0, 2, 1).reshape(-1, kernel.shape[1])))
        conv.a_src.copy_(torch.tensor(layer["attn_self"].numpy()[..., 0]))
        conv.a_dst.copy_(torch.tensor(layer["attn_neigh"].numpy()[..., 0]))
        conv.bias.copy_(torch.tensor(layer["bias"].numpy()))
    ported.classify.weight.copy_(torch.tensor(original.params["out_w"].numpy().T))
    ported.classify.bias.copy_(torch.tensor(original.params["out_b"].numpy()))
