"""DreamerV3-like RSSM: observe a sequence, categorical latents, unimix, KL with free nats."""
import numpy as np, torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
STOCH, CLASSES, DETER, HID, ACT, EMB = 6, 8, 32, 24, 4, 20


class TorchRSSM(nn.Module):
    def __init__(self):
        super().__init__()
        self.img_in = nn.Linear(STOCH * CLASSES + ACT, HID)
        self.img_norm = nn.LayerNorm(HID, eps=1e-3)
        self.gru = nn.Linear(HID + DETER, 3 * DETER, bias=False)
        self.gru_norm = nn.LayerNorm(3 * DETER, eps=1e-3)
        self.prior1 = nn.Linear(DETER, HID)
        self.prior_norm = nn.LayerNorm(HID, eps=1e-3)
        self.prior2 = nn.Linear(HID, STOCH * CLASSES)
        self.post1 = nn.Linear(DETER + EMB, HID)
        self.post_norm = nn.LayerNorm(HID, eps=1e-3)
        self.post2 = nn.Linear(HID, STOCH * CLASSES)

    def logits(self, raw):
        probs = torch.softmax(raw.reshape(-1, STOCH, CLASSES), -1)
        return torch.log(0.99 * probs + 0.01 / CLASSES)

    def step(self, deter, stoch, action, embed, first):
        keep = (1.0 - first)[:, None]
        deter, stoch, action = deter * keep, stoch * keep, action * keep
        x = F.silu(self.img_norm(self.img_in(torch.cat([stoch, action], -1))))
        parts = self.gru_norm(self.gru(torch.cat([x, deter], -1)))
        reset, cand, update = torch.chunk(parts, 3, -1)
        cand = torch.tanh(torch.sigmoid(reset) * cand)
        update = torch.sigmoid(update - 1.0)
        deter = update * cand + (1 - update) * deter
        prior = self.logits(self.prior2(F.silu(self.prior_norm(self.prior1(deter)))))
        post = self.logits(self.post2(F.silu(self.post_norm(self.post1(torch.cat([deter, embed], -1))))))
        sample = torch.distributions.OneHotCategorical(logits=post).sample()
        return deter, sample.flatten(1), prior, post

    def forward(self, embeds, actions, first):
        deter = embeds.new_zeros(embeds.shape[0], DETER)
        stoch = embeds.new_zeros(embeds.shape[0], STOCH * CLASSES)
        deters, stochs, kls = [], [], []
        for t in range(embeds.shape[1]):
            deter, stoch, prior, post = self.step(deter, stoch, actions[:, t], embeds[:, t], first[:, t])
            kl = (post.exp() * (post - prior)).sum(-1).sum(-1)
            deters.append(deter); stochs.append(stoch); kls.append(torch.clamp(kl, min=1.0))
        return {"deter": torch.stack(deters, 1), "stoch": torch.stack(stochs, 1), "kl": torch.stack(kls, 1)}


def make():
    torch.manual_seed(1)
    net = TorchRSSM().eval()
    with torch.no_grad():
        for n, p in net.named_parameters():
            p.copy_(torch.randn_like(p) * 0.3 + (1.0 if "norm.weight" in n else 0.0))
    return net


def inputs(seed):
    r = np.random.default_rng(seed + 1)
    first = np.zeros((4, 3), "float32"); first[:, 0] = 1; first[1, 1] = 1; first[3, 2] = 1
    return (r.normal(size=(4, 3, EMB)).astype("float32"), r.normal(size=(4, 3, ACT)).astype("float32"), first)
