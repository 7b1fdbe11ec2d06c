"""RSSM of a Dreamer: posterior over a sequence, KL, two-hot rewards and lambda returns."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
S, C, DETER, HID, BINS = 4, 6, 20, 24, 21


def symlog(x):
    return torch.sign(x) * torch.log1p(x.abs())


def symexp(x):
    return torch.sign(x) * torch.expm1(x.abs())


class Block(nn.Sequential):
    def __init__(self, n_in, n_out):
        super().__init__(nn.Linear(n_in, n_out), nn.LayerNorm(n_out, eps=1e-3), nn.SiLU())


class NormGRU(nn.Module):
    def __init__(self, n_in, n):
        super().__init__()
        self.lin = nn.Linear(n_in + n, 3 * n, bias=False)
        self.norm = nn.LayerNorm(3 * n, eps=1e-3)

    def forward(self, x, h):
        reset, cand, update = self.norm(self.lin(torch.cat([x, h], -1))).chunk(3, -1)
        cand = torch.tanh(torch.sigmoid(reset) * cand)
        update = torch.sigmoid(update - 1)
        return update * cand + (1 - update) * h


class RSSM(nn.Module):
    unimix, free, discount, lam = 0.01, 2.0, 0.95, 0.9

    def __init__(self, obs=9, act=3):
        super().__init__()
        self.encoder = Block(obs, HID)
        self.inp = Block(S * C + act, HID)
        self.gru = NormGRU(HID, DETER)
        self.prior = nn.Sequential(Block(DETER, HID), nn.Linear(HID, S * C))
        self.post = nn.Sequential(Block(DETER + HID, HID), nn.Linear(HID, S * C))
        self.reward = nn.Sequential(Block(DETER + S * C, HID), nn.Linear(HID, BINS))
        self.value = nn.Sequential(Block(DETER + S * C, HID), nn.Linear(HID, BINS))
        self.init_deter = nn.Parameter(torch.zeros(DETER))

    def log_probs(self, x):
        p = x.unflatten(-1, (S, C)).softmax(-1)
        return ((1 - self.unimix) * p + self.unimix / C).log()

    @staticmethod
    def mode(logp):
        return F.one_hot(logp.argmax(-1), C).float().flatten(-2)

    def read(self, head, feat):
        bins = torch.linspace(-5, 5, BINS)
        return symexp((head(feat).softmax(-1) * bins).sum(-1))

    def forward(self, obs, action, is_first):
        embed = self.encoder(symlog(obs))
        n = len(obs)
        deter0 = torch.tanh(self.init_deter).expand(n, -1)
        stoch0 = self.mode(self.log_probs(self.prior(deter0)))
        deter, stoch = deter0, stoch0
        steps = []
        for t in range(obs.shape[1]):
            first = is_first[:, t, None]
            deter = torch.where(first, deter0, deter)
            stoch = torch.where(first, stoch0, stoch)
            act = torch.where(first, torch.zeros(()), action[:, t])
            deter = self.gru(self.inp(torch.cat([stoch, act], -1)), deter)
            post = self.log_probs(self.post(torch.cat([deter, embed[:, t]], -1)))
            prior = self.log_probs(self.prior(deter))
            stoch = self.mode(post)
            steps.append((deter, stoch, post, prior))
        deter, stoch, post, prior = (torch.stack(s, 1) for s in zip(*steps))

        kl = (post.exp() * (post - prior)).sum(-1)
        kl = kl.sum(-1).clamp(min=self.free)
        feat = torch.cat([deter, stoch], -1)
        reward, value = self.read(self.reward, feat), self.read(self.value, feat)
        ret = [value[:, -1]]
        for t in reversed(range(value.shape[1] - 1)):
            boot = (1 - self.lam) * value[:, t + 1] + self.lam * ret[-1]
            ret.append(reward[:, t] + self.discount * boot)
        return {"deter": deter, "post": post, "kl": kl, "reward": reward, "returns": torch.stack(ret[::-1], 1)}


def make():
    torch.manual_seed(3)
    model = RSSM()
    with torch.no_grad():
        for n, p in model.named_parameters():
            p.normal_(0, 0.4 if p.ndim == 1 else 1.6 / p.shape[1] ** 0.5)
        for m in model.modules():
            if isinstance(m, nn.LayerNorm):
                m.weight.uniform_(0.6, 1.4)
    return model.eval()


def inputs(seed):
    g = np.random.default_rng(seed)
    first = g.random((4, 5)) < 0.2
    first[:, 0] = True
    first[1, 3] = True
    return (
        (g.normal(size=(4, 5, 9)) * 3).astype("float32"),
        g.uniform(-1, 1, size=(4, 5, 3)).astype("float32"),
        first,
    )
