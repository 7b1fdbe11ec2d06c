"""Dreamer-style world model (RSSM), latents set to their means, teacher-forced over a sequence."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Independent, Normal, kl_divergence

FRAMEWORK = "torch"
T, ACT, DET, STO, EMB = 4, 3, 20, 6, 24
FREE = 1.5


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(3, 6, 4, stride=2, padding=1)
        self.c2 = nn.Conv2d(6, 8, 3, stride=2, padding=1)
        self.fc = nn.Linear(8 * 4 * 4, EMB)

    def forward(self, x):
        x = F.elu(self.c1(x))
        x = F.elu(self.c2(x))
        return self.fc(x.flatten(1))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(DET + STO, 8 * 4 * 4)
        self.d1 = nn.ConvTranspose2d(8, 6, 4, stride=2, padding=1)
        self.d2 = nn.ConvTranspose2d(6, 3, 4, stride=2, padding=1)

    def forward(self, feat):
        x = F.elu(self.fc(feat)).view(-1, 8, 4, 4)
        return self.d2(F.elu(self.d1(x)))


class RSSM(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(STO + ACT, DET)
        self.cell = nn.GRUCell(DET, DET)
        self.prior = nn.Sequential(nn.Linear(DET, 16), nn.ELU(), nn.Linear(16, 2 * STO))
        self.post = nn.Sequential(nn.Linear(DET + EMB, 16), nn.ELU(), nn.Linear(16, 2 * STO))

    @staticmethod
    def dist(x):
        mean, std = x.chunk(2, -1)
        return mean, F.softplus(std) + 0.1

    def step(self, deter, stoch, action, embed, first):
        keep = (1 - first).unsqueeze(-1)
        deter, stoch, action = deter * keep, stoch * keep, action * keep
        x = F.elu(self.inp(torch.cat([stoch, action], -1)))
        deter = self.cell(x, deter)
        prior = self.dist(self.prior(deter))
        post = self.dist(self.post(torch.cat([deter, embed], -1)))
        return deter, post[0], prior, post


class WorldModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.rssm = RSSM()
        self.decoder = Decoder()
        self.reward = nn.Sequential(nn.Linear(DET + STO, 16), nn.ELU(), nn.Linear(16, 1))

    def forward(self, image, action, is_first):
        b, t = image.shape[:2]
        obs = image / 255.0 - 0.5
        embed = self.encoder(obs.flatten(0, 1)).view(b, t, -1)
        deter = image.new_zeros(b, DET)
        stoch = image.new_zeros(b, STO)
        feats, kls = [], []
        for i in range(t):
            deter, stoch, (pm, ps), (qm, qs) = self.rssm.step(deter, stoch, action[:, i], embed[:, i], is_first[:, i])
            kl = kl_divergence(Independent(Normal(qm, qs), 1), Independent(Normal(pm, ps), 1))
            kls.append(kl.clamp(min=FREE))
            feats.append(torch.cat([deter, stoch], -1))
        feat = torch.stack(feats, 1)
        recon = self.decoder(feat.flatten(0, 1)).view_as(obs)
        nll = 0.5 * (recon - obs).pow(2).sum(dim=(2, 3, 4))
        return {"feat": feat, "kl": torch.stack(kls, 1), "image_nll": nll, "reward": self.reward(feat).squeeze(-1)}


def make():
    torch.manual_seed(2)
    net = WorldModel()
    with torch.no_grad():
        for p in net.parameters():
            if p.dim() == 1:
                p.normal_(0, 0.2)
            else:
                p.mul_(1.8)
    return net.eval()


def inputs(seed):
    rng = np.random.RandomState(seed + 40)
    b = 3
    image = rng.randint(0, 256, size=(b, T, 3, 16, 16)).astype(np.float32)
    action = np.eye(ACT, dtype=np.float32)[rng.randint(0, ACT, size=(b, T))]
    is_first = np.zeros((b, T), np.float32)
    is_first[:, 0] = 1
    is_first[0, 2] = 1
    is_first[1, 3] = 1
    return image, action, is_first
