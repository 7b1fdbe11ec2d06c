"""muzero-general-like network: residual representation and dynamics, min-max scaled state, support."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
C, ROWS, COLS, A, SUP = 12, 6, 7, 7, 5


class TorchRes(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(C, C, 3, padding=1, bias=False), nn.BatchNorm2d(C)
        self.conv2, self.bn2 = nn.Conv2d(C, C, 3, padding=1, bias=False), nn.BatchNorm2d(C)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x
        return F.relu(out)


def scale_state(s):
    flat = s.view(-1, s.shape[1], s.shape[2] * s.shape[3])
    lo = flat.min(2, keepdim=True)[0].unsqueeze(-1)
    hi = flat.max(2, keepdim=True)[0].unsqueeze(-1)
    scale = hi - lo
    scale[scale < 1e-5] += 1e-5
    return (s - lo) / scale


def support_to_scalar(logits):
    probs = torch.softmax(logits, dim=1)
    x = (torch.arange(-SUP, SUP + 1).float() * probs).sum(1, keepdim=True)
    return torch.sign(x) * (((torch.sqrt(1 + 4 * 0.001 * (x.abs() + 1 + 0.001)) - 1) / (2 * 0.001)) ** 2 - 1)


class TorchMuZero(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(3, C, 3, padding=1, bias=False), nn.BatchNorm2d(C)
        self.res = TorchRes()
        self.dyn_conv, self.dyn_bn = nn.Conv2d(C + 1, C, 3, padding=1, bias=False), nn.BatchNorm2d(C)
        self.dyn_res = TorchRes()
        self.reward_conv, self.reward_fc = nn.Conv2d(C, 2, 1), nn.Linear(2 * ROWS * COLS, 2 * SUP + 1)
        self.value_conv, self.value_fc = nn.Conv2d(C, 2, 1), nn.Linear(2 * ROWS * COLS, 2 * SUP + 1)
        self.policy_conv, self.policy_fc = nn.Conv2d(C, 2, 1), nn.Linear(2 * ROWS * COLS, A)

    def head(self, conv, fc, x):
        return fc(conv(x).reshape(-1, 2 * ROWS * COLS))

    def forward(self, observation, action):
        state = scale_state(self.res(F.relu(self.bn(self.conv(observation)))))
        plane = torch.ones(state.shape[0], 1, ROWS, COLS) * action[:, :, None, None] / A
        x = F.relu(self.dyn_bn(self.dyn_conv(torch.cat((state, plane), 1))))
        nxt = self.dyn_res(x)
        reward = self.head(self.reward_conv, self.reward_fc, nxt)
        nxt = scale_state(nxt)
        value = self.head(self.value_conv, self.value_fc, nxt)
        policy = self.head(self.policy_conv, self.policy_fc, nxt)
        return support_to_scalar(value), support_to_scalar(reward), policy


def make():
    torch.manual_seed(7)
    net = TorchMuZero()
    with torch.no_grad():
        for m in net.modules():
            if isinstance(m, nn.BatchNorm2d):
                m.running_mean.normal_(0, 0.2), m.running_var.uniform_(0.1, 0.6)
                m.weight.uniform_(0.5, 1.5), m.bias.normal_(0, 0.2)
    return net.eval()


def inputs(seed):
    r = np.random.default_rng(seed + 17)
    return r.normal(size=(5, 3, ROWS, COLS)).astype("float32"), r.integers(0, A, (5, 1)).astype("float32")
