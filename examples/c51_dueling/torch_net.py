"""The C51 dueling DQN in torch, NCHW: the reference."""

import torch
import torch.nn.functional as F
from torch import nn


class C51DuelingDQN(nn.Module):
    """Q-values (batch, actions) of stacked frames (batch, 4, 84, 84)."""

    def __init__(self, actions=6, atoms=51, v_min=-10.0, v_max=10.0):
        super().__init__()
        self.actions = actions
        self.atoms = atoms
        self.conv1 = nn.Conv2d(4, 32, kernel_size=8, stride=4)
        self.conv2 = nn.Conv2d(32, 64, kernel_size=4, stride=2)
        self.conv3 = nn.Conv2d(64, 64, kernel_size=3, stride=1)
        self.advantage_hidden = nn.Linear(64 * 7 * 7, 512)
        self.advantage_out = nn.Linear(512, actions * atoms)
        self.value_hidden = nn.Linear(64 * 7 * 7, 512)
        self.value_out = nn.Linear(512, atoms)
        self.register_buffer("support", torch.linspace(v_min, v_max, atoms))

    def forward(self, observations):
        x = F.relu(self.conv1(observations))
        x = F.relu(self.conv2(x))
        x = F.relu(self.conv3(x))
        features = torch.flatten(x, start_dim=1)

        advantage = F.relu(self.advantage_hidden(features))
        advantage = self.advantage_out(advantage)
        advantage = advantage.view(-1, self.actions, self.atoms)

        value = F.relu(self.value_hidden(features))
        value = self.value_out(value)
        value = value.view(-1, 1, self.atoms)

        advantage_mean = advantage.mean(dim=1, keepdim=True)
        advantage_centred = advantage - advantage_mean
        logits = value + advantage_centred
        probabilities = F.softmax(logits, dim=-1)
        weighted = probabilities * self.support
        return weighted.sum(dim=-1)
