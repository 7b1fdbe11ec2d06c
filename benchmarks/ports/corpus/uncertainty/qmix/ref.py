"""QMIX's mixing network with hypernetworks, task conditioned, with layer norms, in torch (after PyMARL)."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
AGENTS, STATE, TASKS, EMBED, HYPER = 4, 10, 6, 8, 16


class QMixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.task_embedding = nn.Embedding(TASKS, 4)
        self.norm = nn.LayerNorm(STATE + 4)
        size = STATE + 4
        self.hyper_w_1 = nn.Sequential(
            nn.Linear(size, HYPER), nn.ReLU(), nn.Linear(HYPER, AGENTS * EMBED)
        )
        self.hyper_w_final = nn.Sequential(nn.Linear(size, HYPER), nn.ReLU(), nn.Linear(HYPER, EMBED))
        self.hyper_b_1 = nn.Linear(size, EMBED)
        self.hidden_norm = nn.LayerNorm(EMBED, eps=1e-3)
        self.V = nn.Sequential(nn.Linear(size, EMBED), nn.ReLU(), nn.Linear(EMBED, 1))
        for norm in (self.norm, self.hidden_norm):
            nn.init.uniform_(norm.weight, 0.6, 1.4)
            nn.init.uniform_(norm.bias, -0.3, 0.3)

    def forward(self, agent_qs, states, task):
        bs, steps = agent_qs.shape[:2]
        task = self.task_embedding(task)[:, None].expand(-1, steps, -1)
        states = self.norm(torch.cat([states, task], dim=-1)).reshape(bs * steps, -1)
        agent_qs = agent_qs.reshape(-1, 1, AGENTS)
        # First layer
        w1 = torch.abs(self.hyper_w_1(states)).view(-1, AGENTS, EMBED)
        b1 = self.hyper_b_1(states).view(-1, 1, EMBED)
        hidden = F.elu(self.hidden_norm(torch.bmm(agent_qs, w1) + b1))
        # Second layer
        w_final = torch.abs(self.hyper_w_final(states)).view(-1, EMBED, 1)
        v = self.V(states).view(-1, 1, 1)
        y = torch.bmm(hidden, w_final) + v
        return y.view(bs, steps, 1)


def make():
    torch.manual_seed(9)
    return QMixer()


def inputs(seed):
    rng = np.random.default_rng(seed)
    return {
        "agent_qs": rng.normal(size=(3, 5, AGENTS)).astype("float32"),
        "states": rng.normal(size=(3, 5, STATE)).astype("float32"),
        "task": rng.integers(0, TASKS, size=3),
    }
