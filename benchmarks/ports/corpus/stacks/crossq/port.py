"""CrossQ in torch, with torch.distributions for the squashed policy."""
import torch
from torch import nn
from torch.distributions import AffineTransform, Independent, Normal

torch.set_num_threads(1)
FRAMEWORK = "torch"
O, A, H = 8, 3, 24


def q_net():
    bn = lambda n: nn.BatchNorm1d(n, eps=1e-3, momentum=0.01)
    return nn.Sequential(bn(O + A), nn.Linear(O + A, H), bn(H), nn.ReLU(),
                         nn.Linear(H, H), bn(H), nn.ReLU(), nn.Linear(H, 1))


class Agent(nn.Module):
    def __init__(self, low=(-2.0, -1.0, 0.0), high=(2.0, 0.5, 3.0), gamma=0.97):
        super().__init__()
        self.gamma = gamma
        self.pi = nn.Sequential(nn.Linear(O, H), nn.ReLU(), nn.Linear(H, H), nn.ReLU(), nn.Linear(H, 2 * A))
        self.critics = nn.ModuleList([q_net(), q_net()])
        self.log_alpha = nn.Parameter(torch.zeros(()))
        low, high = torch.tensor(low), torch.tensor(high)
        self.register_buffer("radius", (high - low) / 2)
        self.register_buffer("centre", (high + low) / 2)

    def act(self, obs, noise):
        mu, raw = self.pi(obs).chunk(2, dim=-1)
        std = torch.exp(-5 + 3.5 * (raw.tanh() + 1))
        base = Independent(Normal(mu, std), 1)
        u = mu + std * noise
        squashed = u.tanh()
        jacobian = torch.log(self.radius * (1 - squashed.square()) + 1e-6).sum(-1)
        action = AffineTransform(self.centre, self.radius)(squashed)
        return action, base.log_prob(u) - jacobian

    def min_q(self, obs, action):
        return self.both(obs, action).min(dim=0).values

    def both(self, obs, action):
        sa = torch.cat((obs, action), dim=-1)
        return torch.stack([c(sa) for c in self.critics])

    def forward(self, obs, action, reward, done, next_obs, noise):
        alpha = self.log_alpha.exp()
        a2, logp2 = self.act(next_obs, noise)
        soft = self.min_q(next_obs, a2) - alpha * logp2.unsqueeze(-1)
        target = torch.where(done[:, None] > 0, 0.0, self.gamma * soft) + reward[:, None]
        critic_loss = (self.both(obs, action) - target).pow(2).mean(dim=(1, 2)).sum()
        a, logp = self.act(obs, noise)
        actor_loss = (alpha * logp - self.min_q(obs, a).squeeze(-1)).mean()
        return {"action": a, "logp": logp, "critic_loss": critic_loss, "actor_loss": actor_loss}


def make():
    torch.manual_seed(12)
    return Agent().eval()


@torch.no_grad()
def load(model, reference):
    t = lambda v: torch.tensor(v.numpy())

    def linear(dst, src):
        dst.weight.copy_(t(src.kernel).T)
        dst.bias.copy_(t(src.bias))

    for k, layer in enumerate(reference.torso.layers):
        linear(model.pi[2 * k], layer)
    heads = (reference.mean, reference.log_std)
    model.pi[4].weight.copy_(torch.cat([t(h.kernel).T for h in heads]))
    model.pi[4].bias.copy_(torch.cat([t(h.bias) for h in heads]))
    for dst, src in zip(model.critics, (reference.critic_a, reference.critic_b)):
        for mine, his in zip(dst, src.layers):
            if isinstance(mine, nn.Linear):
                linear(mine, his)
            elif isinstance(mine, nn.BatchNorm1d):
                mine.weight.copy_(t(his.gamma))
                mine.bias.copy_(t(his.beta))
                mine.running_mean.copy_(t(his.moving_mean))
                mine.running_var.copy_(t(his.moving_variance))
    model.log_alpha.copy_(t(reference.log_alpha))
