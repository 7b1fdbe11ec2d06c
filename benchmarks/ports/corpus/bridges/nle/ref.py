"""The NetHack Learning Environment's baseline agent (Kuettler et al., 2020), made small."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"
T, ROWS, COLS, CROP, GLYPHS, ACTIONS, STATS = 5, 11, 21, 5, 120, 9, 10


class Crop(nn.Module):
    """Bilinear crop of the map around the hero, as in the original (grid_sample)."""

    def __init__(self, height, width, crop):
        super().__init__()
        self.height, self.width, self.crop = height, width, crop
        steps = torch.linspace(-(crop - 1) / 2, (crop - 1) / 2, crop)
        self.register_buffer("dx", 2 / (width - 1) * steps[None, :].expand(crop, -1))
        self.register_buffer("dy", 2 / (height - 1) * steps[:, None].expand(-1, crop))

    def forward(self, maps, coordinates):
        x = 2 * coordinates[:, 0] / (self.width - 1) - 1
        y = 2 * coordinates[:, 1] / (self.height - 1) - 1
        grid = torch.stack([self.dx[None] + x[:, None, None], self.dy[None] + y[:, None, None]], dim=3)
        return F.grid_sample(maps[:, None].float(), grid, mode="nearest", align_corners=True).squeeze(1).round().long()


def conv_stack():
    return nn.Sequential(
        nn.Conv2d(8, 12, 3, padding=1), nn.ELU(),
        nn.Conv2d(12, 12, 3, padding=1), nn.ELU(),
        nn.Conv2d(12, 4, 3, padding=1), nn.ELU(),
    )


class NetHackNet(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.embed = nn.Embedding(GLYPHS, 8)
        self.crop = Crop(ROWS, COLS, CROP)
        self.map_convs = conv_stack()
        self.crop_convs = conv_stack()
        self.stats = nn.Sequential(nn.Linear(STATS, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU())
        self.fc = nn.Sequential(nn.Linear(16 + 4 * ROWS * COLS + 4 * CROP * CROP, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU())
        self.core = nn.LSTMCell(48, hidden)
        self.policy = nn.Linear(hidden, ACTIONS)
        self.baseline = nn.Linear(hidden, 1)

    def features(self, glyphs, blstats):
        coordinates = blstats[:, :2]
        stats = torch.cat([blstats[:, :2] / 20.0, torch.sign(blstats[:, 2:]) * torch.log1p(blstats[:, 2:].abs())], 1)
        whole = self.map_convs(self.embed(glyphs).permute(0, 3, 1, 2))
        near = self.crop_convs(self.embed(self.crop(glyphs, coordinates)).permute(0, 3, 1, 2))
        return self.fc(torch.cat([self.stats(stats), whole.flatten(1), near.flatten(1)], dim=1))

    def forward(self, glyphs, blstats, done, h, c):
        t, b = done.shape
        x = self.features(glyphs.flatten(0, 1), blstats.flatten(0, 1)).view(t, b, -1)
        outs = []
        for step, nd in zip(x.unbind(0), (~done).float().unbind(0)):
            # the state is wiped *before* the first step of an episode
            h, c = h * nd[:, None], c * nd[:, None]
            h, c = self.core(step, (h, c))
            outs.append(h)
        core = torch.stack(outs)
        return self.policy(core), self.baseline(core).squeeze(-1), h, c


def make():
    torch.manual_seed(14)
    net = NetHackNet().eval()
    gen = torch.Generator().manual_seed(15)
    with torch.no_grad():
        for p in net.parameters():
            if p.dim() == 1:
                p.copy_(torch.randn(p.shape, generator=gen) * 0.2)
    return net


def inputs(seed=0):
    rng = np.random.RandomState(seed)
    b = 4
    glyphs = rng.randint(0, GLYPHS, (T, b, ROWS, COLS)).astype("int64")
    blstats = np.concatenate([
        rng.randint(0, COLS, (T, b, 1)), rng.randint(0, ROWS, (T, b, 1)),
        np.round(rng.exponential(20, (T, b, STATS - 2)))], axis=2).astype("float32")
    done = np.zeros((T, b), bool)
    done[0, 1] = done[2, 0] = done[3, 3] = True
    h, c = (0.5 * rng.randn(2, b, 48)).astype("float32")
    return glyphs, blstats, done, h, c
