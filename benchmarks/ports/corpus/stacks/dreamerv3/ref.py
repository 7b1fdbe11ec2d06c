"""DreamerV3 world model on vectors: RSSM.observe, reward and continue heads, KL losses."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
FRAMEWORK = "torch"
OBS, ACT, DETER, GROUPS, CLASSES, HID, BINS = 7, 3, 24, 4, 6, 20, 15


def symlog(x):
    return torch.sign(x) * torch.log1p(torch.abs(x))


def symexp(x):
    return torch.sign(x) * torch.expm1(torch.abs(x))


def block(i, o):
    return nn.Sequential(nn.Linear(i, o, bias=False), nn.LayerNorm(o, eps=1e-3), nn.SiLU())


class RSSM(nn.Module):
    def __init__(self):
        super().__init__()
        z = GROUPS * CLASSES
        self.encoder = nn.Sequential(block(OBS, HID), block(HID, HID))
        self.img_in = block(z + ACT, HID)
        self.gru = nn.Linear(HID + DETER, 3 * DETER, bias=False)
        self.gru_norm = nn.LayerNorm(3 * DETER, eps=1e-3)
        self.prior = nn.Sequential(block(DETER, HID), nn.Linear(HID, z))
        self.post = nn.Sequential(block(DETER + HID, HID), nn.Linear(HID, z))
        self.reward = nn.Sequential(block(DETER + z, HID), nn.Linear(HID, BINS))
        self.cont = nn.Linear(DETER + z, 1)
        self.register_buffer("bins", symexp(torch.linspace(-3, 3, BINS)))

    def cell(self, x, deter):
        parts = self.gru_norm(self.gru(torch.cat([x, deter], -1)))
        reset, cand, update = parts.chunk(3, dim=-1)
        cand = torch.tanh(torch.sigmoid(reset) * cand)
        update = torch.sigmoid(update - 1)
        return update * cand + (1 - update) * deter

    def log_probs(self, logits):
        probs = logits.unflatten(-1, (GROUPS, CLASSES)).softmax(-1)
        return torch.log(0.99 * probs + 0.01 / CLASSES)

    def forward(self, obs, action, is_first):
        batch, length = is_first.shape
        embed = self.encoder(symlog(obs))
        deter = obs.new_zeros(batch, DETER)
        stoch = obs.new_zeros(batch, GROUPS * CLASSES)
        feats, kls = [], []
        for t in range(length):
            keep = 1.0 - is_first[:, t].unsqueeze(-1)
            deter, stoch, act = deter * keep, stoch * keep, action[:, t] * keep
            deter = self.cell(self.img_in(torch.cat([stoch, act], -1)), deter)
            prior = self.log_probs(self.prior(deter))
            post = self.log_probs(self.post(torch.cat([deter, embed[:, t]], -1)))
            kl = (post.exp() * (post - prior)).sum((-2, -1))
            kls.append(kl.clamp(min=0.1))
            stoch = F.one_hot(post.argmax(-1), CLASSES).to(post.dtype).flatten(1)
            feats.append(torch.cat([deter, stoch], -1))
        feat = torch.stack(feats, 1)
        reward = (self.reward(feat).softmax(-1) * self.bins).sum(-1)
        return dict(feat=feat, kl=torch.stack(kls, 1), reward=reward,
                    cont=torch.sigmoid(self.cont(feat)).squeeze(-1))


def make():
    torch.manual_seed(21)
    net = RSSM().eval()
    with torch.no_grad():
        for m in net.modules():
            if isinstance(m, nn.LayerNorm):
                m.weight.normal_(1.0, 0.2)
                m.bias.normal_(0.0, 0.2)
            elif isinstance(m, nn.Linear):
                m.weight.mul_(2)
    return net


def inputs(seed):
    g = np.random.default_rng(seed)
    first = np.zeros((4, 6), "float32")
    first[:, 0] = 1
    first[1, 3] = first[3, 4] = 1
    obs = (g.normal(size=(4, 6, OBS)) * 4).astype("float32")
    return obs, np.tanh(g.normal(size=(4, 6, ACT))).astype("float32"), first
