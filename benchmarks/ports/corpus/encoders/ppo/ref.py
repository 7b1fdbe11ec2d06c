"""PPO: conv encoder, GRU core, masked policy."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
B, HID, ACT = 3, 24, 5


class PPO(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(4, 8, 8, 4), nn.Conv2d(8, 12, 4, 2)
        self.fc = nn.Linear(12 * 3 * 3, 32)
        self.gru = nn.GRUCell(32, HID)
        self.pi, self.v = nn.Linear(HID, ACT), nn.Linear(HID, 1)

    def forward(self, pixels, hidden, mask):
        x = torch.relu(self.c1(pixels / 255.0))
        x = torch.relu(self.c2(x))
        x = torch.relu(self.fc(x.flatten(1)))
        h = self.gru(x, hidden)
        logits = self.pi(h).masked_fill(mask == 0, -1e9)
        logp = torch.log_softmax(logits, -1)
        entropy = -(logp.exp() * logp * mask).sum(-1)
        return {"logp": logp * mask, "entropy": entropy, "value": self.v(h).squeeze(-1), "hidden": h}


def make():
    torch.manual_seed(4)
    return PPO()


def inputs(seed):
    r = np.random.default_rng(seed + 4)
    px = r.integers(0, 256, (B, 4, 36, 36)).astype("float32")
    mask = np.array([[1, 1, 0, 1, 1], [1, 0, 1, 1, 0], [0, 1, 1, 1, 1]], "float32")
    return px, r.normal(size=(B, HID)).astype("float32"), mask
