"""Dreamer-like RSSM: layer-norm GRU, categorical latents with unimix, symlog two-hot head."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
DETER, STOCH, CLASSES, T, ACT, EMB, BINS = 24, 4, 6, 3, 2, 12, 15


class GRUCell(nn.Module):
    def __init__(self, inp, size, update_bias=-1):
        super().__init__()
        self.layer = nn.Linear(inp + size, 3 * size, bias=False)
        self.norm = nn.LayerNorm(3 * size, eps=1e-3)
        self.update_bias = update_bias

    def forward(self, x, h):
        reset, cand, update = torch.chunk(self.norm(self.layer(torch.cat([x, h], -1))), 3, -1)
        reset = torch.sigmoid(reset)
        cand = torch.tanh(reset * cand)
        update = torch.sigmoid(update + self.update_bias)
        return update * cand + (1 - update) * h


class TorchRSSM(nn.Module):
    def __init__(self):
        super().__init__()
        self.img_in = nn.Sequential(nn.Linear(STOCH * CLASSES + ACT, 32, bias=False), nn.LayerNorm(32, eps=1e-3), nn.SiLU())
        self.cell = GRUCell(32, DETER)
        self.obs_out = nn.Sequential(nn.Linear(DETER + EMB, 32, bias=False), nn.LayerNorm(32, eps=1e-3), nn.SiLU())
        self.obs_logits = nn.Linear(32, STOCH * CLASSES)
        self.reward = nn.Linear(DETER + STOCH * CLASSES, BINS)
        self.register_buffer("bins", torch.linspace(-5, 5, BINS))

    def logits(self, x):
        x = x.reshape(*x.shape[:-1], STOCH, CLASSES)
        probs = 0.99 * F.softmax(x, -1) + 0.01 / CLASSES
        return torch.log(probs)

    def symexp(self, x):
        return torch.sign(x) * (torch.exp(torch.abs(x)) - 1)

    def forward(self, embed, action):
        b = embed.shape[0]
        deter, stoch = torch.zeros(b, DETER), torch.zeros(b, STOCH * CLASSES)
        rewards, posts = [], []
        for t in range(T):
            x = self.img_in(torch.cat([stoch, action[:, t]], -1))
            deter = self.cell(x, deter)
            x = self.obs_out(torch.cat([deter, embed[:, t]], -1))
            logit = self.logits(self.obs_logits(x))
            stoch = torch.distributions.OneHotCategorical(logits=logit).sample().reshape(b, -1)
            probs = F.softmax(self.reward(torch.cat([deter, stoch], -1)), -1)
            rewards.append(self.symexp((probs * self.bins).sum(-1)))
            posts.append(logit)
        return torch.stack(rewards, 1), torch.stack(posts, 1)


def make():
    torch.manual_seed(6)
    net = TorchRSSM().eval()
    with torch.no_grad():
        for m in net.modules():
            if isinstance(m, nn.LayerNorm):
                m.weight.uniform_(0.5, 1.5)
                m.bias.normal_(0, 0.1)
    return net


def inputs(seed):
    r = np.random.default_rng(seed + 16)
    return r.normal(size=(6, T, EMB)).astype("float32"), r.normal(size=(6, T, ACT)).astype("float32")
