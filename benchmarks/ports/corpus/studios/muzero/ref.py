"""MuZero: representation, one step of dynamics with a plane of the action, min-max scaled states, prediction."""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"
C, A, SUP = 12, 5, 5


class TRes(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(C, C, 3, padding=1, bias=False), nn.BatchNorm2d(C)
        self.c2, self.b2 = nn.Conv2d(C, C, 3, padding=1, bias=False), nn.BatchNorm2d(C)

    def forward(self, x):
        y = F.relu(self.b1(self.c1(x)))
        return F.relu(x + self.b2(self.c2(y)))


def t_scale(s):
    lo, hi = s.amin((2, 3), keepdim=True), s.amax((2, 3), keepdim=True)
    return (s - lo) / (hi - lo + 1e-5)


class TorchMuZero(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.stem_bn = nn.Conv2d(3, C, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(C)
        self.rep, self.dyn = TRes(), TRes()
        self.mix, self.mix_bn = nn.Conv2d(C + 1, C, 3, padding=1, bias=False), nn.BatchNorm2d(C)
        self.pv, self.rw = nn.Conv2d(C, 2, 1), nn.Conv2d(C, 1, 1)
        self.policy, self.value = nn.Linear(2 * 25, A), nn.Linear(2 * 25, 2 * SUP + 1)
        self.reward = nn.Linear(25, 2 * SUP + 1)
        self.register_buffer("support", torch.arange(-SUP, SUP + 1).float())

    def scalar(self, logits):
        x = (torch.softmax(logits, 1) * self.support).sum(1)
        return torch.sign(x) * (((torch.sqrt(1 + 4 * 0.001 * (x.abs() + 1 + 0.001)) - 1) / (2 * 0.001)) ** 2 - 1)

    def forward(self, obs, action):
        s = t_scale(self.rep(F.relu(self.stem_bn(self.stem(obs)))))
        plane = ((action.float() + 1) / A).view(-1, 1, 1, 1).expand(-1, 1, 5, 5)
        x = F.relu(self.mix_bn(self.mix(torch.cat([s, plane], 1))) + s)
        s = t_scale(self.dyn(x))
        r = self.scalar(self.reward(F.relu(self.rw(s)).flatten(1)))
        h = F.relu(self.pv(s)).flatten(1)
        return self.policy(h), self.scalar(self.value(h)), r


def make():
    torch.manual_seed(8)
    ref = TorchMuZero().eval()
    with torch.no_grad():
        for m in ref.modules():
            if isinstance(m, nn.BatchNorm2d):
                m.weight.uniform_(0.5, 1.5); m.bias.normal_(0, 0.2); m.running_mean.normal_(0, 0.2); m.running_var.uniform_(0.3, 1.2)
    return ref


def inputs(seed):
    rng = np.random.default_rng(seed + 8)
    obs = rng.normal(size=(4, 3, 9, 9)).astype("float32")
    action = np.array([0, 3, 1, 4], "int64")
    return obs, action
