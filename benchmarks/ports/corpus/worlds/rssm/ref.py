"""DreamerV3's RSSM: observe steps with categorical latents, and the KL losses. torch."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F
from torch.distributions import OneHotCategorical, kl_divergence

FRAMEWORK = "torch"
DETER, STOCH, CLASSES, HID, EMBED, ACT = 20, 4, 6, 24, 18, 3


class RSSM(nn.Module):
    """embed (B, T, E), action (B, T, A), is_first (B, T)"""

    def __init__(self, unimix=0.01):
        super().__init__()
        self.unimix = unimix
        self.img_in = nn.Linear(STOCH * CLASSES + ACT, HID, bias=False)
        self.img_norm = nn.LayerNorm(HID, eps=1e-3)
        self.gru = nn.Linear(HID + DETER, 3 * DETER, bias=False)
        self.gru_norm = nn.LayerNorm(3 * DETER, eps=1e-3)
        self.img_out = nn.Linear(DETER, HID, bias=False)
        self.img_out_norm = nn.LayerNorm(HID, eps=1e-3)
        self.img_stats = nn.Linear(HID, STOCH * CLASSES)
        self.obs_out = nn.Linear(DETER + EMBED, HID, bias=False)
        self.obs_out_norm = nn.LayerNorm(HID, eps=1e-3)
        self.obs_stats = nn.Linear(HID, STOCH * CLASSES)
        self.initial = nn.Parameter(0.5 * torch.randn(DETER))

    def logits(self, x):
        x = x.view(-1, STOCH, CLASSES)
        probs = (1 - self.unimix) * torch.softmax(x, -1) + self.unimix / CLASSES
        return torch.log(probs)

    def prior(self, deter):
        return self.logits(self.img_stats(F.silu(self.img_out_norm(self.img_out(deter)))))

    def cell(self, x, deter):
        parts = self.gru_norm(self.gru(torch.cat([x, deter], -1)))
        reset, cand, update = parts.chunk(3, -1)
        reset = torch.sigmoid(reset)
        cand = torch.tanh(reset * cand)
        update = torch.sigmoid(update - 1)
        return update * cand + (1 - update) * deter

    def forward(self, embed, action, is_first):
        B, T = embed.shape[:2]
        start = torch.tanh(self.initial).expand(B, -1)
        start_stoch = F.one_hot(self.prior(start).argmax(-1), CLASSES).float().flatten(1)
        deter, stoch = start, start_stoch
        deters, stochs, posts, priors = [], [], [], []
        for t in range(T):
            first = is_first[:, t : t + 1]
            deter = deter * (1 - first) + start * first
            stoch = stoch * (1 - first) + start_stoch * first
            act = action[:, t] * (1 - first)
            x = F.silu(self.img_norm(self.img_in(torch.cat([stoch, act], -1))))
            deter = self.cell(x, deter)
            prior = self.prior(deter)
            h = F.silu(self.obs_out_norm(self.obs_out(torch.cat([deter, embed[:, t]], -1))))
            post = self.logits(self.obs_stats(h))
            dist = OneHotCategorical(logits=post)
            sample = dist.sample()
            stoch = (sample + dist.probs - dist.probs.detach()).flatten(1)
            for xs, x_ in ((deters, deter), (stochs, stoch), (posts, post), (priors, prior)):
                xs.append(x_)
        post, prior = torch.stack(posts, 1), torch.stack(priors, 1)
        kl = kl_divergence(OneHotCategorical(logits=post), OneHotCategorical(logits=prior)).sum(-1)
        loss = torch.clamp(kl, min=1.0).mean()
        return {"deter": torch.stack(deters, 1), "stoch": torch.stack(stochs, 1),
                "prior": prior, "kl": kl, "loss": 0.6 * loss}


def rough(module, seed=7, size=0.1):
    """Moves all vectors (biases, norms) off their trivial defaults, as training would."""
    gen = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in module.parameters():
            if p.ndim == 1:
                p.add_(size * torch.randn(p.shape, generator=gen))
    return module


def make():
    torch.manual_seed(8)
    net = rough(RSSM())
    with torch.no_grad():
        net.obs_stats.weight.mul_(2)
        net.img_stats.weight.mul_(1.5)
    return net


def inputs(seed):
    g = np.random.default_rng(seed + 8)
    B, T = 5, 4
    first = (g.random((B, T)) < 0.25).astype("float32")
    first[:, 0] = 1
    return (g.normal(size=(B, T, EMBED)).astype("float32"),
            g.uniform(-1, 1, (B, T, ACT)).astype("float32"), first)
