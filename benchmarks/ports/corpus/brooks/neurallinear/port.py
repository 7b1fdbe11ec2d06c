"""Neural linear bandit in PyTorch."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
CTX, D, ARMS, H = 6, 5, 4, 6
A0, B0, LAMBDA, FORGET, BETA, IGW = 3.0, 2.0, 0.5, 0.9, 0.7, 8.0


class NeuralLinear(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(CTX, 12), nn.ReLU(), nn.Linear(12, D), nn.Tanh())
        self.mu0 = nn.Parameter(torch.zeros(ARMS, D))
        self.register_buffer("decay", FORGET ** torch.arange(H - 1, -1, -1).float(), persistent=False)

    def features(self, x):
        h = self.net(x)
        return h * torch.rsqrt(h.pow(2).sum(-1, keepdim=True) + 1e-6)

    def posterior(self, phi, arms, rewards):
        w = arms * self.decay.view(1, H, 1)
        weighted = w.transpose(1, 2).unsqueeze(-1) * phi.unsqueeze(1)
        precision = weighted.transpose(-1, -2) @ phi.unsqueeze(1) + LAMBDA * torch.eye(D)
        rhs = LAMBDA * self.mu0 + (weighted * rewards[:, None, :, None]).sum(2)
        chol = torch.linalg.cholesky(precision)
        mean = torch.cholesky_solve(rhs.unsqueeze(-1), chol).squeeze(-1)

        a = A0 + 0.5 * w.sum(1)
        sq = (w * rewards.unsqueeze(-1).square()).sum(1)
        prior = LAMBDA * self.mu0.square().sum(-1)
        quad = (mean * (precision @ mean.unsqueeze(-1)).squeeze(-1)).sum(-1)
        b = B0 + 0.5 * (sq + prior - quad)
        return mean, chol, b / (a - 1)

    def exploration(self, expected):
        gap = expected.amax(1, keepdim=True) - expected
        best = F.one_hot(expected.argmax(1), ARMS).bool()
        p = 1.0 / (ARMS + IGW * gap)
        p = p.masked_fill(best, 0.0)
        return torch.where(best, 1.0 - p.sum(1, keepdim=True), p)

    def forward(self, context, past_context, arms, rewards, noise):
        phi = self.features(context)
        mean, chol, var = self.posterior(self.features(past_context), arms, rewards)
        expected = (mean * phi.unsqueeze(1)).sum(-1)
        half = torch.linalg.solve_triangular(chol, phi[:, None, :, None].expand(-1, ARMS, -1, -1), upper=False)
        width = torch.sqrt(var * half.square().sum((-1, -2)))
        ucb = expected + BETA * width
        step = torch.linalg.solve_triangular(chol.mT, noise.unsqueeze(-1), upper=True).squeeze(-1)
        theta = mean + var.sqrt().unsqueeze(-1) * step
        sampled = (theta * phi.unsqueeze(1)).sum(-1)
        return ucb, sampled, self.exploration(expected), var


def make():
    g = torch.Generator().manual_seed(44)
    m = NeuralLinear()
    with torch.no_grad():
        for p in m.parameters():
            p.copy_(torch.randn(p.shape, generator=g) * 0.4)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    B = 6
    context = r.randn(B, CTX).astype("float32")
    past = r.randn(B, H, CTX).astype("float32")
    arms = np.eye(ARMS, dtype="float32")[r.randint(0, ARMS, (B, H))]
    rewards = (r.randn(B, H) * 1.3).astype("float32")
    noise = r.randn(B, ARMS, D).astype("float32")
    return context, past, arms, rewards, noise


def load(ported, original):
    f = original.features
    with torch.no_grad():
        for lin, w, b in ((ported.net[0], f.w1, f.b1), (ported.net[2], f.w2, f.b2)):
            lin.weight.copy_(torch.tensor(w.numpy().T.copy()))
            lin.bias.copy_(torch.tensor(b.numpy()))
        ported.mu0.copy_(torch.tensor(original.mu0.numpy()))
