"""R2D2: burn-in free unroll of a recurrent dueling Q-network, with episode resets inside the sequence."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
OBS, ACTIONS, HIDDEN = 9, 4, 24


def inverse_rescale(x, eps=1e-2):
    root = torch.sqrt(1.0 + 4.0 * eps * (x.abs() + 1.0 + eps))
    return x.sign() * (((root - 1.0) / (2.0 * eps)) ** 2 - 1.0)


class R2D2(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(OBS, HIDDEN)
        self.cell = nn.LSTMCell(HIDDEN + ACTIONS + 1, HIDDEN)
        self.adv = nn.Linear(HIDDEN, ACTIONS)
        self.val = nn.Linear(HIDDEN, 1)

    def forward(self, obs, prev_action, prev_reward, done, h, c):
        """All but h and c are (time, batch, ...); done[t] says that obs[t] opens a new episode."""
        z = F.relu(self.encoder(obs))
        one_hot = F.one_hot(prev_action, ACTIONS).to(z.dtype)
        reward = prev_reward.clamp(-1.0, 1.0).unsqueeze(-1)
        x = torch.cat([z, one_hot, reward], dim=-1)
        outs = []
        for step in range(x.shape[0]):
            keep = 1.0 - done[step].unsqueeze(-1)
            h, c = self.cell(x[step], (h * keep, c * keep))
            outs.append(h)
        y = torch.stack(outs)
        adv = self.adv(y)
        q = self.val(y) + adv - adv.mean(-1, keepdim=True)
        target = inverse_rescale(q.max(dim=-1).values)
        return {"q": q, "target": target, "h": h, "c": c}


def make():
    torch.manual_seed(3)
    net = R2D2()
    with torch.no_grad():
        for p in net.parameters():
            p.uniform_(-0.5, 0.5)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    steps, batch = 5, 4
    done = (rng.uniform(size=(steps, batch)) < 0.25).astype(np.float32)
    done[2, 1] = done[3, 0] = 1.0
    return (
        rng.normal(size=(steps, batch, OBS)).astype(np.float32),
        rng.integers(0, ACTIONS, size=(steps, batch)),
        (2.0 * rng.normal(size=(steps, batch))).astype(np.float32),
        done,
        (0.5 * rng.normal(size=(batch, HIDDEN))).astype(np.float32),
        (0.5 * rng.normal(size=(batch, HIDDEN))).astype(np.float32),
    )
