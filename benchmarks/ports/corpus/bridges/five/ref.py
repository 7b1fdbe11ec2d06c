"""OpenAI-Five-like network (Berner et al., 2019): unit sets, LSTM core, action/target/offset heads."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
UNITS, FEATS, GROUPS, GLOBALS, WIDTH, ACTIONS, GRID = 10, 12, 3, 14, 32, 8, 9


class UnitEncoder(nn.Module):
    """Shared first layers, then one projection for each group (allies, enemies, neutrals)."""

    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(FEATS, WIDTH)
        self.fc2 = nn.Linear(WIDTH, WIDTH)
        self.group_w = nn.Parameter(torch.zeros(GROUPS, WIDTH, WIDTH))
        self.group_b = nn.Parameter(torch.zeros(GROUPS, WIDTH))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, units, group, alive):
        x = F.relu(self.fc2(F.relu(self.fc1(units))))
        w, b = self.group_w[group], self.group_b[group]
        x = torch.einsum("buoi,bui->buo", w, x) + b
        x = self.norm(x)
        pools = []
        for g in range(GROUPS):
            member = alive & (group == g)
            masked = x.masked_fill(~member[..., None], -1e9)
            best = masked.max(dim=1).values
            pools.append(torch.where(member.any(1, keepdim=True), best, torch.zeros_like(best)))
        return x, torch.cat(pools, dim=1)


class Five(nn.Module):
    def __init__(self):
        super().__init__()
        self.units = UnitEncoder()
        self.globals = nn.Linear(GLOBALS, WIDTH)
        self.merge = nn.Linear(WIDTH * (GROUPS + 1), 48)
        self.core = nn.LSTMCell(48, 48)
        self.action = nn.Linear(48, ACTIONS)
        self.action_embed = nn.Embedding(ACTIONS, WIDTH)
        self.query = nn.Linear(48, WIDTH)
        self.key = nn.Linear(WIDTH, WIDTH)
        self.dx = nn.Linear(48, GRID)
        self.dy = nn.Linear(48, GRID)
        self.value = nn.Linear(48, 1)

    def forward(self, units, group, alive, scene, legal, h, c):
        tokens, pooled = self.units(units, group, alive)
        x = torch.cat([F.relu(self.globals(scene)), pooled], dim=1)
        h, c = self.core(F.relu(self.merge(x)), (h, c))
        action = self.action(h).masked_fill(~legal, -1e8)
        action = F.log_softmax(action, dim=-1)
        chosen = self.action_embed(action.argmax(dim=-1))
        # the chosen action gates the query over the units that are alive
        query = self.query(h) * torch.sigmoid(chosen)
        target = torch.einsum("bd,bud->bu", query, self.key(tokens)) / WIDTH ** 0.5
        target = F.log_softmax(target.masked_fill(~alive, -1e8), dim=-1)
        offset = self.dy(h)[:, :, None] + self.dx(h)[:, None, :]
        offset = F.log_softmax(offset.flatten(1), dim=-1)
        return action, target.exp(), offset, self.value(h).squeeze(1), h, c


def make():
    rng = np.random.RandomState(55)
    net = Five()
    with torch.no_grad():
        for name, p in net.named_parameters():
            if p.dim() == 1 or name == "units.group_b":
                value = rng.randn(*p.shape) * 0.2 + (1.0 if name == "units.norm.weight" else 0.0)
            elif name == "action_embed.weight":
                value = rng.randn(*p.shape)
            else:
                value = rng.randn(*p.shape) * 1.3 / np.sqrt(p.shape[-1])
            p.copy_(torch.from_numpy(value))
    return net.eval()


def inputs(seed=0):
    rng = np.random.RandomState(seed)
    b = 6
    units = rng.randn(b, UNITS, FEATS).astype("float32")
    group = rng.randint(0, GROUPS, (b, UNITS)).astype("int64")
    group[2] = rng.randint(0, 2, UNITS)
    alive = rng.rand(b, UNITS) < 0.7
    alive[:, 0] = True
    scene = rng.randn(b, GLOBALS).astype("float32")
    legal = rng.rand(b, ACTIONS) < 0.6
    legal[:, 1] = True
    h, c = (0.6 * rng.randn(2, b, 48)).astype("float32")
    return units, group, alive, scene, legal, h, c
