"""Self-Predictive Representations (Schwarzer et al., 2021): latent rollout + BYOL-like target."""
import copy
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
N_ACTIONS, STEPS, SIDE = 6, 3, 36


def renormalize(x):
    """Min-max scale every latent of the batch to [0, 1]."""
    flat = x.flatten(1)
    low = flat.min(dim=1, keepdim=True).values
    high = flat.max(dim=1, keepdim=True).values
    return ((flat - low) / (high - low + 1e-5)).view_as(x)


class Encoder(nn.Sequential):
    def __init__(self):
        super().__init__(
            nn.Conv2d(4, 12, 5, stride=3), nn.ReLU(),
            nn.Conv2d(12, 20, 3, stride=2), nn.ReLU(),
        )


class Transition(nn.Module):
    def __init__(self, channels=20):
        super().__init__()
        self.conv1 = nn.Conv2d(channels + N_ACTIONS, 24, 3, padding=1)
        self.bn = nn.BatchNorm2d(24)
        self.conv2 = nn.Conv2d(24, channels, 3, padding=1)

    def forward(self, z, action):
        planes = F.one_hot(action, N_ACTIONS).to(z.dtype)
        planes = planes[:, :, None, None].expand(-1, -1, *z.shape[-2:])
        h = F.relu(self.bn(self.conv1(torch.cat([z, planes], 1))))
        return renormalize(F.relu(self.conv2(h)))


class DuelingHead(nn.Module):
    def __init__(self, features=500, hidden=32):
        super().__init__()
        self.adv_hidden = nn.Linear(features, hidden)
        self.val_hidden = nn.Linear(features, hidden)
        self.adv = nn.Linear(hidden, N_ACTIONS)
        self.val = nn.Linear(hidden, 1)

    def forward(self, z):
        z = z.flatten(1)
        adv = self.adv(F.relu(self.adv_hidden(z)))
        val = self.val(F.relu(self.val_hidden(z)))
        return val + adv - adv.mean(1, keepdim=True)

    def project(self, z):
        z = z.flatten(1)
        return torch.cat([self.adv_hidden(z), self.val_hidden(z)], 1)


class SPR(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.head = DuelingHead()
        self.transition = Transition()
        self.predictor = nn.Linear(64, 64)
        self.target_encoder = copy.deepcopy(self.encoder)
        self.target_head = copy.deepcopy(self.head)

    def forward(self, obs, actions, future, nonterminal):
        z = renormalize(self.encoder(obs))
        q = self.head(z)
        losses = []
        alive = torch.ones_like(nonterminal[:, 0])
        for k in range(STEPS):
            z = self.transition(z, actions[:, k])
            online = self.predictor(self.head.project(z))
            goal = renormalize(self.target_encoder(future[:, k]))
            goal = self.target_head.project(goal)
            sim = (F.normalize(online, dim=1) * F.normalize(goal, dim=1)).sum(1)
            alive = alive * nonterminal[:, k]
            losses.append((2 - 2 * sim) * alive)
        return q, torch.stack(losses, 1)


def make():
    model = SPR().eval()
    rng = np.random.RandomState(3)
    with torch.no_grad():
        for name, p in model.named_parameters():
            fan = max(1, int(np.prod(p.shape[1:])))
            w = rng.randn(*p.shape) * (0.2 if p.dim() == 1 else 1.3 / np.sqrt(fan))
            if name == "transition.bn.weight":
                w = w + 1
            p.copy_(torch.tensor(w))
        model.transition.bn.running_mean.copy_(torch.tensor(rng.randn(24) * 0.3))
        model.transition.bn.running_var.copy_(torch.tensor(rng.uniform(0.4, 1.8, 24)))
    return model


def inputs(seed=0):
    rng = np.random.RandomState(seed)
    obs = rng.rand(5, 4, SIDE, SIDE).astype("float32")
    actions = rng.randint(0, N_ACTIONS, (5, STEPS)).astype("int64")
    future = rng.rand(5, STEPS, 4, SIDE, SIDE).astype("float32")
    nonterminal = np.ones((5, STEPS), "float32")
    nonterminal[1, 1:] = nonterminal[3, 2] = 0
    return obs, actions, future, nonterminal
