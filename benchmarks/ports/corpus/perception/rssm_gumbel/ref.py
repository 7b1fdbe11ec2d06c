"""Dreamer's discrete RSSM: posterior and prior over a sequence, sampled with Gumbel noise."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
STOCH, CLASSES, DETER, HIDDEN, EMBED, ACTION = 4, 6, 24, 20, 14, 3


def sample_gumbel(shape, eps=1e-6):
    u = torch.rand(shape)
    return -torch.log(-torch.log(u + eps) + eps)


class GRUCell(nn.Module):
    """A GRU cell with one joint kernel and a layer norm."""

    def __init__(self, inp_size, size, update_bias=-1.0):
        super().__init__()
        self.layers = nn.Linear(inp_size + size, 3 * size, bias=False)
        self.norm = nn.LayerNorm(3 * size, eps=1e-3)
        self.update_bias = update_bias

    def forward(self, inputs, state):
        parts = self.norm(self.layers(torch.cat([inputs, state], -1)))
        reset, cand, update = torch.chunk(parts, 3, dim=-1)
        reset = torch.sigmoid(reset)
        cand = torch.tanh(reset * cand)
        update = torch.sigmoid(update + self.update_bias)
        return update * cand + (1 - update) * state


class RSSM(nn.Module):
    def __init__(self, unimix=0.01, temperature=0.7):
        super().__init__()
        self.img_in = nn.Sequential(
            nn.Linear(STOCH * CLASSES + ACTION, HIDDEN), nn.LayerNorm(HIDDEN, eps=1e-3), nn.SiLU()
        )
        self.cell = GRUCell(HIDDEN, DETER)
        self.img_out = nn.Sequential(nn.Linear(DETER, HIDDEN), nn.LayerNorm(HIDDEN, eps=1e-3), nn.SiLU())
        self.ims_stat = nn.Linear(HIDDEN, STOCH * CLASSES)
        self.obs_out = nn.Sequential(
            nn.Linear(DETER + EMBED, HIDDEN), nn.LayerNorm(HIDDEN, eps=1e-3), nn.SiLU()
        )
        self.obs_stat = nn.Linear(HIDDEN, STOCH * CLASSES)
        self.unimix = unimix
        self.temperature = temperature
        self.W = nn.Parameter(0.1 * torch.randn(DETER))

    def stats(self, layer, x):
        logit = layer(x).reshape(-1, STOCH, CLASSES)
        probs = F.softmax(logit, dim=-1)
        probs = probs * (1.0 - self.unimix) + self.unimix / CLASSES
        return torch.log(probs)

    def sample(self, logit):
        y = (logit + sample_gumbel(logit.shape)) / self.temperature
        return F.softmax(y, dim=-1)

    def forward(self, embed, action, is_first):
        B, T = embed.shape[:2]
        deter = torch.tanh(self.W).expand(B, -1)
        stoch = self.stats(self.ims_stat, self.img_out(deter)).exp()
        init = deter, stoch
        posts, priors, deters, stochs = [], [], [], []
        for t in range(T):
            first = is_first[:, t].view(B, 1)
            act = action[:, t] * (1.0 - first)
            deter = deter * (1.0 - first) + init[0] * first
            stoch = stoch * (1.0 - first[..., None]) + init[1] * first[..., None]
            x = torch.cat([stoch.reshape(B, -1), act], -1)
            deter = self.cell(self.img_in(x), deter)
            prior = self.stats(self.ims_stat, self.img_out(deter))
            post = self.stats(self.obs_stat, self.obs_out(torch.cat([deter, embed[:, t]], -1)))
            stoch = self.sample(post)
            posts.append(post), priors.append(prior), deters.append(deter), stochs.append(stoch)
        post, prior = torch.stack(posts, 1), torch.stack(priors, 1)
        kl = (post.exp() * (post - prior)).sum(-1).sum(-1)
        kl_loss = torch.clamp(kl, min=0.05).mean()
        feat = torch.cat([torch.stack(stochs, 1).flatten(2), torch.stack(deters, 1)], -1)
        return feat, post, prior, kl_loss


def make():
    torch.manual_seed(5)
    return RSSM()


def inputs(seed):
    rng = np.random.default_rng(seed)
    B, T = 5, 3
    first = np.zeros((B, T), "float32")
    first[:, 0] = 1
    first[2, 2] = first[4, 1] = 1
    return (
        rng.normal(size=(B, T, EMBED)).astype("float32"),
        rng.uniform(-1, 1, size=(B, T, ACTION)).astype("float32"),
        first,
    )
