"""Probabilistic ensemble dynamics of MOPO / PETS, batched over members."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
OBS, ACT, MEMBERS = 6, 2, 5


class EnsembleLinear(nn.Module):
    def __init__(self, inp, out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(MEMBERS, inp, out) / (2 * np.sqrt(inp)))
        self.bias = nn.Parameter(0.1 * torch.randn(MEMBERS, 1, out))

    def forward(self, x):
        if x.ndim == 2:
            x = x.unsqueeze(0).expand(MEMBERS, -1, -1)
        return torch.baddbmm(self.bias, x, self.weight)


class EnsembleDynamics(nn.Module):
    def __init__(self, hidden=24, penalty=1.5):
        super().__init__()
        self.register_buffer("mu", 0.5 * torch.randn(OBS + ACT))
        self.register_buffer("std", 0.3 + torch.rand(OBS + ACT))
        self.backbone = nn.ModuleList(
            [EnsembleLinear(OBS + ACT, hidden), EnsembleLinear(hidden, hidden)]
        )
        self.output = EnsembleLinear(hidden, 2 * (OBS + 1))
        self.max_logvar = nn.Parameter(torch.full((OBS + 1,), 0.5) + 0.1 * torch.randn(OBS + 1))
        self.min_logvar = nn.Parameter(torch.full((OBS + 1,), -2.0) + 0.1 * torch.randn(OBS + 1))
        self.register_buffer("elites", torch.tensor([0, 3, 4]))
        self.penalty = penalty

    def predict(self, obs, action):
        x = (torch.cat([obs, action], dim=-1) - self.mu) / self.std
        for layer in self.backbone:
            x = F.silu(layer(x))
        mean, logvar = torch.chunk(self.output(x), 2, dim=-1)
        logvar = self.max_logvar - F.softplus(self.max_logvar - logvar)
        logvar = self.min_logvar + F.softplus(logvar - self.min_logvar)
        return mean, logvar

    def forward(self, obs, action, next_obs, reward):
        mean, logvar = self.predict(obs, action)
        target = torch.cat([next_obs - obs, reward], dim=-1)
        inv_var = torch.exp(-logvar)
        nll = ((mean - target) ** 2 * inv_var + logvar).mean(dim=(1, 2))
        loss = nll.sum() + 0.01 * self.max_logvar.sum() - 0.01 * self.min_logvar.sum()

        mean, std = mean[self.elites], torch.exp(0.5 * logvar[self.elites])
        aleatoric = torch.amax(torch.linalg.norm(std, dim=2), dim=0)
        diff = mean[..., :-1] - mean[..., :-1].mean(dim=0)
        epistemic = torch.amax(torch.linalg.norm(diff, dim=2), dim=0)
        next_mean = obs + mean[..., :OBS].mean(dim=0)
        reward_hat = mean[..., -1].mean(dim=0) - self.penalty * torch.maximum(aleatoric, epistemic)
        return {"next": next_mean, "reward": reward_hat, "epistemic": epistemic, "loss": loss,
                "nll": nll}


def make():
    torch.manual_seed(31)
    return EnsembleDynamics()


def inputs(seed):
    rng = np.random.default_rng(seed)
    b = 9
    n = lambda *s: rng.normal(size=s).astype("float32")
    obs = n(b, OBS)
    return (obs, np.tanh(n(b, ACT)), obs + 0.3 * n(b, OBS), n(b, 1))
