"""Recurrent PPO in torch, as in CleanRL's ppo_atari_lstm, with a GRU on vector observations."""
import numpy as np
import torch
import torch.nn as nn
from torch.distributions.categorical import Categorical

FRAMEWORK = "torch"
OBS, ACTIONS, HIDDEN, T, N = 7, 5, 24, 6, 4


def layer_init(layer, std=np.sqrt(2)):
    torch.nn.init.orthogonal_(layer.weight, std)
    torch.nn.init.uniform_(layer.bias, -0.2, 0.2)
    return layer


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.network = nn.Sequential(
            layer_init(nn.Linear(OBS, 32)),
            nn.LayerNorm(32),
            nn.Tanh(),
            layer_init(nn.Linear(32, HIDDEN)),
            nn.ReLU(),
        )
        self.gru = nn.GRU(HIDDEN, HIDDEN)
        for name, param in self.gru.named_parameters():
            if "bias" in name:
                nn.init.uniform_(param, -0.3, 0.3)
            else:
                nn.init.orthogonal_(param, 1.0)
        self.actor = layer_init(nn.Linear(HIDDEN, ACTIONS), std=1.0)
        self.critic = layer_init(nn.Linear(HIDDEN, 1), std=1)
        with torch.no_grad():
            self.network[1].weight.uniform_(0.7, 1.3)
            self.network[1].bias.uniform_(-0.2, 0.2)

    def get_states(self, x, state, done):
        hidden = self.network(x)
        batch_size = state.shape[1]
        hidden = hidden.reshape((-1, batch_size, self.gru.input_size))
        done = done.reshape((-1, batch_size))
        new_hidden = []
        for h, d in zip(hidden, done):
            h, state = self.gru(h.unsqueeze(0), (1.0 - d).view(1, -1, 1) * state)
            new_hidden += [h]
        return torch.flatten(torch.cat(new_hidden), 0, 1), state

    def forward(self, obs, state, done, action):
        hidden, state = self.get_states(obs, state, done)
        probs = Categorical(logits=self.actor(hidden))
        return {
            "logprob": probs.log_prob(action),
            "entropy": probs.entropy(),
            "value": self.critic(hidden),
            "state": state,
        }


def make():
    torch.manual_seed(11)
    return Agent()


def inputs(seed):
    rng = np.random.default_rng(seed)
    done = (rng.uniform(size=(T, N)) < 0.3).astype("float32")
    done[2, 1] = 1
    return {
        "obs": rng.normal(size=(T * N, OBS)).astype("float32"),
        "state": rng.normal(size=(1, N, HIDDEN)).astype("float32"),
        "done": done.reshape(-1),
        "action": rng.integers(0, ACTIONS, size=T * N),
    }
