"""Bootstrapped DQN with randomised prior functions (Osband et al. 2018)."""
import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"


def mlp(sizes):
    layers = []
    for i, (a, b) in enumerate(zip(sizes[:-1], sizes[1:])):
        layers.append(nn.Linear(a, b))
        if i < len(sizes) - 2:
            layers.append(nn.ELU())
    return nn.Sequential(*layers)


class BootstrappedPriorDQN(nn.Module):
    def __init__(self, obs_dim=10, n_actions=5, n_heads=6, width=48, prior_scale=3.0, ucb=0.7):
        super().__init__()
        self.prior_scale, self.ucb = prior_scale, ucb
        self.obs_norm = nn.LayerNorm(obs_dim)
        self.core = mlp([obs_dim, width, width])
        self.core_norm = nn.LayerNorm(width)
        self.heads = nn.ModuleList([mlp([width, 24, n_actions]) for _ in range(n_heads)])
        self.prior_core = mlp([obs_dim, 32, 32])
        self.prior_heads = nn.ModuleList([nn.Linear(32, n_actions) for _ in range(n_heads)])
        for p in list(self.prior_core.parameters()) + list(self.prior_heads.parameters()):
            p.requires_grad_(False)

    def forward(self, obs, mask, reward, not_done):
        x = self.obs_norm(obs)
        h = torch.relu(self.core_norm(self.core(x)))
        prior_h = torch.relu(self.prior_core(x))
        q = []
        for head, prior_head in zip(self.heads, self.prior_heads):
            q.append(head(h) + self.prior_scale * prior_head(prior_h))
        q = torch.stack(q, dim=1)                                   # B, K, A
        mean, std = q.mean(1), q.std(1, unbiased=True)
        score = mean + self.ucb * std
        greedy = q.argmax(dim=2)                                    # every head votes
        votes = nn.functional.one_hot(greedy, q.shape[2]).float().mean(1)
        best = q.max(dim=2).values
        target = reward[:, None] + 0.99 * not_done[:, None] * best  # B, K
        td = (target - q.mean(2)) * mask
        loss = (td ** 2).sum(0) / mask.sum(0).clamp(min=1.0)
        return q, score, votes, loss


def make(seed=0):
    torch.manual_seed(seed)
    net = BootstrappedPriorDQN()
    with torch.no_grad():
        for p in net.parameters():
            if p.dim() == 1:
                p.add_(0.2 * torch.randn_like(p))
    return net.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    b = 8
    obs = rng.normal(0.3, 2.0, (b, 10)).astype(np.float32)
    mask = (rng.random((b, 6)) < 0.5).astype(np.float32)
    reward = rng.normal(size=b).astype(np.float32)
    not_done = (rng.random(b) > 0.25).astype(np.float32)
    return obs, mask, reward, not_done
