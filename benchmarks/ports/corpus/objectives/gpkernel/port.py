"""Deep kernel GP in torch: differences, special functions, solve_triangular."""

import torch
from torch import nn

FRAMEWORK = "torch"


class Sine(nn.Module):
    def __init__(self, inputs, outputs, omega=3.0):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)
        self.omega = omega

    def forward(self, x):
        return torch.sin(self.omega * self.linear(x))


class GaussianProcess(nn.Module):
    def __init__(self, jitter=1e-4):
        super().__init__()
        self.embed = nn.Sequential(Sine(3, 12), nn.Linear(12, 4))
        self.log_lengths = nn.Parameter(torch.zeros(4))
        self.log_hyper = nn.ParameterDict(
            {k: nn.Parameter(torch.zeros(())) for k in ("amplitude", "linear", "noise")}
        )
        self.mean = nn.Parameter(torch.zeros(()))
        self.jitter = jitter

    def covariance(self, a, b):
        lengths = self.log_lengths.exp()
        gaps = (a.unsqueeze(1) - b.unsqueeze(0)) / lengths
        rbf = self.variance("amplitude") * torch.exp(-gaps.square().sum(-1) / 2)
        return rbf + self.variance("linear") * torch.einsum("id,jd->ij", a, b)

    def variance(self, name):
        return self.log_hyper[name].exp().square()

    def forward(self, x, y, new):
        f, g = self.embed(x), self.embed(new)
        noise = self.variance("noise")
        k = self.covariance(f, f)
        k = k + torch.diag_embed((noise + self.jitter).expand(len(x)))
        root = torch.linalg.cholesky(k)
        whitened = torch.linalg.solve_triangular(root, (y - self.mean).unsqueeze(-1), upper=False)
        cross = torch.linalg.solve_triangular(root, self.covariance(f, g), upper=False)
        mean = self.mean + (cross * whitened).sum(0)
        own = self.covariance(g, g).diagonal()
        variance = own - cross.square().sum(0) + noise
        evidence = (
            -0.5 * whitened.square().sum()
            - root.diagonal().log().sum()
            - 0.5 * len(x) * torch.log(torch.tensor(2 * torch.pi))
        )
        sd = variance.sqrt()
        u = (mean - y.max()) / sd
        density = torch.exp(-u.square() / 2) / (2 * torch.pi) ** 0.5
        cumulative = torch.special.ndtr(u)
        improvement = sd * (u * cumulative + density)
        return mean, variance, evidence, improvement


def make():
    torch.manual_seed(0)
    return GaussianProcess()


def load(gp, reference):
    def t(v):
        return torch.tensor(v.numpy())

    siren = reference.features
    with torch.no_grad():
        for linear, kernel, bias in zip(
            (gp.embed[0].linear, gp.embed[1]), siren.kernels, siren.biases
        ):
            linear.weight.copy_(t(kernel).t())
            linear.bias.copy_(t(bias))
        gp.log_lengths.copy_(t(reference.log_lengths))
        gp.log_hyper["amplitude"].copy_(t(reference.log_amplitude))
        gp.log_hyper["linear"].copy_(t(reference.log_linear))
        gp.log_hyper["noise"].copy_(t(reference.log_noise))
        gp.mean.copy_(t(reference.mean))
