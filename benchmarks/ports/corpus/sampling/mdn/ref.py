"""Mixture density network with a full-covariance head (Bishop 1994; Cholesky factors), torch."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical, MixtureSameFamily, MultivariateNormal

FRAMEWORK = "torch"
N_IN, N_OUT, K, HID = 5, 3, 4, 24


class MDN(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(N_IN, HID), nn.ELU(), nn.Linear(HID, HID), nn.ELU())
        self.pi = nn.Linear(HID, K)
        self.mu = nn.Linear(HID, K * N_OUT)
        self.chol = nn.Linear(HID, K * N_OUT * (N_OUT + 1) // 2)
        rows, cols = np.tril_indices(N_OUT)
        self.rows, self.cols = torch.tensor(rows), torch.tensor(cols)

    def scale_tril(self, h):
        raw = self.chol(h).view(-1, K, N_OUT * (N_OUT + 1) // 2)
        tril = raw.new_zeros(raw.shape[0], K, N_OUT, N_OUT)
        tril[:, :, self.rows, self.cols] = raw
        diagonal = F.softplus(torch.diagonal(tril, dim1=-2, dim2=-1)) + 1e-3
        return torch.tril(tril, -1) + torch.diag_embed(diagonal)

    def forward(self, x, y):
        h = self.trunk(x)
        mixture = Categorical(logits=self.pi(h))
        components = MultivariateNormal(self.mu(h).view(-1, K, N_OUT), scale_tril=self.scale_tril(h))
        dist = MixtureSameFamily(mixture, components)
        nll = -dist.log_prob(y)
        return {"mean": dist.mean, "nll": nll, "loss": nll.mean()}


def make():
    torch.manual_seed(7)
    model = MDN()
    with torch.no_grad():
        for head in (model.pi, model.mu, model.chol):
            head.weight.mul_(3)
    return model


def inputs(seed):
    rng = np.random.default_rng(seed)
    return {
        "x": rng.normal(size=(10, N_IN)).astype("float32"),
        "y": rng.normal(size=(10, N_OUT)).astype("float32"),
    }
