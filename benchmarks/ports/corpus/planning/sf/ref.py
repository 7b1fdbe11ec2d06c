"""Universal successor features with generalised policy improvement, goals relabelled in hindsight."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
OBS, GOAL, PHI, ACTIONS, POLICIES = 10, 3, 8, 4, 3


class SuccessorNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.obs_in = nn.Linear(OBS, 32)
        self.bn = nn.BatchNorm1d(32)
        self.policy_in = nn.Linear(PHI, 32, bias=False)
        self.mid = nn.Linear(32, 32)
        self.psi = nn.Linear(32, ACTIONS * PHI)

    def forward(self, obs, z):
        """obs (B, OBS), z (B, K, PHI): psi (B, K, A, PHI)."""
        s = F.relu(self.bn(self.obs_in(obs)))
        x = s.unsqueeze(1) * torch.sigmoid(self.policy_in(z))
        x = F.softplus(self.mid(x))
        return self.psi(x).unflatten(-1, (ACTIONS, PHI))


class USFA(nn.Module):
    def __init__(self):
        super().__init__()
        self.successor = SuccessorNet()
        self.phi1 = nn.Linear(2 * OBS, 24)
        self.phi2 = nn.Linear(24, PHI)
        self.task = nn.Linear(GOAL, PHI)
        self.tasks = nn.Parameter(torch.randn(POLICIES, PHI))
        self.gru = nn.GRU(OBS, 12, batch_first=True)
        self.context = nn.Linear(12, PHI)

    def forward(self, obs, next_obs, achieved, desired, history):
        w = F.normalize(self.task(desired), dim=-1)
        _, last = self.gru(history)
        w = w + 0.1 * torch.tanh(self.context(last[0]))
        z = torch.cat([self.tasks.expand(obs.shape[0], -1, -1), w.unsqueeze(1)], dim=1)
        psi = self.successor(obs, z)
        q = torch.einsum("bkad,bd->bka", psi, w)
        gpi, source = q.max(dim=1)
        phi = torch.tanh(self.phi2(F.elu(self.phi1(torch.cat([obs, next_obs - obs], dim=-1)))))
        distance = torch.linalg.vector_norm(achieved - desired, dim=-1)
        sparse = -(distance > 1.5).float()
        reward = (phi * w).sum(-1) + sparse
        next_psi = self.successor(next_obs, z)
        next_q = torch.einsum("bkad,bd->bka", next_psi, w)
        best = next_q.max(dim=1).values.argmax(dim=-1)
        own = next_psi[:, -1]
        chosen = own[torch.arange(obs.shape[0]), best]
        alive = (1.0 + sparse).unsqueeze(-1)
        target = phi + 0.95 * (1.0 - alive) * chosen
        return gpi, reward, target, torch.logsumexp(q / 0.5, dim=(1, 2)) * 0.5


def make():
    torch.manual_seed(7)
    net = USFA().eval()
    with torch.no_grad():
        net.successor.bn.running_mean.normal_(0, 0.3), net.successor.bn.running_var.uniform_(0.1, 0.6)
        net.successor.bn.weight.uniform_(0.5, 1.5), net.successor.bn.bias.normal_(0, 0.2)
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    f = lambda *s: rng.normal(size=s).astype("float32")
    return f(6, OBS), f(6, OBS), f(6, GOAL), f(6, GOAL), f(6, 4, OBS)
