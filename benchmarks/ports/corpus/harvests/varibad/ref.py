"""VariBAD (Zintgraf et al. 2020): a belief over the task from a GRU, its decoder and policy."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
B, T, S, A, L, H = 4, 6, 7, 2, 5, 32


def kl_gauss(mu, logvar, prior_mu, prior_logvar):
    return 0.5 * (prior_logvar - logvar - 1
                  + (logvar.exp() + (mu - prior_mu) ** 2) / prior_logvar.exp()).sum(-1)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.state = nn.Linear(S, 16)
        self.action = nn.Linear(A, 8)
        self.reward = nn.Linear(1, 4)
        self.gru = nn.GRU(16 + 8 + 4, H, batch_first=True)
        self.mu = nn.Linear(H, L)
        self.logvar = nn.Linear(H, L)

    def forward(self, next_states, actions, rewards):
        x = torch.cat([F.relu(self.state(next_states)), F.relu(self.action(actions)),
                       F.relu(self.reward(rewards))], dim=-1)
        h, _ = self.gru(x)
        h = torch.cat([torch.zeros_like(h[:, :1]), h], dim=1)   # the prior comes first
        return self.mu(h), self.logvar(h)


class VariBAD(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.dec_state = nn.Linear(S, 16)
        self.dec_action = nn.Linear(A, 8)
        self.decoder = nn.Sequential(nn.Linear(L + 16 + 8, 32), nn.ReLU(), nn.Linear(32, 1))
        self.pi_state = nn.Linear(S, 16)
        self.pi_belief = nn.Linear(2 * L, 16)
        self.actor = nn.Sequential(nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, A))
        self.critic = nn.Linear(32, 1)

    def decode(self, z, next_states, actions):
        """Every latent predicts the rewards of the whole trajectory: (B, T + 1, T)."""
        n, t = z.shape[1], actions.shape[1]
        z = z.unsqueeze(2).expand(-1, -1, t, -1)
        e = torch.cat([F.relu(self.dec_state(next_states)), F.relu(self.dec_action(actions))], -1)
        e = e.unsqueeze(1).expand(-1, n, -1, -1)
        return self.decoder(torch.cat([z, e], dim=-1)).squeeze(-1)

    def forward(self, states, actions, rewards, eps):
        next_states = states[:, 1:]
        mu, logvar = self.encoder(next_states, actions, rewards)
        z = mu + torch.exp(0.5 * logvar) * eps
        predicted = self.decode(z, next_states, actions)
        error = (predicted - rewards.squeeze(-1).unsqueeze(1)).pow(2).mean(dim=-1)

        first = kl_gauss(mu[:, :1], logvar[:, :1], torch.zeros_like(mu[:, :1]),
                         torch.zeros_like(mu[:, :1]))
        rest = kl_gauss(mu[:, 1:], logvar[:, 1:], mu[:, :-1], logvar[:, :-1])
        kl = torch.cat([first, rest], dim=1)

        belief = torch.cat([mu, logvar], dim=-1)[:, :-1]
        f = torch.cat([F.relu(self.pi_state(states[:, :-1])), F.relu(self.pi_belief(belief))], dim=-1)
        return {"mean": torch.tanh(self.actor(f)), "value": self.critic(f).squeeze(-1), "kl": kl,
                "predicted": predicted, "error": error, "mu": mu, "logvar": logvar}


def make(seed=12):
    torch.manual_seed(seed)
    net = VariBAD()
    with torch.no_grad():
        for p in net.parameters():
            p.add_(0.1 * torch.randn_like(p))
    return net.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    f = lambda *s: rng.normal(size=s).astype("float32")
    return f(B, T + 1, S), np.tanh(f(B, T, A)), f(B, T, 1), f(B, T + 1, L)
