"""PEARL (Rakelly et al. 2019): probabilistic context encoder, tanh-Gaussian policy and Q on (s, a, z)."""
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
TASKS, CTX, T, OBS, ACT, LAT = 4, 7, 5, 8, 3, 5


def mlp(*sizes):
    mods = []
    for a, b in zip(sizes[:-2], sizes[1:-1]):
        mods += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*mods, nn.Linear(sizes[-2], sizes[-1]))


def product_of_gaussians(mus, var):
    var = torch.clamp(var, min=1e-7)
    var_z = 1.0 / torch.sum(1.0 / var, dim=1)
    mu_z = var_z * torch.sum(mus / var, dim=1)
    return mu_z, var_z


class TanhGaussian(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(OBS + LAT, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.mean = nn.Linear(32, ACT)
        self.log_std = nn.Linear(32, ACT)

    def forward(self, x, noise):
        h = self.trunk(x)
        mean = self.mean(h)
        log_std = torch.clamp(self.log_std(h), -20, 2)
        pre = mean + log_std.exp() * noise
        action = torch.tanh(pre)
        logp = -0.5 * noise ** 2 - log_std - 0.5 * math.log(2 * math.pi)
        logp = logp - torch.log(1 - action ** 2 + 1e-6)
        return action, logp.sum(-1, keepdim=True)


class PEARL(nn.Module):
    def __init__(self):
        super().__init__()
        self.context_encoder = mlp(OBS + ACT + 1, 32, 32, 2 * LAT)
        self.policy = TanhGaussian()
        self.q1 = mlp(OBS + ACT + LAT, 32, 1)
        self.q2 = mlp(OBS + ACT + LAT, 32, 1)

    def forward(self, ctx_obs, ctx_act, ctx_rew, obs, z_noise, a_noise):
        context = torch.cat([ctx_obs, ctx_act, ctx_rew], dim=-1)
        params = self.context_encoder(context)
        mu = params[..., :LAT]
        var = F.softplus(params[..., LAT:])
        z_mu, z_var = product_of_gaussians(mu, var)
        kl = 0.5 * (z_var + z_mu ** 2 - 1 - torch.log(z_var)).sum(-1)
        z = z_mu + torch.sqrt(z_var) * z_noise
        t, b, _ = obs.shape
        flat = obs.reshape(t * b, -1)
        task_z = torch.cat([row.repeat(b, 1) for row in z], dim=0)
        action, logp = self.policy(torch.cat([flat, task_z], 1), a_noise.reshape(t * b, -1))
        saz = torch.cat([flat, action, task_z], 1)
        q = torch.min(self.q1(saz), self.q2(saz))
        return kl, action, logp, q - 0.2 * logp


def make(seed=0):
    torch.manual_seed(seed)
    m = PEARL().eval()
    with torch.no_grad():
        for p in m.parameters():
            p.normal_(0, 0.7 / p.shape[-1] ** 0.5 if p.ndim == 2 else 0.15)
    return m


def inputs(seed=0):
    r = np.random.RandomState(seed)
    f = lambda *s: r.randn(*s).astype("float32")
    return (f(TASKS, CTX, OBS), np.tanh(f(TASKS, CTX, ACT)), f(TASKS, CTX, 1), f(TASKS, T, OBS),
            f(TASKS, LAT), f(TASKS, T, ACT))
