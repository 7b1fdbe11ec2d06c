"""DeepAR with a negative binomial head: condition on the past, roll the mean out over the horizon."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
T, H, LAGS = 28, 6, (1, 2, 7)


class DeepAR(nn.Module):
    def __init__(self, n_series=15, emb=5, covariates=3, hidden=24):
        super().__init__()
        self.series = nn.Embedding(n_series, emb)
        self.rnn = nn.LSTM(len(LAGS) + covariates + emb + 1, hidden, num_layers=2, batch_first=True)
        self.mu = nn.Linear(hidden, 1)
        self.alpha = nn.Linear(hidden, 1)

    def scale(self, past, observed):
        total = (past.abs() * observed).sum(1, keepdim=True)
        return 1.0 + total / observed.sum(1, keepdim=True).clamp(min=1.0)

    def distribution(self, h, scale):
        mu = F.softplus(self.mu(h)).squeeze(-1) * scale
        alpha = F.softplus(self.alpha(h)).squeeze(-1) / scale.sqrt()
        return mu, alpha

    def static(self, series, scale):
        return torch.cat([self.series(series), torch.log(scale)], dim=-1)

    def forward(self, past, observed, cov, series):
        """past, observed: (B, T); cov: (B, T + H, K); series: (B,)"""
        scale = self.scale(past, observed)
        z = past * observed / scale
        static = self.static(series, scale)
        first = max(LAGS)

        # z_{t-l} is the input of step t
        lagged = torch.stack([z[:, first - l:T - l] for l in LAGS], dim=-1)
        steps = T - first
        x = torch.cat([lagged, cov[:, first:T], static[:, None].expand(-1, steps, -1)], dim=-1)
        out, state = self.rnn(x)
        mu, alpha = self.distribution(out, scale)

        history = z
        forecasts = []
        for t in range(H):
            lagged = torch.stack([history[:, -l] for l in LAGS], dim=-1)
            step = torch.cat([lagged, cov[:, T + t], static], dim=-1)
            o, state = self.rnn(step[:, None], state)
            m, a = self.distribution(o, scale)
            forecasts.append(torch.cat([m, a], dim=1))
            history = torch.cat([history, m / scale], dim=1)
        forecast = torch.stack(forecasts, dim=1)

        # log likelihood of the conditioning range
        target = past[:, first:]
        r = 1.0 / alpha
        ll = (torch.lgamma(target + r) - torch.lgamma(target + 1) - torch.lgamma(r)
              + r * torch.log(1 / (1 + alpha * mu)) + target * torch.log(alpha * mu / (1 + alpha * mu)))
        weight = observed[:, first:]
        nll = -(ll * weight).sum(1) / weight.sum(1)
        return mu, forecast, nll


def make():
    torch.manual_seed(40)
    net = DeepAR().eval()
    for n, p in net.named_parameters():
        if "bias" in n:
            nn.init.normal_(p, 0, 0.2)
        else:
            nn.init.normal_(p, 0, 1.0 if "series" in n else 1.2 * p.shape[1] ** -0.5)
    return net


def inputs(seed=0):
    g = np.random.default_rng(seed)
    level = g.uniform(2, 30, (6, 1))
    week = 1 + 0.5 * np.sin(2 * np.pi * (np.arange(T) + g.integers(0, 7, (6, 1))) / 7)
    past = g.poisson(level * week).astype("float32")
    observed = (g.uniform(size=(6, T)) > 0.1).astype("float32")
    cov = g.standard_normal((6, T + H, 3)).astype("float32")
    return past, observed, cov, g.integers(0, 15, 6)
