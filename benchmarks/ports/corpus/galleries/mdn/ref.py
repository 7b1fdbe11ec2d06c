"""Mixture density network with dropout in train mode, its loss and a sample, in torch."""
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

FRAMEWORK = "torch"
MODE = "train"


class MDN(nn.Module):
    def __init__(self, k=5):
        super().__init__()
        self.l1, self.l2, self.drop = nn.Linear(7, 40), nn.Linear(40, 40), nn.Dropout(0.2)
        self.pi, self.mu, self.sigma = nn.Linear(40, k), nn.Linear(40, k), nn.Linear(40, k)

    def forward(self, x, y):
        h = self.drop(torch.tanh(self.l1(x)))
        h = self.drop(torch.tanh(self.l2(h)))
        logits, mu, sigma = self.pi(h), self.mu(h), torch.exp(self.sigma(h))
        normal = -0.5 * ((y - mu) / sigma) ** 2 - torch.log(sigma) - 0.5 * np.log(2 * np.pi)
        nll = -torch.logsumexp(torch.log_softmax(logits, 1) + normal, dim=1)
        k = Categorical(logits=logits).sample()[:, None]
        m, s = mu.gather(1, k), sigma.gather(1, k)
        return {"nll": nll, "sample": (m + s * torch.randn_like(m))[:, 0]}


def make():
    torch.manual_seed(0)
    return MDN()


def inputs(seed):
    r = np.random.default_rng(seed + 7)
    return r.normal(size=(16, 7)).astype("float32"), r.normal(size=(16, 1)).astype("float32")
