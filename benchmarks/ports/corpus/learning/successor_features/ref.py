"""Universal successor features with generalised policy improvement (Barreto et al., Borsa et al.)."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"


class FeatureNet(nn.Module):
    """phi(s): features on the unit sphere, near zero in absorbing states."""

    def __init__(self, state_dim, feat_dim, hidden, eps=1e-2):
        super().__init__()
        self.eps = eps
        self.net = nn.Sequential(
            nn.Linear(state_dim, hidden, bias=False),
            nn.ELU(),
            nn.Linear(hidden, feat_dim, bias=False),
        )

    def forward(self, s):
        return F.normalize(self.net(s), dim=-1, eps=self.eps)


class TaskEncoder(nn.Module):
    def __init__(self, feat_dim, hidden):
        super().__init__()
        self.fc = nn.Linear(feat_dim, hidden)

    def forward(self, z):
        z = z / (z.norm(dim=-1, keepdim=True) + 1e-6)
        return F.softplus(self.fc(z))


class SuccessorNet(nn.Module):
    """psi(s, a, z) for each action, with a dueling-like shared part."""

    def __init__(self, state_dim, feat_dim, hidden, n_actions):
        super().__init__()
        self.n_actions, self.feat_dim = n_actions, feat_dim
        self.state = nn.Linear(state_dim, hidden)
        self.norm = nn.LayerNorm(hidden)
        self.task = TaskEncoder(feat_dim, hidden)
        self.trunk = nn.Linear(2 * hidden, hidden)
        self.shared = nn.Linear(hidden, feat_dim)
        self.advantage = nn.Linear(hidden, n_actions * feat_dim)

    def forward(self, s, z):
        h = torch.cat([torch.tanh(self.norm(self.state(s))), self.task(z)], dim=-1)
        h = F.relu(self.trunk(h))
        adv = self.advantage(h).unflatten(-1, (self.n_actions, self.feat_dim))
        adv = adv - adv.mean(dim=-2, keepdim=True)
        return self.shared(h).unsqueeze(-2) + adv


class USFA(nn.Module):
    def __init__(self, state_dim=8, feat_dim=5, hidden=24, n_actions=4, gamma=0.9):
        super().__init__()
        self.gamma = gamma
        self.phi = FeatureNet(state_dim, feat_dim, hidden)
        self.psi = SuccessorNet(state_dim, feat_dim, hidden, n_actions)

    def all_psi(self, s, policies):
        """psi for each policy vector: [batch, policies, actions, features]."""
        n = policies.shape[1]
        s = s.unsqueeze(1).expand(-1, n, -1)
        return self.psi(s, policies)

    def gpi(self, s, policies, w):
        psi = self.all_psi(s, policies)
        q = torch.einsum("bpad,bd->bpa", psi, w)
        return q.max(dim=1)[0], psi

    def forward(self, s, s_next, w, policies, done):
        q, psi = self.gpi(s, policies, w)
        q_next, psi_next = self.gpi(s_next, policies, w)
        a_next = q_next.argmax(dim=-1)
        b, p, _, d = psi_next.shape
        index = a_next.view(b, 1, 1, 1).expand(b, p, 1, d)
        boot = psi_next.gather(2, index).squeeze(2)
        phi = self.phi(s_next)
        target = phi.unsqueeze(1) + self.gamma * (1 - done).view(b, 1, 1) * boot
        reward = (phi * w).sum(-1)
        return q, target, reward


def make(seed=0):
    torch.manual_seed(seed)
    net = USFA()
    nn.init.normal_(net.psi.norm.weight, 1.0, 0.2)
    nn.init.normal_(net.psi.norm.bias, 0.0, 0.2)
    return net.eval()


def load(model, reference):
    pass


def inputs(seed):
    rng = np.random.default_rng(seed)
    b, p = 8, 3
    s = rng.normal(size=(b, 8)).astype(np.float32)
    s_next = rng.normal(size=(b, 8)).astype(np.float32)
    s_next[[2, 5]] *= 1e-2
    w = rng.normal(size=(b, 5)).astype(np.float32)
    policies = np.concatenate([w[:, None], rng.normal(size=(b, p - 1, 5))], axis=1).astype(np.float32)
    done = np.zeros(b, np.float32)
    done[[2, 5]] = 1
    return s, s_next, w, policies, done
