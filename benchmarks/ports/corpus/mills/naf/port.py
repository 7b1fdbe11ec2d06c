"""NAF critic in torch."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"


class NAFCritic(nn.Module):
    def __init__(self, obs_dim=8, act_dim=3, hidden=40):
        super().__init__()
        self.act_dim = act_dim
        self.bn_in = nn.BatchNorm1d(obs_dim, eps=1e-3)
        self.fc1 = nn.Linear(obs_dim, hidden)
        self.bn1 = nn.BatchNorm1d(hidden, eps=1e-3)
        self.fc2 = nn.Linear(hidden, hidden)
        self.actor = nn.Sequential(nn.Linear(hidden, act_dim), nn.Tanh())
        self.v_head = nn.Linear(hidden, 1)
        self.l_head = nn.Linear(hidden, act_dim * (act_dim + 1) // 2)
        rows, cols = torch.tril_indices(act_dim, act_dim)
        self.register_buffer("rows", rows)
        self.register_buffer("cols", cols)

    def precision(self, h):
        entries = self.l_head(h)
        L = h.new_zeros(len(h), self.act_dim, self.act_dim)
        L[:, self.rows, self.cols] = entries
        diag = torch.diagonal(L, dim1=1, dim2=2)
        L = torch.tril(L, diagonal=-1) + torch.diag_embed(diag.clamp(-4, 2).exp())
        return L @ L.transpose(1, 2)

    def forward(self, obs, action):
        x = self.bn_in(obs)
        h = torch.relu(self.bn1(self.fc1(x)))
        h = torch.relu(self.fc2(h))
        mu, v = self.actor(h), self.v_head(h)
        P = self.precision(h)
        d = action - mu
        adv = -0.5 * torch.einsum("bi,bij,bj->b", d, P, d)
        q = v + adv.unsqueeze(1)
        return q, mu, v, P


def make(seed=1):
    torch.manual_seed(seed)
    net = NAFCritic()
    for bn in (net.bn_in, net.bn1):
        nn.init.uniform_(bn.weight, 0.7, 1.3)
        nn.init.normal_(bn.bias, std=0.2)
        bn.running_mean.normal_(0, 0.4)
        bn.running_var.uniform_(0.4, 2.0)
    return net.eval()


def inputs(seed=0):
    r = np.random.default_rng(seed)
    return r.normal(0.2, 1.1, (7, 8)).astype("f"), r.uniform(-1, 1, (7, 3)).astype("f")


@torch.no_grad()
def load(ported, original):
    t = lambda v: torch.from_numpy(v.numpy().copy())
    for bn, src in ((ported.bn_in, original.norm0), (ported.bn1, original.norm1)):
        bn.weight.copy_(t(src.gamma))
        bn.bias.copy_(t(src.beta))
        bn.running_mean.copy_(t(src.mean))
        bn.running_var.copy_(t(src.var))
    for lin, w, b in ((ported.fc1, original.w1, original.b1), (ported.fc2, original.w2, original.b2),
                      (ported.actor[0], original.wm, original.bm), (ported.v_head, original.wv, original.bv),
                      (ported.l_head, original.wl, original.bl)):
        lin.weight.copy_(t(w).T)
        lin.bias.copy_(t(b))
