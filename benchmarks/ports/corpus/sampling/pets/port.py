"""The probabilistic ensemble in torch."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"


class EnsembleLinear(nn.Module):
    def __init__(self, ensemble, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(ensemble, n_in, n_out) * 0.1)
        self.bias = nn.Parameter(torch.zeros(ensemble, n_out))

    def forward(self, x):
        return torch.baddbmm(self.bias.unsqueeze(1), x, self.weight)


class StandardScaler(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("std", torch.ones(size))

    def forward(self, x):
        return (x - self.mean) / self.std


class EnsembleDynamics(nn.Module):
    def __init__(self, obs_dim=6, act_dim=2, hidden=24, ensemble=5, elites=(4, 0, 3)):
        super().__init__()
        self.ensemble = ensemble
        self.out_dim = obs_dim + 1
        self.scaler = StandardScaler(obs_dim + act_dim)
        self.nn1 = EnsembleLinear(ensemble, obs_dim + act_dim, hidden)
        self.nn2 = EnsembleLinear(ensemble, hidden, hidden)
        self.nn3 = EnsembleLinear(ensemble, hidden, 2 * self.out_dim)
        self.max_logvar = nn.Parameter(torch.full((self.out_dim,), 0.5))
        self.min_logvar = nn.Parameter(torch.full((self.out_dim,), -3.0))
        self.register_buffer("elites", torch.tensor(elites))

    def predict(self, x):
        x = self.scaler(x)
        x = x.unsqueeze(0).repeat(self.ensemble, 1, 1)
        x = F.silu(self.nn1(x))
        x = F.silu(self.nn2(x))
        mean, logvar = self.nn3(x).chunk(2, dim=-1)
        logvar = self.max_logvar - F.softplus(self.max_logvar - logvar)
        logvar = self.min_logvar + F.softplus(logvar - self.min_logvar)
        return mean, logvar

    def forward(self, obs, act):
        mean, logvar = self.predict(torch.cat([obs, act], dim=1))
        reward, delta = mean[..., :1], mean[..., 1:]
        mean = torch.cat([reward, obs + delta], dim=-1)
        std = torch.exp(0.5 * logvar)
        sample = mean + std * torch.randn_like(mean)
        n = obs.shape[0]
        index = torch.randint(0, len(self.elites), (n,))
        member = self.elites[index]
        chosen = sample[member, torch.arange(n)]
        return {"mean": mean, "logvar": logvar, "reward": chosen[:, 0], "next_obs": chosen[:, 1:]}


def make():
    torch.manual_seed(0)
    return EnsembleDynamics()


def load(model, reference):
    def put(to, value):
        to.data.copy_(torch.from_numpy(np.array(value)))

    for ours, theirs in zip((model.nn1, model.nn2, model.nn3), reference.layers):
        put(ours.weight, theirs.w.numpy())
        put(ours.bias, theirs.b.numpy()[:, 0])
    put(model.scaler.mean, reference.mu.numpy()[0])
    put(model.scaler.std, reference.sigma.numpy()[0])
    put(model.max_logvar, reference.max_logvar.numpy()[0])
    put(model.min_logvar, reference.min_logvar.numpy()[0])
