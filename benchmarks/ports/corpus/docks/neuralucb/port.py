"""The same, functional: a ParameterDict and a Cholesky factor in place of the inverse."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
ARMS, CTX, FEAT = 4, 7, 6
RIDGE, ALPHA = 0.5, 1.3


def layer_norm(x, w, b, eps=1e-5):
    centred = x - x.mean(-1, keepdim=True)
    var = centred.square().mean(-1, keepdim=True)
    return centred * torch.rsqrt(var + eps) * w + b


def features(p, x):
    h = x @ p["inp_w"] + p["inp_b"]
    for i in range(2):
        y = layer_norm(h, p[f"norm_w{i}"], p[f"norm_b{i}"])
        y = F.gelu(y @ p[f"up_w{i}"] + p[f"up_b{i}"])
        h = h + y @ p[f"down_w{i}"] + p[f"down_b{i}"]
    h = torch.tanh(h)
    norm = h.square().sum(-1, keepdim=True).sqrt()
    return h / norm * FEAT ** 0.5


def posterior(p, phi):
    A = p["S"] + RIDGE * torch.eye(FEAT)
    L = torch.linalg.cholesky(A)
    theta = torch.cholesky_solve(p["b"].unsqueeze(-1), L).squeeze(-1)
    per_arm = phi.transpose(0, 1)
    mean = torch.bmm(per_arm, theta.unsqueeze(-1)).squeeze(-1).t()
    white = torch.linalg.solve_triangular(L, per_arm.transpose(1, 2), upper=False)
    return mean, white.norm(dim=1).t()


def score(p, contexts, shared):
    x = contexts + p["arm_embedding"] + shared[:, None]
    mean, width = posterior(p, features(p, x))
    bonus = ALPHA * torch.log1p(p["n"].sum()).sqrt()
    ucb = mean + bonus * width
    gap = ucb.amax(dim=1, keepdim=True) - ucb
    weights = (ARMS + 4.0 * gap).reciprocal()
    probs = weights / weights.sum(dim=1, keepdim=True)
    std = width * p["log_noise"].exp()
    return ucb, probs, mean / std


class NeuralUCB(nn.Module):
    def __init__(self):
        super().__init__()
        sizes = {"inp_w": (CTX, FEAT), "inp_b": (FEAT,), "arm_embedding": (ARMS, CTX), "log_noise": (ARMS,),
                 "S": (ARMS, FEAT, FEAT), "b": (ARMS, FEAT), "n": (ARMS,)}
        for i in range(2):
            sizes |= {f"norm_w{i}": (FEAT,), f"norm_b{i}": (FEAT,), f"up_w{i}": (FEAT, 2 * FEAT),
                      f"up_b{i}": (2 * FEAT,), f"down_w{i}": (2 * FEAT, FEAT), f"down_b{i}": (FEAT,)}
        self.p = nn.ParameterDict({k: nn.Parameter(torch.randn(*s) * 0.4) for k, s in sizes.items()})
        with torch.no_grad():
            half = torch.randn(ARMS, FEAT, 4)
            self.p["S"].copy_(half @ half.transpose(1, 2))
            self.p["n"].copy_(torch.tensor([3.0, 1.0, 4.0, 6.0]))

    def forward(self, contexts, shared):
        return score(self.p, contexts, shared)


def make():
    torch.manual_seed(18)
    return NeuralUCB().eval()


def inputs(seed):
    r = np.random.default_rng(seed)
    return r.normal(size=(6, ARMS, CTX)).astype("float32"), r.normal(size=(6, CTX)).astype("float32") * 0.5


def load(m, o):
    with torch.no_grad():
        put = lambda k, v: m.p[k].copy_(v)
        put("inp_w", o.features.inp.weight.T), put("inp_b", o.features.inp.bias)
        put("arm_embedding", o.arm_embedding), put("log_noise", o.log_noise)
        for k in "Sbn":
            put(k, getattr(o.posterior, k))
        for i, b in enumerate(o.features.blocks):
            put(f"norm_w{i}", b.norm.weight), put(f"norm_b{i}", b.norm.bias)
            put(f"up_w{i}", b.up.weight.T), put(f"up_b{i}", b.up.bias)
            put(f"down_w{i}", b.down.weight.T), put(f"down_b{i}", b.down.bias)
