"""Rainbow's head: noisy, dueling, 51 atoms. torch."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
OBS, HID, ACT, ATOMS = 12, 24, 5, 51


class NoisyLinear(nn.Module):
    def __init__(self, in_features, out_features, sigma0=0.5):
        super().__init__()
        bound = in_features**-0.5
        self.in_features, self.out_features = in_features, out_features
        self.weight_mu = nn.Parameter(torch.empty(out_features, in_features).uniform_(-bound, bound))
        self.weight_sigma = nn.Parameter(torch.full((out_features, in_features), sigma0 * bound))
        self.bias_mu = nn.Parameter(torch.empty(out_features).uniform_(-bound, bound))
        self.bias_sigma = nn.Parameter(torch.full((out_features,), sigma0 * bound))
        with torch.no_grad():
            self.weight_sigma.mul_(1 + 0.2 * torch.randn_like(self.weight_sigma))

    @staticmethod
    def f(x):
        return x.sign() * x.abs().sqrt()

    def forward(self, x):
        eps_in = self.f(torch.randn(self.in_features))
        eps_out = self.f(torch.randn(self.out_features))
        weight = self.weight_mu + self.weight_sigma * torch.outer(eps_out, eps_in)
        bias = self.bias_mu + self.bias_sigma * eps_out
        return F.linear(x, weight, bias)


class Rainbow(nn.Module):
    def __init__(self, v_min=-10.0, v_max=10.0):
        super().__init__()
        self.body1 = nn.Linear(OBS, 32)
        self.body2 = nn.Linear(32, HID)
        self.norm = nn.LayerNorm(HID)
        self.adv_hidden = NoisyLinear(HID, HID)
        self.adv_out = NoisyLinear(HID, ACT * ATOMS)
        self.val_hidden = NoisyLinear(HID, HID)
        self.val_out = NoisyLinear(HID, ATOMS)
        self.register_buffer("support", torch.linspace(v_min, v_max, ATOMS))

    def forward(self, obs):
        h = F.relu(self.body1(obs))
        h = F.relu(self.norm(self.body2(h)))
        adv = self.adv_out(F.relu(self.adv_hidden(h))).view(-1, ACT, ATOMS)
        val = self.val_out(F.relu(self.val_hidden(h))).view(-1, 1, ATOMS)
        logits = val + adv - adv.mean(dim=1, keepdim=True)
        log_p = F.log_softmax(logits, dim=-1)
        q = (log_p.exp() * self.support).sum(-1)
        return {"log_p": log_p, "q": q}


def rough(module, seed=7, size=0.1):
    """Moves all vectors (biases, norms) off their trivial defaults, as training would."""
    gen = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in module.parameters():
            if p.ndim == 1:
                p.add_(size * torch.randn(p.shape, generator=gen))
    return module


def make():
    torch.manual_seed(1)
    return rough(Rainbow())


def inputs(seed):
    return np.random.default_rng(seed + 1).normal(size=(6, OBS)).astype("float32")
