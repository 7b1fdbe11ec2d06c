"""GAT in PyTorch. Node features first projected as one Linear, heads split by view."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"


class GATHead(nn.Module):
    """All heads of one layer."""

    def __init__(self, d_in, d_out, n_heads, average=False):
        super().__init__()
        self.n_heads, self.d_out, self.average = n_heads, d_out, average
        self.lin = nn.Linear(d_in, n_heads * d_out, bias=False)
        self.att_dst = nn.Parameter(torch.randn(n_heads, d_out) * 0.3)
        self.att_src = nn.Parameter(torch.randn(n_heads, d_out) * 0.3)
        self.bias = nn.Parameter(torch.randn(d_out if average else n_heads * d_out) * 0.1)

    def forward(self, x, adj):
        B, N, _ = x.shape
        z = self.lin(x).view(B, N, self.n_heads, self.d_out).transpose(1, 2)  # B H N D
        dst = torch.einsum("bhnd,hd->bhn", z, self.att_dst)
        src = torch.einsum("bhnd,hd->bhn", z, self.att_src)
        score = F.leaky_relu(dst.unsqueeze(3) + src.unsqueeze(2), 0.2)
        score = score.masked_fill(adj.unsqueeze(1) == 0, -1e9)
        alpha = score.softmax(dim=-1)
        h = alpha @ z
        if self.average:
            h = h.mean(dim=1)
        else:
            h = h.transpose(1, 2).reshape(B, N, self.n_heads * self.d_out)
        return h + self.bias


class GraphNet(nn.Module):
    def __init__(self, feats=7, d=16, classes=5):
        super().__init__()
        self.inp = nn.Linear(feats, d)
        self.g1 = GATHead(d, d // 4, 4)
        self.ln = nn.LayerNorm(d)
        self.g2 = GATHead(d, d, 3, average=True)
        self.cls = nn.Sequential(nn.Linear(2 * d, 12), nn.ReLU(), nn.Linear(12, classes))

    def readout(self, h, mask):
        keep = mask.unsqueeze(-1)
        avg = (h * keep).sum(1) / mask.sum(1, keepdim=True)
        top = h.masked_fill(keep == 0, -1e9).amax(1)
        return torch.cat([avg, top], dim=1)

    def forward(self, x, adj, mask):
        loops = torch.eye(adj.size(1), device=adj.device)
        adj = (adj + loops).clamp(max=1)
        x = self.inp(x)
        x = x + F.elu(self.g1(x, adj))
        x = self.ln(x)
        x = x + F.elu(self.g2(x, adj))
        return self.cls(self.readout(x, mask))


def make(seed=40):
    torch.manual_seed(seed)
    return GraphNet().eval()


def inputs(seed=0):
    r = np.random.default_rng(seed)
    N, sizes = 10, np.array([10, 7, 8, 5, 9])
    mask = (np.arange(N)[None] < sizes[:, None]).astype(np.float32)
    adj = (r.random((5, N, N)) < 0.3).astype(np.float32)
    adj *= mask[:, :, None] * mask[:, None, :]
    adj[:, range(N), range(N)] = 0
    x = r.normal(size=(5, N, 7)).astype(np.float32) * mask[..., None]
    return x, adj, mask


def load(ported, original):
    t = lambda v: torch.from_numpy(np.array(v))
    with torch.no_grad():
        for lin, d in ((ported.inp, original.embed), (ported.cls[0], original.hidden),
                       (ported.cls[2], original.out)):
            lin.weight.copy_(t(d.kernel).T)
            lin.bias.copy_(t(d.bias))
        for g, k in ((ported.g1, original.gat1), (ported.g2, original.gat2)):
            w = t(k.w)
            g.lin.weight.copy_(w.reshape(w.shape[0], -1).T)
            g.att_dst.copy_(t(k.a_self))
            g.att_src.copy_(t(k.a_neigh))
            g.bias.copy_(t(k.b))
        ported.ln.weight.copy_(t(original.norm.gamma))
        ported.ln.bias.copy_(t(original.norm.beta))
