"""Recurrent state-space model (Dreamer) with categorical latents, observed over a sequence."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
ACT, EMBED, DETER, GROUPS, CLASSES = 4, 16, 24, 6, 5
STOCH = GROUPS * CLASSES


class NormGRUCell(nn.Module):
    def __init__(self, inp, size):
        super().__init__()
        self.linear = nn.Linear(inp + size, 3 * size, bias=False)
        self.norm = nn.LayerNorm(3 * size, eps=1e-3)

    def forward(self, x, h):
        parts = self.norm(self.linear(torch.cat([x, h], -1)))
        reset, cand, update = parts.chunk(3, -1)
        reset = torch.sigmoid(reset)
        cand = torch.tanh(reset * cand)
        update = torch.sigmoid(update - 1.0)
        return update * cand + (1 - update) * h


class RSSM(nn.Module):
    def __init__(self, unimix=0.05, free=0.1):
        super().__init__()
        self.unimix, self.free = unimix, free
        self.inp = nn.Linear(STOCH + ACT, 20)
        self.cell = NormGRUCell(20, DETER)
        self.prior = nn.Sequential(nn.Linear(DETER, 20), nn.SiLU(), nn.Linear(20, STOCH))
        self.post = nn.Sequential(nn.Linear(DETER + EMBED, 20), nn.SiLU(), nn.Linear(20, STOCH))
        self.deter0 = nn.Parameter(torch.zeros(DETER))

    def probs(self, logits):
        p = torch.softmax(logits.view(-1, GROUPS, CLASSES), dim=-1)
        return (1 - self.unimix) * p + self.unimix / CLASSES

    def mode(self, probs):
        hard = F.one_hot(probs.argmax(-1), CLASSES).to(probs.dtype)
        return (hard + probs - probs.detach()).flatten(1)

    def initial(self, batch):
        deter = torch.tanh(self.deter0).expand(batch, -1)
        return deter, self.mode(self.probs(self.prior(deter)))

    def forward(self, embeds, actions, is_first):
        b, t = actions.shape[:2]
        deter0, stoch0 = self.initial(b)
        deter, stoch = deter0, stoch0
        deters, kls, stochs = [], [], []
        for i in range(t):
            first = is_first[:, i : i + 1]
            deter = (1 - first) * deter + first * deter0
            stoch = (1 - first) * stoch + first * stoch0
            action = (1 - first) * actions[:, i]
            x = F.silu(self.inp(torch.cat([stoch, action], -1)))
            deter = self.cell(x, deter)
            prior = self.probs(self.prior(deter))
            post = self.probs(self.post(torch.cat([deter, embeds[:, i]], -1)))
            kl = (post * (post.log() - prior.log())).sum(dim=(-2, -1))
            stoch = self.mode(post)
            deters.append(deter)
            stochs.append(stoch)
            kls.append(kl.clamp(min=self.free))
        features = torch.cat([torch.stack(deters, 1), torch.stack(stochs, 1)], -1)
        return features, torch.stack(kls, 1)


def make():
    torch.manual_seed(8)
    net = RSSM()
    with torch.no_grad():
        for name, p in net.named_parameters():
            if name == "cell.norm.weight":
                p.uniform_(0.6, 1.6)
            elif p.dim() > 1:
                p.normal_(0, 1.5 / math.sqrt(p.shape[1]))
            else:
                p.normal_(0, 0.4)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    b, t = 4, 5
    embeds = rng.normal(size=(b, t, EMBED)).astype("float32")
    actions = rng.normal(size=(b, t, ACT)).astype("float32")
    first = np.zeros((b, t), "float32")
    first[:, 0] = 1
    first[1, 3] = first[2, 2] = 1
    return embeds, actions, first
