"""Curiosity: ICM (inverse and forward model) beside RND with normalised observations."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
ACTIONS, FEAT = 5, 20


class Features(nn.Module):
    def __init__(self, out, slope):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(2, 8, 3, stride=2), nn.LeakyReLU(slope),
            nn.Conv2d(8, 8, 3, stride=1, padding=1, groups=2), nn.LeakyReLU(slope),
            nn.AvgPool2d(2), nn.Flatten(), nn.Linear(8 * 3 * 3, out),
        )

    def forward(self, x):
        return self.net(x)


class Curiosity(nn.Module):
    def __init__(self):
        super().__init__()
        self.phi = Features(FEAT, 0.01)
        self.phi_norm = nn.BatchNorm1d(FEAT, affine=False)
        self.inverse = nn.Sequential(nn.Linear(2 * FEAT, 32), nn.ReLU(), nn.Linear(32, ACTIONS))
        self.forward_in = nn.Linear(FEAT + ACTIONS, 32)
        self.forward_res = nn.ModuleList(nn.Linear(32 + ACTIONS, 32) for _ in range(2))
        self.forward_out = nn.Linear(32, FEAT)
        self.target = Features(16, 0.2)
        self.predictor = Features(16, 0.2)
        self.predictor_tail = nn.Sequential(nn.ELU(), nn.Linear(16, 16))
        self.register_buffer("obs_mean", torch.zeros(2, 13, 13))
        self.register_buffer("obs_var", torch.ones(2, 13, 13))
        self.register_buffer("return_var", torch.tensor(1.0))

    def predict_next(self, phi, action):
        x = F.leaky_relu(self.forward_in(torch.cat([phi, action], dim=1)))
        for layer in self.forward_res:
            x = x + F.leaky_relu(layer(torch.cat([x, action], dim=1)))
        return self.forward_out(x)

    def rnd(self, obs):
        obs = (obs - self.obs_mean) / torch.sqrt(self.obs_var + 1e-8)
        obs = obs.clamp(-2.5, 2.5)
        with torch.no_grad():
            target = self.target(obs)
        error = (self.predictor_tail(self.predictor(obs)) - target).pow(2).mean(dim=1)
        return error / self.return_var.sqrt()

    def forward(self, obs, next_obs, action):
        phi = self.phi_norm(self.phi(obs))
        phi_next = self.phi_norm(self.phi(next_obs))
        logits = self.inverse(torch.cat([phi, phi_next], dim=1))
        predicted = self.predict_next(phi, action)
        forward_error = 0.5 * (predicted - phi_next).pow(2).sum(dim=1)
        inverse_loss = F.cross_entropy(logits, action.argmax(dim=1), reduction="none", label_smoothing=0.1)
        bonus = 0.2 * forward_error + self.rnd(next_obs)
        return bonus, logits, 0.8 * inverse_loss + 0.2 * forward_error


def make():
    torch.manual_seed(6)
    net = Curiosity().eval()
    net.obs_mean.normal_(0, 0.3), net.obs_var.uniform_(0.3, 2.0), net.return_var.fill_(0.37)
    net.phi_norm.running_mean.normal_(0, 0.1), net.phi_norm.running_var.uniform_(0.01, 0.05)
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    f = lambda: rng.normal(size=(6, 2, 13, 13)).astype("float32")
    return f(), f(), np.eye(ACTIONS, dtype="float32")[rng.integers(0, ACTIONS, 6)]
