"""Bootstrapped DQN with prior networks: a list of heads, in torch."""
import copy

import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"


def mlp(obs_dim, n_actions, hidden):
    return nn.Sequential(
        nn.Linear(obs_dim, hidden),
        nn.ReLU(),
        nn.Linear(hidden, hidden),
        nn.ReLU(),
        nn.Linear(hidden, n_actions),
    )


class HeadWithPrior(nn.Module):
    def __init__(self, obs_dim, n_actions, hidden, beta):
        super().__init__()
        self.net = mlp(obs_dim, n_actions, hidden)
        self.prior = mlp(obs_dim, n_actions, hidden)
        self.prior.requires_grad_(False)
        self.beta = beta

    def forward(self, x):
        with torch.no_grad():
            p = self.prior(x)
        return self.net(x) + self.beta * p


class BootstrappedDQN(nn.Module):
    def __init__(self, obs_dim=9, n_actions=4, n_heads=5, hidden=20, beta=3.0, gamma=0.97, p=0.5):
        super().__init__()
        self.heads = nn.ModuleList(
            [HeadWithPrior(obs_dim, n_actions, hidden, beta) for _ in range(n_heads)]
        )
        self.target_heads = copy.deepcopy(self.heads)
        self.gamma = gamma
        self.p = p

    def forward(self, obs, action, reward, done, next_obs):
        action = action.long().unsqueeze(-1)
        qs, tds = [], []
        for head, target in zip(self.heads, self.target_heads):
            q = head(obs)
            with torch.no_grad():
                a_star = head(next_obs).argmax(dim=1, keepdim=True)
                q_next = target(next_obs).gather(1, a_star).squeeze(1)
                y = reward + self.gamma * (1 - done) * q_next
            qs.append(q)
            tds.append(q.gather(1, action).squeeze(1) - y)
        q = torch.stack(qs, dim=1)
        td = torch.stack(tds, dim=1)
        huber = F.smooth_l1_loss(td, torch.zeros_like(td), reduction="none")
        mask = torch.bernoulli(torch.full_like(td, self.p))
        loss = (huber * mask).sum(0) / mask.sum(0).clamp(min=1)
        spread = q.std(dim=1, unbiased=False)
        return {"q": q, "td": td, "loss": loss, "spread": spread}


def make():
    torch.manual_seed(0)
    return BootstrappedDQN()


@torch.no_grad()
def load(model, reference):
    def copy_in(net, ensemble, k):
        linears = [m for m in net if isinstance(m, nn.Linear)]
        for linear, w, b in zip(linears, ensemble.ws, ensemble.bs):
            linear.weight.copy_(torch.from_numpy(w[k].numpy().T.copy()))
            linear.bias.copy_(torch.from_numpy(b[k, 0].numpy().copy()))

    for k, (head, target) in enumerate(zip(model.heads, model.target_heads)):
        copy_in(head.net, reference.online, k)
        copy_in(target.net, reference.target, k)
        copy_in(head.prior, reference.prior, k)
        copy_in(target.prior, reference.prior, k)
