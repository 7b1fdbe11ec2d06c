"""Play-LMP: latent plans from play. Recognition, proposal, and a logistic-mixture action decoder."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F
from torch.distributions import Normal, kl_divergence

FRAMEWORK = "torch"
T, OBS, ACT, H, Z, MIX = 4, 7, 3, 12, 5, 3
BINS = 64


class PlanRecognition(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(OBS, H, num_layers=2, bidirectional=True, batch_first=True)
        self.mean = nn.Linear(2 * H, Z)
        self.var = nn.Linear(2 * H, Z)

    def forward(self, obs):
        x, _ = self.rnn(obs)
        x = x[:, -1]
        return Normal(self.mean(x), F.softplus(self.var(x)) + 1e-3)


class PlanProposal(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 * OBS, 16), nn.ELU(), nn.LayerNorm(16), nn.Linear(16, 16), nn.ELU())
        self.mean = nn.Linear(16, Z)
        self.var = nn.Linear(16, Z)

    def forward(self, first, goal):
        x = self.net(torch.cat([first, goal], -1))
        return Normal(self.mean(x), F.softplus(self.var(x)) + 1e-3)


class ActionDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(OBS + OBS + Z, 16, batch_first=True)
        self.means = nn.Linear(16, ACT * MIX)
        self.scales = nn.Linear(16, ACT * MIX)
        self.logits = nn.Linear(16, ACT * MIX)

    def forward(self, obs, goal, z):
        steps = obs.shape[1]
        x = torch.cat([obs, goal.unsqueeze(1).expand(-1, steps, -1), z.unsqueeze(1).expand(-1, steps, -1)], -1)
        x, _ = self.rnn(x)
        shape = (obs.shape[0], steps, ACT, MIX)
        return (self.means(x).view(shape), self.scales(x).view(shape).clamp(min=-3.0), self.logits(x).view(shape))

    @staticmethod
    def log_prob(actions, means, log_scales, logits):
        a = actions.unsqueeze(-1)
        centered = a - means
        inv = torch.exp(-log_scales)
        plus = inv * (centered + 1.0 / (BINS - 1))
        minus = inv * (centered - 1.0 / (BINS - 1))
        cdf_delta = torch.sigmoid(plus) - torch.sigmoid(minus)
        log_plus = plus - F.softplus(plus)
        log_one_minus = -F.softplus(minus)
        mid = inv * centered
        log_pdf_mid = mid - log_scales - 2.0 * F.softplus(mid)
        inner = torch.where(cdf_delta > 1e-5, torch.log(cdf_delta.clamp(min=1e-12)),
                            log_pdf_mid - np.log((BINS - 1) / 2))
        logp = torch.where(a < -0.999, log_plus, torch.where(a > 0.999, log_one_minus, inner))
        logp = logp + F.log_softmax(logits, dim=-1)
        return torch.logsumexp(logp, dim=-1).sum(dim=-1)


class PlayLMP(nn.Module):
    def __init__(self):
        super().__init__()
        self.recognition = PlanRecognition()
        self.proposal = PlanProposal()
        self.decoder = ActionDecoder()

    def forward(self, obs, goal, actions):
        posterior = self.recognition(obs)
        prior = self.proposal(obs[:, 0], goal)
        kl = kl_divergence(posterior, prior).sum(-1)
        means, scales, logits = self.decoder(obs, goal, posterior.mean)
        nll = -self.decoder.log_prob(actions, means, scales, logits)
        expected = (F.softmax(logits, -1) * means).sum(-1)
        return nll.mean(1) + 0.01 * kl, kl, expected, prior.stddev


def make():
    torch.manual_seed(0)
    m = PlayLMP().eval()
    g = torch.Generator().manual_seed(31)
    for n, p in m.named_parameters():
        r = torch.randn(p.shape, generator=g)
        p.data = r * (1.3 / p.shape[-1] ** 0.5) if p.dim() > 1 else (1 + 0.3 * r if n == "proposal.net.2.weight" else 0.3 * r)
    return m


def inputs(seed):
    rng = np.random.default_rng(seed)
    actions = np.clip(rng.normal(size=(5, T, ACT)) * 0.7, -1, 1)
    return (rng.normal(size=(5, T, OBS)).astype("float32"), rng.normal(size=(5, OBS)).astype("float32"),
            actions.astype("float32"))
