"""The ensemble as a list of plain networks, for serving."""
import torch
from torch import nn

FRAMEWORK = "torch"


class Member(nn.Module):
    def __init__(self, dim=8, hidden=24, out=7):
        super().__init__()
        self.fc1 = nn.Linear(dim, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.mean = nn.Linear(hidden, out)
        self.logvar = nn.Linear(hidden, out)

    def forward(self, x):
        h = self.fc1(x)
        h = h * torch.sigmoid(h)
        h = self.fc2(h)
        h = h * torch.sigmoid(h)
        return self.mean(h), self.logvar(h)


class DynamicsModel(nn.Module):
    def __init__(self, members=5, dim=8, out=7):
        super().__init__()
        self.nets = nn.ModuleList(Member() for _ in range(members))
        self.register_buffer("offset", torch.zeros(dim))
        self.register_buffer("scale", torch.ones(dim))
        self.upper = nn.Parameter(torch.zeros(out))
        self.lower = nn.Parameter(torch.zeros(out))
        self.best = [0, 3, 4]
        self.lam = 1.5

    def bound(self, logvar):
        zero = torch.zeros(())
        logvar = self.upper - torch.logaddexp(self.upper - logvar, zero)
        return self.lower + torch.logaddexp(logvar - self.lower, zero)

    def forward(self, obs, act, obs2, rew):
        x = (torch.hstack([obs, act]) - self.offset) / self.scale
        target = torch.hstack([obs2 - obs, rew])
        means, logvars, losses = [], [], []
        for net in self.nets:
            mean, logvar = net(x)
            logvar = self.bound(logvar)
            precision = 1.0 / logvar.exp()
            losses.append(((target - mean).square() * precision + logvar).mean())
            means.append(mean)
            logvars.append(logvar)
        loss = sum(losses) + 0.01 * (self.upper - self.lower).sum()

        mean = torch.stack([means[i] for i in self.best], dim=1)
        std = torch.stack([logvars[i].exp().sqrt() for i in self.best], dim=1)
        noise_level = std.pow(2).sum(-1).sqrt().max(dim=1).values
        state = mean[:, :, :6]
        spread = state - state.mean(dim=1, keepdim=True)
        disagreement = spread.pow(2).sum(-1).sqrt().max(dim=1).values
        penalty = torch.where(noise_level > disagreement, noise_level, disagreement)
        return {
            "next": obs + state.mean(dim=1),
            "reward": mean[:, :, 6].mean(dim=1) - self.lam * penalty,
            "epistemic": disagreement,
            "loss": loss,
            "nll": torch.stack(losses),
        }


def make():
    return DynamicsModel()


def load(port, ref):
    with torch.no_grad():
        for i, net in enumerate(port.nets):
            for mine, theirs in zip([net.fc1, net.fc2], ref.backbone):
                mine.weight.copy_(theirs.weight[i].T)
                mine.bias.copy_(theirs.bias[i, 0])
            w, b = ref.output.weight[i], ref.output.bias[i, 0]
            net.mean.weight.copy_(w[:, :7].T)
            net.logvar.weight.copy_(w[:, 7:].T)
            net.mean.bias.copy_(b[:7])
            net.logvar.bias.copy_(b[7:])
        port.offset.copy_(ref.mu)
        port.scale.copy_(ref.std)
        port.upper.copy_(ref.max_logvar)
        port.lower.copy_(ref.min_logvar)
