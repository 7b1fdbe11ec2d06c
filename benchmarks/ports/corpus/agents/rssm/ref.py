"""The recurrent state-space model of DreamerV2 with Gaussian latents."""
import numpy as np
import torch
import torch.distributions as td
from torch import nn

FRAMEWORK = "torch"


class NormGRUCell(nn.Module):
    def __init__(self, inp, size, update_bias=-1.0):
        super().__init__()
        self.size = size
        self.update_bias = update_bias
        self.layer = nn.Linear(inp + size, 3 * size, bias=False)
        self.norm = nn.LayerNorm(3 * size)

    def forward(self, x, state):
        parts = self.norm(self.layer(torch.cat([x, state], -1)))
        reset, cand, update = torch.split(parts, [self.size] * 3, -1)
        reset = torch.sigmoid(reset)
        cand = torch.tanh(reset * cand)
        update = torch.sigmoid(update + self.update_bias)
        return update * cand + (1 - update) * state


class RSSM(nn.Module):
    def __init__(self, embed=10, action=3, stoch=6, deter=20, hidden=24, min_std=0.1, free=0.5):
        super().__init__()
        self.stoch, self.deter, self.min_std, self.free = stoch, deter, min_std, free
        self.img_in = nn.Sequential(nn.Linear(stoch + action, hidden), nn.ELU())
        self.cell = NormGRUCell(hidden, deter)
        self.img_out = nn.Sequential(nn.Linear(deter, hidden), nn.ELU(), nn.Linear(hidden, 2 * stoch))
        self.obs_out = nn.Sequential(nn.Linear(deter + embed, hidden), nn.ELU(), nn.Linear(hidden, 2 * stoch))

    def dist(self, stats):
        mean, std = stats.chunk(2, -1)
        std = 2 * torch.sigmoid(std / 2) + self.min_std
        return td.Normal(mean, std)

    def forward(self, embed, action, is_first, noise):
        batch, length = is_first.shape
        stoch = embed.new_zeros(batch, self.stoch)
        deter = embed.new_zeros(batch, self.deter)
        history = []
        for t in range(length):
            keep = (1.0 - is_first[:, t])[:, None]
            stoch, deter, prev_action = stoch * keep, deter * keep, action[:, t] * keep
            x = self.img_in(torch.cat([stoch, prev_action], -1))
            deter = self.cell(x, deter)
            prior = self.dist(self.img_out(deter))
            post = self.dist(self.obs_out(torch.cat([deter, embed[:, t]], -1)))
            stoch = post.mean + post.stddev * noise[:, t]
            kl = td.kl_divergence(post, prior).sum(-1)
            history.append((deter, stoch, prior.mean, prior.stddev, kl))
        deter, stoch, mean, std, kl = (torch.stack(column, 1) for column in zip(*history))
        return {
            "deter": deter,
            "stoch": stoch,
            "prior_mean": mean,
            "prior_std": std,
            "kl": torch.clamp(kl, min=self.free),
        }


def make():
    torch.manual_seed(21)
    net = RSSM()
    for name, p in net.named_parameters():
        if name == "cell.norm.weight":
            nn.init.uniform_(p, 0.6, 1.4)
        elif name.endswith("bias"):
            nn.init.uniform_(p, -0.4, 0.4)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    batch, length = 3, 5
    is_first = np.zeros((batch, length), np.float32)
    is_first[:, 0] = 1
    is_first[1, 3] = is_first[2, 2] = 1
    normal = lambda *shape: rng.normal(size=shape).astype(np.float32)
    return normal(batch, length, 10), normal(batch, length, 3), is_first, normal(batch, length, 6)
