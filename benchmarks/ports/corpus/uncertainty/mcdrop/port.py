"""Monte-Carlo dropout in torch."""
import math

import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"


class AlwaysDropout(nn.Module):
    """Stays on in eval mode."""

    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return F.dropout(x, self.p, training=True)


class MCDropoutNet(nn.Module):
    def __init__(self, in_features=8, hidden=32, p=0.2, n_samples=6):
        super().__init__()
        self.n_samples = n_samples
        self.body = nn.Sequential(
            nn.Linear(in_features, hidden),
            nn.SiLU(),
            AlwaysDropout(p),
            nn.Linear(hidden, hidden),
            nn.SiLU(),
            AlwaysDropout(p),
        )
        self.head = nn.Linear(hidden, 2)

    def gaussian(self, x):
        mu, log_var = self.head(self.body(x)).chunk(2, dim=-1)
        return mu.squeeze(-1), log_var.squeeze(-1)

    def forward(self, x, y):
        mus, log_vars = [], []
        for _ in range(self.n_samples):
            mu, log_var = self.gaussian(x)
            mus.append(mu)
            log_vars.append(log_var)
        mu = torch.stack(mus, dim=-1)
        log_var = torch.stack(log_vars, dim=-1)
        prediction = mu.mean(-1)
        epistemic = mu.var(-1, correction=0)
        aleatoric = log_var.exp().mean(-1)
        normal = torch.distributions.Normal(mu, (0.5 * log_var).exp())
        log_likelihood = normal.log_prob(y[:, None])
        score = torch.logsumexp(log_likelihood, -1) - math.log(self.n_samples)
        return prediction, epistemic, aleatoric, epistemic + aleatoric, score


def make():
    torch.manual_seed(0)
    return MCDropoutNet()


@torch.no_grad()
def load(model, reference):
    def put(linear, *dense):
        kernels, biases = zip(*[layer.get_weights() for layer in dense])
        linear.weight.copy_(torch.cat([torch.from_numpy(k.T.copy()) for k in kernels]))
        linear.bias.copy_(torch.cat([torch.from_numpy(b) for b in biases]))

    put(model.body[0], reference.hidden1)
    put(model.body[3], reference.hidden2)
    put(model.head, reference.mean, reference.log_variance)
