"""D4PG learner networks: layer-norm actor, categorical critic, projected Bellman target."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
OBS, ACT, ATOMS = 14, 4, 21
VMIN, VMAX = -6.0, 6.0


class Actor(nn.Module):
    def __init__(self, hidden=(40, 24)):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(OBS, hidden[0]),
            nn.LayerNorm(hidden[0]),
            nn.ELU(),
            nn.Linear(hidden[0], hidden[1]),
            nn.LayerNorm(hidden[1]),
            nn.ELU(),
            nn.Linear(hidden[1], ACT),
            nn.Tanh(),
        )

    def forward(self, s):
        return self.net(s)


class Critic(nn.Module):
    """The action joins at the second layer."""

    def __init__(self, hidden=(40, 24)):
        super().__init__()
        self.first = nn.Linear(OBS, hidden[0])
        self.norm = nn.LayerNorm(hidden[0])
        self.second = nn.Linear(hidden[0] + ACT, hidden[1])
        self.out = nn.Linear(hidden[1], ATOMS)

    def forward(self, s, a):
        h = nn.functional.elu(self.norm(self.first(s)))
        h = nn.functional.elu(self.second(torch.cat((h, a), dim=-1)))
        return self.out(h)


class D4PG(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor, self.critic = Actor(), Critic()
        self.target_actor, self.target_critic = Actor(), Critic()
        self.register_buffer("support", torch.linspace(VMIN, VMAX, ATOMS))

    def project(self, probs, reward, discount):
        dz = (VMAX - VMIN) / (ATOMS - 1)
        tz = reward[:, None] + discount[:, None] * self.support[None, :]
        tz = tz.clamp(VMIN, VMAX)
        b = ((tz - VMIN) / dz).clamp(0, ATOMS - 1)
        low = b.floor().long().clamp(max=ATOMS - 2)
        frac = b - low
        m = torch.zeros_like(probs)
        m = m.scatter_add(1, low, probs * (1 - frac))
        m = m.scatter_add(1, low + 1, probs * frac)
        return m

    def forward(self, obs, action, reward, discount, next_obs):
        next_action = self.target_actor(next_obs)
        next_probs = self.target_critic(next_obs, next_action).softmax(-1)
        target = self.project(next_probs, reward, discount)
        logp = self.critic(obs, action).log_softmax(-1)
        td = -(target * logp).sum(-1)
        q_pi = (self.critic(obs, self.actor(obs)).softmax(-1) * self.support).sum(-1)
        return {"target": target, "td": td, "critic_loss": td.mean(), "actor_loss": -q_pi.mean()}


def make(seed=0):
    torch.manual_seed(seed)
    model = D4PG()
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.ndim == 2:
                p.normal_(0, 1.3 / p.shape[1] ** 0.5)
            elif name.endswith("weight"):
                p.uniform_(0.6, 1.4)
            else:
                p.normal_(0, 0.2)
    return model.eval()


def inputs(seed=0):
    rs = np.random.RandomState(seed)
    done = np.array([0, 1, 0, 0, 0, 1, 0, 0], "float32")
    return (rs.randn(8, OBS).astype("float32"), rs.uniform(-1, 1, (8, ACT)).astype("float32"),
            (rs.randn(8) * 2).astype("float32"), (0.99 * (1 - done)).astype("float32"),
            rs.randn(8, OBS).astype("float32"))
