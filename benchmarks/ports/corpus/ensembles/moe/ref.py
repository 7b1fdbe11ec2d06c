"""Mixture of experts, top-2 of 6, with load-balancing loss, expert by expert."""
import numpy as np, torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
D, FF, EXPERTS, TOP = 12, 24, 6, 2


class TorchMoE(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(D)
        self.gate = nn.Linear(D, EXPERTS, bias=False)
        self.w1 = nn.Parameter(torch.randn(EXPERTS, D, FF) / D ** 0.5)
        self.b1 = nn.Parameter(torch.randn(EXPERTS, FF) * 0.1)
        self.w2 = nn.Parameter(torch.randn(EXPERTS, FF, D) / FF ** 0.5)
        self.b2 = nn.Parameter(torch.randn(EXPERTS, D) * 0.1)

    def forward(self, x):
        shape = x.shape
        h = self.norm(x).reshape(-1, D)
        logits = self.gate(h)
        top, idx = torch.topk(logits, TOP, dim=-1)
        weight = torch.softmax(top, -1)
        out = torch.zeros_like(h)
        for e in range(EXPERTS):
            y = F.gelu(h @ self.w1[e] + self.b1[e], approximate="tanh") @ self.w2[e] + self.b2[e]
            out = out + y * (weight * (idx == e)).sum(-1, keepdim=True)
        probs = torch.softmax(logits, -1)
        load = F.one_hot(idx, EXPERTS).float().sum(1).mean(0)
        aux = EXPERTS * (load * probs.mean(0)).sum()
        return {"y": x + out.reshape(shape), "aux": aux.expand(shape[0]), "logits": logits}


def make():
    torch.manual_seed(7)
    net = TorchMoE().eval()
    with torch.no_grad():
        net.norm.weight.add_(0.2 * torch.randn(D)); net.norm.bias.add_(0.2 * torch.randn(D)); net.gate.weight.mul_(2)
    return net


def inputs(seed):
    return np.random.default_rng(seed + 7).normal(size=(4, 5, D)).astype("float32")
