"""Rainbow network for Atari in PyTorch."""
import math
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"


class NoisyLinear(nn.Module):
    def __init__(self, in_features, out_features, std_init=0.4):
        super().__init__()
        k = 1 / math.sqrt(in_features)
        self.weight_mu = nn.Parameter(torch.empty(out_features, in_features).uniform_(-k, k))
        self.bias_mu = nn.Parameter(torch.empty(out_features).uniform_(-k, k))
        self.weight_sigma = nn.Parameter(torch.full((out_features, in_features), std_init * k))
        self.bias_sigma = nn.Parameter(torch.full((out_features,), std_init * k))
        self.register_buffer("noise_in", torch.randn(in_features))
        self.register_buffer("noise_out", torch.randn(out_features))

    def forward(self, x):
        f_in = self.noise_in.sign() * self.noise_in.abs().sqrt()
        f_out = self.noise_out.sign() * self.noise_out.abs().sqrt()
        weight = self.weight_mu + self.weight_sigma * torch.outer(f_out, f_in)
        bias = self.bias_mu + self.bias_sigma * f_out
        return F.linear(x, weight, bias)


class RainbowDQN(nn.Module):
    def __init__(self, n_actions=6, n_atoms=21, v_min=-5., v_max=5.):
        super().__init__()
        self.n_actions, self.n_atoms = n_actions, n_atoms
        self.features = nn.Sequential(
            nn.Conv2d(4, 16, 8, 4), nn.ReLU(),
            nn.Conv2d(16, 32, 4, 2), nn.ReLU(),
            nn.Conv2d(32, 32, 3), nn.ReLU(),
            nn.Flatten(),
        )
        self.value = nn.Sequential(NoisyLinear(288, 64), nn.ReLU(), NoisyLinear(64, n_atoms))
        self.advantage = nn.Sequential(NoisyLinear(288, 64), nn.ReLU(), NoisyLinear(64, n_actions * n_atoms))
        support = torch.linspace(v_min, v_max, n_atoms)
        self.register_buffer("support", support)

    def forward(self, obs):
        x = self.features(obs / 255.)
        value = self.value(x).unsqueeze(1)
        adv = self.advantage(x).view(-1, self.n_actions, self.n_atoms)
        logits = value + adv - adv.mean(dim=1, keepdim=True)
        log_prob = logits.log_softmax(dim=-1)
        q = (log_prob.exp() * self.support).sum(-1)
        return q, log_prob


def make(seed=1):
    torch.manual_seed(seed)
    net = RainbowDQN()
    with torch.no_grad():
        for m in net.modules():
            if isinstance(m, NoisyLinear):
                m.weight_sigma.mul_(0.5 + torch.rand_like(m.weight_sigma))
    return net.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    return (rng.integers(0, 256, (4, 4, 52, 52)).astype(np.float32),)


def load(ported, original):
    t = lambda a: torch.tensor(np.asarray(a))
    with torch.no_grad():
        for idx, c in ((0, original.c1), (2, original.c2), (4, original.c3)):
            ported.features[idx].weight.copy_(t(c.W.array))
            ported.features[idx].bias.copy_(t(c.b.array))
        for dst, src in ((ported.value[0], original.v1), (ported.value[2], original.v2),
                         (ported.advantage[0], original.a1), (ported.advantage[2], original.a2)):
            dst.weight_mu.copy_(t(src.mu_w.array))
            dst.bias_mu.copy_(t(src.mu_b.array))
            dst.weight_sigma.copy_(t(src.sigma_w.array))
            dst.bias_sigma.copy_(t(src.sigma_b.array))
            dst.noise_in.copy_(t(src.eps_in))
            dst.noise_out.copy_(t(src.eps_out))
