"""SuperGlue (Sarlin et al. 2020): keypoint encoder, attentional graph network, optimal transport."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"


def MLP(channels):
    layers = []
    for i in range(1, len(channels)):
        layers.append(nn.Conv1d(channels[i - 1], channels[i], kernel_size=1))
        if i < len(channels) - 1:
            layers += [nn.BatchNorm1d(channels[i]), nn.ReLU()]
    return nn.Sequential(*layers)


def normalize_keypoints(kpts, size):
    """size: (B, 2) width and height"""
    center = size / 2
    scaling = size.max(1, keepdim=True).values * 0.7
    return (kpts - center[:, None, :]) / scaling[:, None, :]


class KeypointEncoder(nn.Module):
    def __init__(self, dim, layers):
        super().__init__()
        self.encoder = MLP([3] + layers + [dim])

    def forward(self, kpts, scores):
        inputs = [kpts.transpose(1, 2), scores.unsqueeze(1)]
        return self.encoder(torch.cat(inputs, dim=1))


def attention(query, key, value):
    dim = query.shape[1]
    scores = torch.einsum("bdhn,bdhm->bhnm", query, key) / dim**.5
    prob = torch.softmax(scores, dim=-1)
    return torch.einsum("bhnm,bdhm->bdhn", prob, value)


class MultiHeadedAttention(nn.Module):
    def __init__(self, heads, d_model):
        super().__init__()
        self.dim, self.heads = d_model // heads, heads
        self.merge = nn.Conv1d(d_model, d_model, 1)
        self.proj = nn.ModuleList([nn.Conv1d(d_model, d_model, 1) for _ in range(3)])

    def forward(self, *qkv):
        b = qkv[0].size(0)
        q, k, v = [l(x).view(b, self.dim, self.heads, -1) for l, x in zip(self.proj, qkv)]
        x = attention(q, k, v)
        return self.merge(x.contiguous().view(b, self.dim * self.heads, -1))


class AttentionalPropagation(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.attn = MultiHeadedAttention(heads, dim)
        self.mlp = MLP([2 * dim, 2 * dim, dim])

    def forward(self, x, source):
        message = self.attn(x, source, source)
        return self.mlp(torch.cat([x, message], dim=1))


def log_sinkhorn(Z, log_mu, log_nu, iters):
    u, v = torch.zeros_like(log_mu), torch.zeros_like(log_nu)
    for _ in range(iters):
        u = log_mu - torch.logsumexp(Z + v.unsqueeze(1), dim=2)
        v = log_nu - torch.logsumexp(Z + u.unsqueeze(2), dim=1)
    return Z + u.unsqueeze(2) + v.unsqueeze(1)


def optimal_transport(scores, alpha, iters):
    b, m, n = scores.shape
    ms, ns = scores.new_tensor(m), scores.new_tensor(n)
    bins0, bins1 = alpha.expand(b, m, 1), alpha.expand(b, 1, n)
    corner = alpha.expand(b, 1, 1)
    couplings = torch.cat([torch.cat([scores, bins0], -1), torch.cat([bins1, corner], -1)], 1)
    norm = -(ms + ns).log()
    log_mu = torch.cat([norm.expand(m), ns.log()[None] + norm])
    log_nu = torch.cat([norm.expand(n), ms.log()[None] + norm])
    log_mu, log_nu = log_mu[None].expand(b, -1), log_nu[None].expand(b, -1)
    return log_sinkhorn(couplings, log_mu, log_nu, iters) - norm


class SuperGlue(nn.Module):
    def __init__(self, dim=32, heads=4, kinds=("self", "cross") * 2, iters=6):
        super().__init__()
        self.dim, self.kinds, self.iters = dim, kinds, iters
        self.kenc = KeypointEncoder(dim, [12, 24])
        self.gnn = nn.ModuleList([AttentionalPropagation(dim, heads) for _ in kinds])
        self.final_proj = nn.Conv1d(dim, dim, 1)
        self.bin_score = nn.Parameter(torch.tensor(1.))

    def forward(self, desc0, desc1, kpts0, kpts1, scores0, scores1, size):
        desc0 = desc0 + self.kenc(normalize_keypoints(kpts0, size), scores0)
        desc1 = desc1 + self.kenc(normalize_keypoints(kpts1, size), scores1)
        for layer, kind in zip(self.gnn, self.kinds):
            src0, src1 = (desc1, desc0) if kind == "cross" else (desc0, desc1)
            delta0, delta1 = layer(desc0, src0), layer(desc1, src1)
            desc0, desc1 = desc0 + delta0, desc1 + delta1
        m0, m1 = self.final_proj(desc0), self.final_proj(desc1)
        scores = torch.einsum("bdn,bdm->bnm", m0, m1) / self.dim**.5
        Z = optimal_transport(scores, self.bin_score, self.iters)
        return Z, Z[:, :-1, :-1].exp().max(2).values


def make():
    torch.manual_seed(80)
    net = SuperGlue().eval()
    for n, t in net.state_dict().items():
        if n.endswith("running_mean") or n.endswith("bias"):
            t.normal_(0, 0.15)
        elif n.endswith("running_var"):
            t.uniform_(0.5, 1.5)
        elif t.ndim == 1:
            t.uniform_(0.7, 1.3)
        elif t.ndim == 3:
            t.normal_(0, 0.7 * t.shape[1] ** -0.5)
        elif n == "bin_score":
            t.fill_(0.8)
    return net


def inputs(seed=0):
    g = np.random.default_rng(seed)
    b, n, m, d = 4, 14, 11, 32
    size = np.array([[320, 240], [200, 300], [256, 256], [400, 300]], "float32")
    k0, k1 = g.uniform(size=(b, n, 2)) * size[:, None], g.uniform(size=(b, m, 2)) * size[:, None]
    d0, d1 = g.standard_normal((b, d, n)), g.standard_normal((b, d, m))
    d0, d1 = [4 * a / np.linalg.norm(a, axis=1, keepdims=True) for a in (d0, d1)]
    out = (d0, d1, k0, k1, g.uniform(size=(b, n)), g.uniform(size=(b, m)), size)
    return tuple(a.astype("float32") for a in out)
