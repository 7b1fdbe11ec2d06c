"""PETS-like probabilistic ensemble."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
E, OBS, ACT, H = 5, 6, 2, 32


class TorchPETS(nn.Module):
    def __init__(self):
        super().__init__()

        def layer(i, o):
            return nn.Parameter(torch.randn(E, i, o) / i**0.5), nn.Parameter(torch.randn(E, 1, o) * 0.1)

        self.w0, self.b0 = layer(OBS + ACT, H)
        self.w1, self.b1 = layer(H, H)
        self.w2, self.b2 = layer(H, 2 * OBS)
        self.register_buffer("mu", torch.randn(1, OBS + ACT))
        sigma = torch.rand(1, OBS + ACT) + 0.5
        sigma[0, 4] = 1.0  # a constant feature
        self.register_buffer("sigma", sigma)
        self.register_buffer("t_mu", 0.1 * torch.randn(1, OBS))
        self.register_buffer("t_sigma", torch.rand(1, OBS) + 0.2)
        self.max_logvar = nn.Parameter(torch.ones(1, OBS) / 2.0)
        self.min_logvar = nn.Parameter(-torch.ones(1, OBS) * 10.0)

    def forward(self, obs, action):
        x = (torch.cat([obs, action], -1) - self.mu) / self.sigma
        x = x.expand(E, *x.shape)
        x = F.silu(torch.baddbmm(self.b0, x, self.w0))
        x = F.silu(torch.baddbmm(self.b1, x, self.w1))
        x = torch.baddbmm(self.b2, x, self.w2)
        mean, logvar = x[..., :OBS], x[..., OBS:]
        logvar = self.max_logvar - F.softplus(self.max_logvar - logvar)
        logvar = self.min_logvar + F.softplus(logvar - self.min_logvar)
        mean = mean * self.t_sigma + self.t_mu
        var = logvar.exp() * self.t_sigma**2
        nxt = obs + mean
        aleatoric = var.mean(0)
        epistemic = nxt.var(0, unbiased=False)
        return {"next": nxt.mean(0), "std": (aleatoric + epistemic).sqrt(), "disagreement": epistemic.sum(-1)}


def make():
    torch.manual_seed(9)
    return TorchPETS().eval()


def inputs(seed):
    r = np.random.default_rng(seed + 19)
    return r.normal(size=(7, OBS)).astype("float32"), r.normal(size=(7, ACT)).astype("float32")
