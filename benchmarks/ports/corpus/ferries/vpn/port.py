"""Value prediction network, torch: all options of a depth in one batch."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
LAYOUT = "NCHW"
CH, SIZE, WIDTH, OPTIONS, DEPTH, BEST = 3, 13, 8, 4, 3, 2


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(CH, WIDTH, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(WIDTH, eps=2e-5)
        self.pool = nn.MaxPool2d(2, ceil_mode=True)
        self.conv2 = nn.Conv2d(WIDTH, WIDTH, 3, padding=1)

    def forward(self, x):
        x = self.pool(F.relu(self.bn(self.conv1(x))))
        return torch.tanh(self.conv2(x))


class Transition(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(WIDTH + OPTIONS, WIDTH, 3, padding=1), nn.ReLU(),
                                 nn.Conv2d(WIDTH, WIDTH, 1), nn.Tanh())

    def forward(self, s, so):
        return s + self.net(so)


class Outcome(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(WIDTH + OPTIONS, WIDTH, 1)
        self.reward = nn.Linear(WIDTH, 1)
        self.discount = nn.Linear(WIDTH, 1)

    def forward(self, so):
        h = F.elu(self.conv(so)).mean((2, 3))
        return self.reward(h), torch.sigmoid(self.discount(h))


class VPN(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.transition = Transition()
        self.outcome = Outcome()
        self.value_net = nn.Sequential(nn.Linear(WIDTH, 12), nn.ReLU(), nn.Linear(12, 1))

    def value(self, s):
        return self.value_net(s.mean((2, 3)))

    def expand(self, s):
        """every state with every option: (n, ...) -> (n * OPTIONS, ...)"""
        n, _, h, w = s.shape
        options = torch.eye(OPTIONS).repeat(n, 1)[:, :, None, None].expand(-1, -1, h, w)
        s = s.repeat_interleave(OPTIONS, dim=0)
        so = torch.cat([s, options], dim=1)
        reward, discount = self.outcome(so)
        return reward, discount, self.transition(s, so)

    def q_plan(self, s, depth):
        reward, discount, nxt = self.expand(s)
        q = reward + discount * self.v_plan(nxt, depth)
        return q.view(-1, OPTIONS)

    def v_plan(self, s, depth):
        v = self.value(s)
        if depth == 1:
            return v
        best = self.q_plan(s, depth - 1).amax(dim=1, keepdim=True)
        return v / depth + best * (depth - 1) / depth

    def forward(self, x):
        s = self.encoder(x)
        q = self.q_plan(s, DEPTH)
        return q, F.softmax(q / 0.1, dim=1), self.value(s)


def make():
    torch.manual_seed(12)
    model = VPN()
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.1 * torch.randn_like(p))
        model.encoder.bn.running_mean.normal_(0, 0.2)
        model.encoder.bn.running_var.uniform_(0.5, 1.5)
    return model.eval()


def inputs(seed):
    rng = np.random.RandomState(seed)
    return (rng.randn(4, CH, SIZE, SIZE).astype(np.float32),)


@torch.no_grad()
def load(ported, original):
    def t(a):
        return torch.from_numpy(np.array(a))

    def layer(dst, src):
        dst.weight.copy_(t(src.W.array))
        if src.b is not None:
            dst.bias.copy_(t(src.b.array))

    enc, core = original.encoding, original.core
    layer(ported.encoder.conv1, enc.conv1)
    layer(ported.encoder.conv2, enc.conv2)
    bn = ported.encoder.bn
    bn.weight.copy_(t(enc.bn1.gamma.array))
    bn.bias.copy_(t(enc.bn1.beta.array))
    bn.running_mean.copy_(t(enc.bn1.avg_mean))
    bn.running_var.copy_(t(enc.bn1.avg_var))
    layer(ported.transition.net[0], core.trans1)
    layer(ported.transition.net[2], core.trans2)
    layer(ported.outcome.conv, core.outcome)
    layer(ported.outcome.reward, core.reward)
    layer(ported.outcome.discount, core.discount)
    layer(ported.value_net[0], core.value1)
    layer(ported.value_net[2], core.value2)
