"""Deep recurrent Q-network: convolutions, an LSTM over time that is reset at episode ends, a dueling head."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
ACTIONS = 5


class DRQN(nn.Module):
    def __init__(self, actions=ACTIONS, hidden=24):
        super().__init__()
        self.actions, self.hidden = actions, hidden
        self.conv1 = nn.Conv2d(3, 8, 4, stride=2)
        self.conv2 = nn.Conv2d(8, 12, 3, stride=2, padding=1)
        self.embed = nn.Linear(12 * 5 * 5, 32)
        self.lstm = nn.LSTMCell(32 + actions + 1, hidden)
        self.value = nn.Linear(hidden, 1)
        self.advantage = nn.Linear(hidden, actions)

    def encode(self, frames):
        x = frames.permute(0, 3, 1, 2) / 255.0
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        return F.relu(self.embed(x.flatten(1)))

    def forward(self, frames, last_actions, rewards, dones):
        b, t = frames.shape[:2]
        z = self.encode(frames.reshape(b * t, *frames.shape[2:])).view(b, t, -1)
        onehot = F.one_hot(last_actions, self.actions).to(z.dtype)
        clipped = rewards.clamp(-1.0, 1.0).unsqueeze(-1)
        z = torch.cat([z, onehot, clipped], dim=-1)
        h = z.new_zeros(b, self.hidden)
        c = z.new_zeros(b, self.hidden)
        outs = []
        for i in range(t):
            keep = (1.0 - dones[:, i]).unsqueeze(-1)
            h, c = h * keep, c * keep
            h, c = self.lstm(z[:, i], (h, c))
            outs.append(h)
        y = torch.stack(outs, dim=1)
        v, a = self.value(y), self.advantage(y)
        return v + a - a.mean(dim=-1, keepdim=True)


def make():
    torch.manual_seed(11)
    net = DRQN()
    with torch.no_grad():
        for p in net.parameters():
            if p.dim() > 1:
                p.normal_(0, 1.4 / np.sqrt(p[0].numel()))
            else:
                p.normal_(0, 0.3)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    b, t = 4, 5
    frames = rng.integers(0, 256, size=(b, t, 20, 20, 3)).astype("float32")
    actions = rng.integers(0, ACTIONS, size=(b, t)).astype("int64")
    rewards = (rng.normal(size=(b, t)) * 1.5).astype("float32")
    dones = (rng.random((b, t)) < 0.3).astype("float32")
    dones[0, 2] = 1.0
    return frames, actions, rewards, dones
