"""QMDP-net in PyTorch."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
LAYOUT = "NCHW"
N, A, O, OBS, T, K, C = 6, 4, 5, 4, 3, 4, 6


class Transition(nn.Module):
    """one 3x3 probability kernel for each action"""

    def __init__(self):
        super().__init__()
        self.logits = nn.Parameter(torch.randn(A, 1, 3, 3))

    def forward(self, x):
        probs = self.logits.flatten(1).softmax(dim=1).view_as(self.logits)
        return F.conv2d(x, probs, padding=1)


class Planner(nn.Module):
    def __init__(self, gamma=0.95):
        super().__init__()
        self.gamma = gamma
        self.reward = nn.Sequential(nn.Conv2d(2, C, 3, padding=1), nn.ReLU(), nn.Conv2d(C, A, 1))
        self.trans = Transition()

    def forward(self, grid):
        r = self.reward(grid)
        q = r
        for _ in range(K - 1):
            v = q.amax(dim=1, keepdim=True)
            q = r + self.gamma * self.trans(v)
        return q


class BayesFilter(nn.Module):
    def __init__(self):
        super().__init__()
        self.trans = Transition()
        self.z = nn.Sequential(nn.Conv2d(2, C, 3, padding=1), nn.ReLU(), nn.Conv2d(C, O, 1), nn.Sigmoid())
        self.o = nn.Sequential(nn.Linear(OBS, 8), nn.Tanh(), nn.Linear(8, O), nn.Softmax(dim=-1))

    def likelihood(self, grid):
        z = self.z(grid)
        return z / (z.sum(dim=1, keepdim=True) + 1e-8)

    def forward(self, b, z, obs, act):
        moved = torch.einsum("bahw,ba->bhw", self.trans(b.unsqueeze(1)), act)
        b = moved * torch.einsum("bohw,bo->bhw", z, self.o(obs))
        return b / (b.sum(dim=(1, 2), keepdim=True) + 1e-8)


class QMDPNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.planner = Planner()
        self.filter = BayesFilter()
        self.policy = nn.Linear(A, A)

    def forward(self, grid, belief, obs, act):
        q = self.planner(grid)
        z = self.filter.likelihood(grid)
        values = []
        for t in range(obs.shape[1]):
            belief = self.filter(belief, z, obs[:, t], act[:, t])
            values.append(torch.einsum("bahw,bhw->ba", q, belief))
        return self.policy(torch.stack(values, dim=1)), belief


def make():
    torch.manual_seed(77)
    m = QMDPNet()
    for p in m.parameters():
        p.data = torch.randn_like(p) * 0.4
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    b = r.uniform(0, 1, (4, N, N)).astype("f")
    b /= b.sum((1, 2), keepdims=True)
    g = r.randn(4, N, N, 2).astype("f")
    return (np.ascontiguousarray(g.transpose(0, 3, 1, 2)), b, r.randn(4, T, OBS).astype("f"),
            np.eye(A, dtype="f")[r.randint(0, A, (4, T))])


def load(ported, original):
    k = lambda v: torch.tensor(v.numpy().transpose(3, 2, 0, 1).copy())
    v = lambda x: torch.tensor(x.numpy())
    o = original
    ported.filter.trans.logits.data = k(o.filter_kernel)
    ported.planner.trans.logits.data = k(o.plan_kernel)
    for d, w, b in ((ported.filter.z[0], o.z_w1, o.z_b1), (ported.filter.z[2], o.z_w2, o.z_b2),
                    (ported.planner.reward[0], o.r_w1, o.r_b1), (ported.planner.reward[2], o.r_w2, o.r_b2)):
        d.weight.data, d.bias.data = k(w), v(b)
    for d, w, b in ((ported.filter.o[0], o.o_w1, o.o_b1), (ported.filter.o[2], o.o_w2, o.o_b2),
                    (ported.policy, o.p_w, o.p_b)):
        d.weight.data, d.bias.data = v(w).T.contiguous(), v(b)
