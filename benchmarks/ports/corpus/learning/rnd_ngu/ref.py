"""Never Give Up's intrinsic reward: episodic novelty by nearest neighbours, modulated by RND."""
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"


@dataclass(frozen=True)
class NGUConfig:
    obs_dim: int = 10
    embed_dim: int = 6
    hidden: int = 24
    neighbours: int = 4
    kernel_eps: float = 1e-3
    cluster_distance: float = 8e-3
    max_similarity: float = 8.0
    max_scale: float = 5.0
    obs_clip: float = 3.0


class RunningNorm(nn.Module):
    """Statistics of the observations, updated outside of this module."""

    def __init__(self, dim, clip):
        super().__init__()
        self.clip = clip
        self.register_buffer("mean", torch.zeros(dim))
        self.register_buffer("var", torch.ones(dim))

    def forward(self, x):
        return ((x - self.mean) / torch.sqrt(self.var + 1e-8)).clamp(-self.clip, self.clip)


def rnd_net(cfg, depth):
    layers = [nn.Linear(cfg.obs_dim, cfg.hidden), nn.LeakyReLU()]
    for _ in range(depth):
        layers += [nn.Linear(cfg.hidden, cfg.hidden), nn.LeakyReLU()]
    return nn.Sequential(*layers, nn.Linear(cfg.hidden, cfg.embed_dim))


class RND(nn.Module):
    """Prediction error against a fixed random network, standardised over the batch."""

    def __init__(self, cfg):
        super().__init__()
        self.norm = RunningNorm(cfg.obs_dim, cfg.obs_clip)
        self.target = rnd_net(cfg, depth=0)
        self.predictor = rnd_net(cfg, depth=1)
        for p in self.target.parameters():
            p.requires_grad_(False)

    def forward(self, obs):
        x = self.norm(obs)
        error = (self.predictor(x) - self.target(x)).pow(2).mean(dim=-1)
        return 1 + (error - error.mean()) / (error.std() + 1e-8)


class EpisodicNovelty(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.embed = nn.Sequential(
            nn.Linear(cfg.obs_dim, cfg.hidden), nn.ReLU(), nn.Linear(cfg.hidden, cfg.embed_dim), nn.ReLU()
        )

    def forward(self, obs, memory, count):
        """memory: observations of the episode [B, M, O], of which the first `count` are filled."""
        cfg = self.cfg
        query, keys = self.embed(obs), self.embed(memory)
        dist = (query.unsqueeze(1) - keys).pow(2).sum(-1)
        filled = torch.arange(memory.shape[1], device=obs.device) < count.unsqueeze(1)
        dist = dist.masked_fill(~filled, float("inf"))
        nearest = dist.topk(cfg.neighbours, dim=1, largest=False)[0]
        valid = torch.isfinite(nearest)
        nearest = nearest.masked_fill(~valid, 0.0)

        # the moving average of the distance is replaced by the batch's mean
        mean = nearest.sum() / valid.sum()
        rate = F.relu(nearest / mean - cfg.cluster_distance)
        kernel = cfg.kernel_eps / (rate + cfg.kernel_eps)
        similarity = torch.sqrt((kernel * valid).sum(dim=1)) + 0.05
        reward = 1 / similarity
        return torch.where(similarity > cfg.max_similarity, torch.zeros_like(reward), reward)


class NGUReward(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.rnd = RND(cfg)
        self.episodic = EpisodicNovelty(cfg)

    def forward(self, obs, memory, count):
        modulator = self.rnd(obs)
        episodic = self.episodic(obs, memory, count)
        reward = episodic * modulator.clamp(1.0, self.cfg.max_scale)
        return reward, episodic, modulator


def make(seed=0):
    torch.manual_seed(seed)
    net = NGUReward(NGUConfig())
    net.rnd.norm.mean.normal_(0, 0.5)
    net.rnd.norm.var.uniform_(0.2, 4.0)
    return net.eval()


def load(model, reference):
    pass


def inputs(seed):
    rng = np.random.default_rng(seed)
    b, m, d = 8, 9, NGUConfig().obs_dim
    obs = rng.normal(size=(b, d)).astype(np.float32)
    obs[[1, 6]] *= 4
    memory = (obs[:, None] + rng.normal(size=(b, m, d)) * rng.uniform(0.1, 1, size=(b, m, 1))).astype(np.float32)
    count = rng.integers(5, m + 1, size=b).astype(np.int64)
    count[4] = 2
    return obs, memory, count
