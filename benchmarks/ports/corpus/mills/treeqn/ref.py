"""TreeQN: a differentiable tree of a learned transition model (torch)."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"


class TreeQN(nn.Module):
    def __init__(self, obs_dim=20, embed=32, actions=4, depth=2, gamma=0.97, lam=0.8):
        super().__init__()
        self.actions, self.depth, self.gamma, self.lam = actions, depth, gamma, lam
        self.encoder = nn.Sequential(nn.Linear(obs_dim, 64), nn.ReLU(), nn.Linear(64, embed))
        self.env = nn.Linear(embed, embed)
        self.action_w = nn.Parameter(torch.empty(actions, embed, embed))
        self.action_b = nn.Parameter(torch.empty(actions, embed))
        self.reward = nn.Sequential(nn.Linear(embed, 32), nn.ReLU(), nn.Linear(32, actions))
        self.value = nn.Linear(embed, 1)

    def transition(self, z):
        """[n, e] -> [n, a, e]"""
        base = z + torch.tanh(self.env(z))
        nxt = torch.einsum('ne,aef->naf', base, self.action_w) + self.action_b
        nxt = base.unsqueeze(1) + torch.tanh(nxt)
        return F.normalize(nxt, dim=-1)

    def expand(self, z):
        rewards, values = [], []
        for _ in range(self.depth):
            rewards.append(self.reward(z))
            z = self.transition(z).flatten(0, 1)
            values.append(self.value(z))
        return rewards, values

    def backup(self, rewards, values):
        # leaves first; q has one row per node, one column per action
        back = values[-1].view(-1, self.actions)
        q = rewards[-1] + self.gamma * back
        for d in range(self.depth - 2, -1, -1):
            mix = (q * q.softmax(dim=1)).sum(1).view(-1, self.actions)
            leaf = values[d].view(-1, self.actions)
            back = (1 - self.lam) * leaf + self.lam * mix
            q = rewards[d] + self.gamma * back
        return q

    def forward(self, obs):
        z = F.normalize(torch.tanh(self.encoder(obs)), dim=-1)
        rewards, values = self.expand(z)
        q = self.backup(rewards, values)
        return q, rewards[0], q.log_softmax(-1)


def make(seed=0):
    torch.manual_seed(seed)
    net = TreeQN()
    with torch.no_grad():
        nn.init.normal_(net.action_w, std=0.3)
        nn.init.normal_(net.action_b, std=0.2)
        for m in net.modules():
            if isinstance(m, nn.Linear):
                m.weight.mul_(2.0)
                nn.init.normal_(m.bias, std=0.2)
    return net.eval()


def inputs(seed=0):
    return (np.random.default_rng(seed).normal(size=(5, 20)).astype(np.float32),)
