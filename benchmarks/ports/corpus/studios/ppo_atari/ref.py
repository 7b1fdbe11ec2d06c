"""PPO's Atari actor-critic: NatureCNN trunk shared by policy and value (CleanRL's)."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"


class TorchPPO(nn.Module):
    def __init__(self, actions=6):
        super().__init__()
        self.network = nn.Sequential(
            nn.Conv2d(4, 16, 8, stride=4), nn.ReLU(),
            nn.Conv2d(16, 32, 4, stride=2), nn.ReLU(),
            nn.Conv2d(32, 32, 3, stride=1), nn.ReLU(),
            nn.Flatten(),
            nn.Linear(32 * 2 * 2, 64), nn.ReLU(),
        )
        self.actor = nn.Linear(64, actions)
        self.critic = nn.Linear(64, 1)

    def forward(self, obs):
        hidden = self.network(obs / 255.0)
        logits = self.actor(hidden)
        log_probs = torch.log_softmax(logits, dim=-1)
        entropy = -(log_probs.exp() * log_probs).sum(-1)
        return log_probs, self.critic(hidden).squeeze(-1), entropy


def make():
    torch.manual_seed(1)
    return TorchPPO().eval()


def inputs(seed):
    return np.random.default_rng(seed + 1).integers(0, 256, (5, 4, 44, 44)).astype("float32")
