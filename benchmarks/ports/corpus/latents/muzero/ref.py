"""MuZero: representation, dynamics with an action plane, prediction."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
C, NA, SUP, HW = 8, 5, 10, 6


class Res(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(C, C, 3, padding=1, bias=False), nn.Conv2d(C, C, 3, padding=1, bias=False)
        self.b1, self.b2 = nn.BatchNorm2d(C), nn.BatchNorm2d(C)

    def forward(self, x):
        y = F.relu(self.b1(self.c1(x)))
        return F.relu(self.b2(self.c2(y)) + x)


def inverse(logits):
    support = torch.arange(-SUP, SUP + 1, dtype=logits.dtype)
    x = (F.softmax(logits, 1) * support).sum(1)
    return torch.sign(x) * (((torch.sqrt(1 + 4 * 0.001 * (torch.abs(x) + 1 + 0.001)) - 1) / (2 * 0.001)) ** 2 - 1)


def scale(s):
    lo = s.flatten(2).min(2)[0][..., None, None]
    hi = s.flatten(2).max(2)[0][..., None, None]
    return (s - lo) / (hi - lo + 1e-5)


class MuZero(nn.Module):
    def __init__(self):
        super().__init__()
        self.rc, self.rb, self.rr = nn.Conv2d(3, C, 3, padding=1), nn.BatchNorm2d(C), Res()
        self.dc, self.db, self.dr = nn.Conv2d(C + 1, C, 3, padding=1), nn.BatchNorm2d(C), Res()
        self.rew1, self.rew2 = nn.Conv2d(C, 2, 1), nn.Linear(2 * HW * HW, 2 * SUP + 1)
        self.pol1, self.pol2 = nn.Conv2d(C, 2, 1), nn.Linear(2 * HW * HW, NA)
        self.val1, self.val2 = nn.Conv2d(C, 2, 1), nn.Linear(2 * HW * HW, 2 * SUP + 1)

    def forward(self, obs, action):
        s = scale(self.rr(F.relu(self.rb(self.rc(obs)))))
        plane = (action.float() / NA)[:, None, None, None].expand(-1, 1, HW, HW)
        x = self.db(self.dc(torch.cat([s, plane], 1)))
        x = self.dr(F.relu(x + s))
        reward = inverse(self.rew2(F.relu(self.rew1(x)).flatten(1)))
        n = scale(x)
        policy = F.log_softmax(self.pol2(F.relu(self.pol1(n)).flatten(1)), 1)
        value = inverse(self.val2(F.relu(self.val1(n)).flatten(1)))
        return {"reward": reward, "policy": policy, "value": value}


def make():
    torch.manual_seed(6)
    m = MuZero()
    for k in m.modules():
        if isinstance(k, nn.BatchNorm2d):
            nn.init.uniform_(k.weight, 0.5, 1.5); nn.init.normal_(k.bias, 0, 0.2)
            nn.init.normal_(k.running_mean, 0, 0.3); nn.init.uniform_(k.running_var, 0.3, 1.5)
        if isinstance(k, nn.Linear):
            nn.init.normal_(k.weight, 0, 0.3)
    return m.eval()


def inputs(seed):
    r = np.random.default_rng(seed + 6)
    return (r.normal(size=(4, 3, HW, HW)).astype("float32"), np.array([1, 4, 2, 3], "int64"))
