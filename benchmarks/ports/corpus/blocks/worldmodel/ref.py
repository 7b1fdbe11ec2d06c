"""A world model after DreamerV3, rolled over a sequence with expected (not sampled) codes."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
OBS, ACT, DETER, CODES, CLASSES, UNITS, BINS = 9, 3, 20, 4, 5, 24, 41


def symlog(x):
    return torch.sign(x) * torch.log1p(torch.abs(x))


def symexp(x):
    return torch.sign(x) * torch.expm1(torch.abs(x))


class Dense(nn.Sequential):
    def __init__(self, size, units=UNITS):
        super().__init__(nn.Linear(size, units), nn.LayerNorm(units, eps=1e-3), nn.SiLU())


class GRUCell(nn.Module):
    """One layer norm over all gates; the update gate is biased towards the old state."""

    def __init__(self, size):
        super().__init__()
        self.layer = nn.Linear(size + DETER, 3 * DETER, bias=False)
        self.norm = nn.LayerNorm(3 * DETER, eps=1e-3)

    def forward(self, x, state):
        parts = self.norm(self.layer(torch.cat([x, state], -1)))
        reset, cand, update = torch.chunk(parts, 3, -1)
        reset = torch.sigmoid(reset)
        cand = torch.tanh(reset * cand)
        update = torch.sigmoid(update - 1)
        return update * cand + (1 - update) * state


class WorldModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(Dense(OBS), Dense(UNITS))
        self.img_in = Dense(CODES * CLASSES + ACT)
        self.cell = GRUCell(UNITS)
        self.prior = nn.Sequential(Dense(DETER), nn.Linear(UNITS, CODES * CLASSES))
        self.posterior = nn.Sequential(Dense(DETER + UNITS), nn.Linear(UNITS, CODES * CLASSES))
        self.decoder = nn.Sequential(Dense(DETER + CODES * CLASSES), nn.Linear(UNITS, OBS))
        self.reward = nn.Sequential(Dense(DETER + CODES * CLASSES), nn.Linear(UNITS, BINS))
        self.register_buffer("bins", symexp(torch.linspace(-3, 3, BINS)))

    def code(self, logits, unimix=0.01):
        probs = F.softmax(logits.view(-1, CODES, CLASSES), dim=-1)
        return (1 - unimix) * probs + unimix / CLASSES

    def forward(self, obs, action, is_first):
        batch, time, _ = obs.shape
        embed = self.encoder(symlog(obs))
        deter = torch.zeros(batch, DETER)
        stoch = torch.zeros(batch, CODES * CLASSES)
        feats, kls = [], []
        for t in range(time):
            keep = (1 - is_first[:, t])[:, None]
            deter, stoch, act = deter * keep, stoch * keep, action[:, t] * keep
            act = act / torch.clamp(act.abs(), min=1.0)
            deter = self.cell(self.img_in(torch.cat([stoch, act], -1)), deter)
            prior = self.code(self.prior(deter))
            post = self.code(self.posterior(torch.cat([deter, embed[:, t]], -1)))
            kl = (post * (post.log() - prior.log())).sum((-2, -1))
            kls.append(torch.clamp(kl, min=0.3))
            stoch = post.flatten(1)
            feats.append(torch.cat([deter, stoch], -1))
        feat = torch.stack(feats, 1)
        recon = symexp(self.decoder(feat))
        reward = (F.softmax(self.reward(feat), -1) * self.bins).sum(-1)
        return {"recon": recon, "reward": reward, "kl": torch.stack(kls, 1)}


def make():
    torch.manual_seed(17)
    net = WorldModel()
    for module in net.modules():
        if isinstance(module, nn.LayerNorm):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias, std=0.3)
        elif isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=0.25)
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    first = np.zeros((3, 5), "float32")
    first[:, 0] = 1
    first[1, 3] = 1
    return {
        "obs": rng.normal(size=(3, 5, OBS), scale=3).astype("float32"),
        "action": rng.normal(size=(3, 5, ACT)).astype("float32"),
        "is_first": first,
    }
