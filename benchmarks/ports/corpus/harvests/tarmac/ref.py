"""TarMAC (Das et al. 2019): targeted multi-round communication with signature/query attention."""
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
N_AGENTS, OBS, HIDDEN, SIG, MSG, ACTIONS, ROUNDS = 5, 14, 32, 12, 20, 6, 2


class TarMAC(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(OBS, HIDDEN), nn.Tanh())
        self.core = nn.GRUCell(HIDDEN + MSG, HIDDEN)
        self.signature = nn.Linear(HIDDEN, SIG)
        self.query = nn.Linear(HIDDEN, SIG)
        self.message = nn.Linear(HIDDEN, MSG)
        self.actor = nn.Linear(HIDDEN + MSG, ACTIONS)
        self.critic = nn.Sequential(nn.Linear(N_AGENTS * HIDDEN, 48), nn.ReLU(), nn.Linear(48, 1))

    def communicate(self, h, alive):
        """One round: every agent attends to the signatures of the living ones."""
        k = self.signature(h)
        q = self.query(h)
        m = self.message(h)
        scores = q @ k.transpose(1, 2) / math.sqrt(SIG)
        scores = scores.masked_fill(alive[:, None, :] < 0.5, -1e9)
        attention = F.softmax(scores, dim=-1)
        return attention @ m, attention

    def forward(self, obs, h, alive):
        b, n = obs.shape[:2]
        x = self.encoder(obs)
        h = h * alive.unsqueeze(-1)
        attention = None
        for _ in range(ROUNDS):
            c, attention = self.communicate(h, alive)
            inp = torch.cat([x, c], dim=-1).reshape(b * n, -1)
            h = self.core(inp, h.reshape(b * n, -1)).reshape(b, n, -1)
        c, _ = self.communicate(h, alive)
        logits = self.actor(torch.cat([h, c], dim=-1))
        joint = (h * alive.unsqueeze(-1)).flatten(1)
        value = self.critic(joint).squeeze(-1)
        return logits, value, h, attention


def make(seed=3):
    torch.manual_seed(seed)
    net = TarMAC()
    with torch.no_grad():
        for p in net.parameters():
            p.add_(0.08 * torch.randn_like(p))
    return net.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    obs = rng.normal(size=(4, N_AGENTS, OBS)).astype("float32")
    h = np.tanh(rng.normal(size=(4, N_AGENTS, HIDDEN))).astype("float32")
    alive = np.ones((4, N_AGENTS), "float32")
    alive[1, 3] = alive[2, 0] = alive[2, 4] = alive[3, 1] = 0
    return obs, h, alive
