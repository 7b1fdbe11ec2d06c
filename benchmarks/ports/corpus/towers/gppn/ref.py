"""Gated path planning network (Lee et al. 2018)."""
import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"
LAYOUT = "NCHW"
ORIENT, ACTIONS, LH, LQ, K, SIZE = 2, 4, 8, 10, 5, 7


class GPPN(nn.Module):
    def __init__(self):
        super().__init__()
        self.hid = nn.Conv2d(2 + ORIENT, LQ, 3, padding=1)
        self.bn = nn.BatchNorm2d(LQ)
        self.h0 = nn.Conv2d(LQ, LH, 3, padding=1)
        self.c0 = nn.Conv2d(LQ, LH, 3, padding=1)
        self.conv = nn.Conv2d(LH, 3, 5, padding=2, bias=False)
        self.lstm = nn.LSTMCell(3, LH)
        self.policy = nn.Conv2d(LH, ORIENT * ACTIONS, 1, bias=False)

    @staticmethod
    def flat(x):
        return x.permute(0, 2, 3, 1).reshape(-1, x.shape[1])

    @staticmethod
    def unflat(x, b):
        return x.view(b, SIZE, SIZE, -1).permute(0, 3, 1, 2)

    def forward(self, map_design, goal_map):
        b = map_design.shape[0]
        hid = torch.relu(self.bn(self.hid(torch.cat([map_design, goal_map], dim=1))))
        h = self.flat(self.h0(hid))
        c = self.flat(torch.tanh(self.c0(hid)))
        for _ in range(K - 1):
            inp = self.flat(self.conv(self.unflat(h, b)))
            h, c = self.lstm(inp, (h, c))
        logits = self.policy(self.unflat(h, b))
        logits = logits.view(b, ORIENT, ACTIONS, SIZE, SIZE)
        probs = torch.softmax(logits, dim=2)
        return logits.view(b, -1, SIZE, SIZE), probs.view(b, -1, SIZE, SIZE)


def make():
    m = GPPN()
    g = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for n, p in m.named_parameters():
            if n == "bn.weight":
                p.copy_(1 + 0.2 * torch.randn(p.shape, generator=g))
            else:
                k = p[0].numel() ** -0.5 * 1.4 if p.dim() > 1 else 0.2
                p.copy_(torch.randn(p.shape, generator=g) * k)
        m.bn.running_mean.copy_(0.1 * torch.randn(LQ, generator=g))
        m.bn.running_var.copy_(0.02 + 0.1 * torch.rand(LQ, generator=g))
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    maze = (r.rand(4, 2, SIZE, SIZE) < 0.6).astype("float32") * 0.5 + 0.1 * r.randn(4, 2, SIZE, SIZE).astype("float32")
    goal = np.zeros((4, ORIENT, SIZE, SIZE), "float32")
    for i in range(4):
        goal[i, r.randint(ORIENT), r.randint(SIZE), r.randint(SIZE)] = 1
    return maze, goal
