"""Neural episodic control: Q-values from a differentiable dictionary per action, and its n-step update."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
ACTIONS, KEY, CAPACITY, NEIGHBOURS = 4, 8, 30, 5
DELTA, GAMMA, N_STEP, LR = 1e-2, 0.9, 3, 0.3


class DND(nn.Module):
    """The memory of one action."""

    def __init__(self):
        super().__init__()
        self.register_buffer("keys", torch.zeros(CAPACITY, KEY))
        self.register_buffer("values", torch.zeros(CAPACITY))
        self.register_buffer("size", torch.tensor(CAPACITY))

    def forward(self, h):
        d2 = ((h[:, None, :] - self.keys[None]) ** 2).sum(-1)
        empty = torch.arange(CAPACITY) >= self.size
        d2 = d2.masked_fill(empty, 1e6)
        near, index = torch.topk(d2, NEIGHBOURS, dim=1, largest=False)
        kernel = 1.0 / (near + DELTA)
        weights = kernel / kernel.sum(dim=1, keepdim=True)
        return (weights * self.values[index]).sum(dim=1), near[:, 0]


class NEC(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(3, 6, kernel_size=4, stride=2)
        self.hidden = nn.Linear(6 * 7, 32)
        self.norm = nn.LayerNorm(32)
        self.key = nn.Linear(32, KEY)
        self.memory = nn.ModuleList(DND() for _ in range(ACTIONS))

    def embed(self, lidar):
        x = torch.relu(self.conv(lidar)).flatten(1)
        return self.key(torch.relu(self.norm(self.hidden(x))))

    def lookup(self, h):
        q, nearest = zip(*(dnd(h) for dnd in self.memory))
        return torch.stack(q, dim=1), torch.stack(nearest, dim=1)

    def forward(self, lidar, last_lidar, rewards, action):
        h = self.embed(lidar)
        q, nearest = self.lookup(h)
        q_last, _ = self.lookup(self.embed(last_lidar))
        discounts = GAMMA ** torch.arange(N_STEP, dtype=torch.float32)
        n_step = (rewards * discounts).sum(1) + GAMMA**N_STEP * q_last.max(dim=1).values
        q_a = q.gather(1, action.long()[:, None])[:, 0]
        updated = q_a + LR * (n_step - q_a)
        novelty = 1.0 / torch.sqrt(nearest.gather(1, action.long()[:, None])[:, 0] + 1e-3)
        return {"q": q, "key": h, "target": n_step, "updated": updated, "novelty": novelty}


def make(seed=13):
    gen = torch.Generator().manual_seed(seed)
    net = NEC()
    with torch.no_grad():
        for name, p in net.named_parameters():
            if name == "norm.weight":
                p.copy_(1 + 0.2 * torch.randn(p.shape, generator=gen))
            elif p.ndim == 1:
                p.copy_(0.2 * torch.randn(p.shape, generator=gen))
            else:
                p.copy_(1.2 * torch.randn(p.shape, generator=gen) / p[0].numel() ** 0.5)
        for dnd, size in zip(net.memory, (30, 22, 12, 26)):
            dnd.keys[:size] = torch.randn(size, KEY, generator=gen)
            dnd.values[:size] = 2 * torch.randn(size, generator=gen) + 1
            dnd.size.fill_(size)
    return net.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    lidar = rng.uniform(0, 2, size=(7, 3, 16)).astype("float32")
    last = rng.uniform(0, 2, size=(7, 3, 16)).astype("float32")
    rewards = rng.normal(size=(7, N_STEP)).astype("float32")
    action = rng.integers(0, ACTIONS, size=7).astype("int32")
    return lidar, last, rewards, action
