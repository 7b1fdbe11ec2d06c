"""Universal successor features approximator with generalised policy improvement (PyTorch)."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"
OBS, CUM, ACTIONS, N_SAMPLES = 14, 4, 6, 5
GAMMA, SIGMA = 0.95, 0.3


def mlp(*sizes):
    mods = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        mods += [nn.Linear(a, b), nn.ELU()]
    return nn.Sequential(*mods[:-1])


class USFA(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(OBS, 40)
        self.inp_norm = nn.LayerNorm(40)
        self.state_net = mlp(40, 40, 32)
        self.task_net = mlp(CUM, 24, 32)
        self.sf_head = mlp(64, 48, ACTIONS * CUM)
        self.cumulant = mlp(40 + 40 + ACTIONS, 32, CUM)

    def perceive(self, obs):
        return torch.tanh(self.inp_norm(self.inp(obs)))

    def psi(self, feat, z):
        """successor features psi(s, a, z): (B, N, A, d)"""
        B, N, _ = z.shape
        s = F.elu(self.state_net(feat))[:, None].expand(B, N, 32)
        g = F.elu(self.task_net(z))
        out = self.sf_head(torch.cat([s, g], dim=-1))
        return out.view(B, N, ACTIONS, CUM)

    def forward(self, obs, action, next_obs, w, noise):
        policies = torch.cat([w[:, None], w[:, None] + SIGMA * noise], dim=1)
        feat, next_feat = self.perceive(obs), self.perceive(next_obs)
        psi = self.psi(feat, policies)
        next_psi = self.psi(next_feat, policies)

        # q(s, a; z_i) = psi(s, a, z_i) . w, GPI takes the best policy for each action
        q = torch.einsum("bnad,bd->bna", psi, w)
        gpi = q.max(dim=1).values

        # each policy bootstraps with the action that is best for itself
        own_q = torch.einsum("bnad,bnd->bna", next_psi, policies)
        best = own_q.argmax(dim=-1)
        idx = best[..., None, None].expand(-1, -1, 1, CUM)
        next_sf = next_psi.gather(2, idx).squeeze(2)

        onehot = F.one_hot(action, ACTIONS).to(obs.dtype)
        phi = self.cumulant(torch.cat([feat, onehot, next_feat], dim=-1))
        target = phi[:, None] + GAMMA * next_sf
        taken = (psi * onehot[:, None, :, None]).sum(dim=2)
        td_error = (target - taken).pow(2).mean(dim=(1, 2))
        return gpi, phi, target, td_error


def make():
    gen = torch.Generator().manual_seed(91)
    net = USFA()
    for name, p in net.named_parameters():
        noise = torch.randn(p.shape, generator=gen)
        if p.ndim == 2:
            p.data = noise * 1.4 / p.shape[1] ** 0.5
        elif name == "inp_norm.weight":
            p.data = 1 + 0.25 * noise
        else:
            p.data = 0.15 * noise
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    B = 6
    obs = rng.normal(size=(B, OBS)).astype(np.float32)
    nxt = (0.8 * obs + 0.4 * rng.normal(size=(B, OBS))).astype(np.float32)
    action = rng.integers(0, ACTIONS, size=B)
    w = rng.normal(size=(B, CUM)).astype(np.float32)
    noise = rng.normal(size=(B, N_SAMPLES, CUM)).astype(np.float32)
    return obs, action, nxt, w, noise
