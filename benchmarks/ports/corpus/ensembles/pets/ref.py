"""PETS ensemble dynamics with log-variance bounds and its loss."""
import numpy as np, torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
OBS, ACT, ENS, HID = 4, 2, 5, 20


class TorchPETS(nn.Module):
    def __init__(self):
        super().__init__()
        sizes = [OBS + ACT, HID, HID, 2 * OBS]
        self.w = nn.ParameterList(nn.Parameter(torch.randn(ENS, i, o) / i ** 0.5) for i, o in zip(sizes, sizes[1:]))
        self.b = nn.ParameterList(nn.Parameter(torch.randn(ENS, 1, o) * 0.1) for o in sizes[1:])
        self.max_logvar = nn.Parameter(torch.full((1, 1, OBS), 0.5) + 0.1 * torch.randn(1, 1, OBS))
        self.min_logvar = nn.Parameter(torch.full((1, 1, OBS), -3.0) + 0.1 * torch.randn(1, 1, OBS))
        self.register_buffer("mu", torch.randn(OBS + ACT) * 0.3)
        self.register_buffer("sigma", torch.rand(OBS + ACT) + 0.5)

    def forward(self, obs, act, next_obs):
        x = (torch.cat([obs, act], -1) - self.mu) / self.sigma
        h = x.expand(ENS, -1, -1)
        for w, b in zip(self.w[:-1], self.b[:-1]):
            h = F.silu(torch.baddbmm(b, h, w))
        mean, logvar = torch.baddbmm(self.b[-1], h, self.w[-1]).chunk(2, -1)
        logvar = self.max_logvar - F.softplus(self.max_logvar - logvar)
        logvar = self.min_logvar + F.softplus(logvar - self.min_logvar)
        target = next_obs - obs
        nll = ((mean - target) ** 2 * torch.exp(-logvar) + logvar).mean(-1).sum(0)
        loss = nll + 0.01 * (self.max_logvar.sum() - self.min_logvar.sum())
        epistemic = mean.var(0)
        return {"next": obs + mean, "var": logvar.exp(), "loss": loss, "epistemic": epistemic}


def make():
    torch.manual_seed(10)
    return TorchPETS().eval()


def inputs(seed):
    r = np.random.default_rng(seed + 10)
    n = lambda k: r.normal(size=(8, k)).astype("float32")
    return n(OBS), n(ACT), n(OBS)
