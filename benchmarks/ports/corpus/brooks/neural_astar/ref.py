"""Neural A* (Yonetani et al. 2021): cost encoder and differentiable A* search."""
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
LAYOUT = "NCHW"
SIZE, STEPS = 6, 6


def get_heuristic(goal_maps, tb_factor=0.05):
    b, size = goal_maps.shape[0], goal_maps.shape[-1]
    grid = torch.meshgrid(torch.arange(0, size), torch.arange(0, size), indexing="ij")
    loc = torch.stack(grid, dim=0).type_as(goal_maps)
    loc_expand = loc.reshape(2, -1).unsqueeze(0).expand(b, 2, -1)
    goal_loc = torch.einsum("kij,bij->bk", loc, goal_maps[:, 0])
    goal_loc_expand = goal_loc.unsqueeze(-1).expand(b, 2, loc_expand.shape[-1])
    dxdy = torch.abs(loc_expand - goal_loc_expand)
    h = dxdy.sum(dim=1) - dxdy.min(dim=1)[0]
    euc = torch.sqrt(((loc_expand - goal_loc_expand) ** 2).sum(1))
    return (h + tb_factor * euc).reshape_as(goal_maps)


def st_softmax(val):
    v = val.reshape(val.shape[0], -1)
    y = v / v.sum(dim=-1, keepdim=True)
    hard = torch.zeros_like(y).scatter(1, y.argmax(dim=-1, keepdim=True), 1.0)
    return (hard - y).detach().add(y).reshape_as(val)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        blocks, c = [], 2
        for d in (8, 12):
            blocks += [nn.Conv2d(c, d, 3, 1, 1), nn.BatchNorm2d(d), nn.ReLU()]
            c = d
        blocks += [nn.Conv2d(c, 1, 3, 1, 1), nn.BatchNorm2d(1)]
        self.model = nn.Sequential(*blocks)
        self.const = nn.Parameter(torch.ones(1) * 3.0)

    def forward(self, x):
        return torch.sigmoid(self.model(x)) * self.const


class DifferentiableAstar(nn.Module):
    def __init__(self, g_ratio=0.3):
        super().__init__()
        k = torch.ones(1, 1, 3, 3)
        k[0, 0, 1, 1] = 0
        self.register_buffer("neighbor_filter", k)
        self.g_ratio = g_ratio

    def expand(self, x):
        return F.conv2d(x, self.neighbor_filter, padding=1)

    def forward(self, cost, start, goal, obstacles):
        open_maps = start
        histories = torch.zeros_like(start)
        g = torch.zeros_like(start)
        h = get_heuristic(goal) + cost
        for _ in range(STEPS):
            f = self.g_ratio * g + (1 - self.g_ratio) * h
            f_exp = torch.exp(-f / math.sqrt(SIZE)) * open_maps
            selected = st_softmax(f_exp)
            dist_to_goal = (selected * goal).sum((1, 2, 3), keepdim=True)
            unsolved = (dist_to_goal < 1e-8).float()
            histories = torch.clamp(histories + selected, 0, 1)
            open_maps = torch.clamp(open_maps - unsolved * selected, 0, 1)
            neighbors = self.expand(selected)
            neighbors = neighbors * obstacles
            g2 = self.expand((g + cost) * selected)
            idx = (1 - open_maps) * (1 - histories) + open_maps * (g > g2).float()
            idx = (idx * neighbors).detach()
            g = g2 * idx + g * (1 - idx)
            open_maps = torch.clamp(open_maps + idx, 0, 1)
        return histories, g, open_maps


class NeuralAstar(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.astar = DifferentiableAstar()

    def forward(self, map_design, start, goal):
        cost = self.encoder(torch.cat([map_design, start + goal], dim=1))
        histories, g, open_maps = self.astar(cost, start, goal, map_design)
        return cost, histories, g, open_maps


def make():
    gen = torch.Generator().manual_seed(3)
    m = NeuralAstar()
    with torch.no_grad():
        for p in m.encoder.model.parameters():
            p.copy_(torch.randn(p.shape, generator=gen) * 0.3)
        m.encoder.const.fill_(2.7)
        for mod in m.modules():
            if isinstance(mod, nn.BatchNorm2d):
                mod.weight.copy_(0.5 + torch.rand(mod.weight.shape, generator=gen))
                mod.running_mean.copy_(torch.randn(mod.running_mean.shape, generator=gen) * 0.2)
                mod.running_var.copy_(0.02 + 0.2 * torch.rand(mod.running_var.shape, generator=gen))
    return m.eval()


def _maps(seed):
    r = np.random.RandomState(seed)
    B = 4
    design = (r.rand(B, 1, SIZE, SIZE) > 0.3).astype("float32")
    start, goal = np.zeros_like(design), np.zeros_like(design)
    for b in range(B):
        start[b, 0, r.randint(0, 2), r.randint(0, SIZE)] = 1
        goal[b, 0, r.randint(SIZE - 2, SIZE), r.randint(0, SIZE)] = 1
    return np.maximum(design, start + goal), start, goal


def inputs(seed):
    return _maps(seed)
