"""AlphaZero's evaluation and root scores in PyTorch."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"


def conv_bn(n_in, n_out, kernel, bias=False):
    return nn.Sequential(nn.Conv2d(n_in, n_out, kernel, padding=kernel // 2, bias=bias),
                         nn.BatchNorm2d(n_out, eps=2e-5))


class Residual(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.first = conv_bn(n, n, 3)
        self.second = conv_bn(n, n, 3)

    def forward(self, x):
        y = self.second(F.relu(self.first(x)))
        return F.relu(x + y)


class Net(nn.Module):
    def __init__(self, planes=6, size=5, channels=16, blocks=2):
        super().__init__()
        self.size = size
        self.stem = conv_bn(planes, channels, 3)
        self.body = nn.Sequential(*[Residual(channels) for _ in range(blocks)])
        self.policy = conv_bn(channels, 2, 1, bias=True)
        self.policy_fc = nn.Linear(2 * size * size, size * size + 1)
        self.value = conv_bn(channels, 1, 1, bias=True)
        self.value_fc1 = nn.Linear(size * size, 20)
        self.value_fc2 = nn.Linear(20, 1)

    def heads(self, x):
        x = self.body(F.relu(self.stem(x)))
        p = self.policy_fc(F.relu(self.policy(x)).flatten(1))
        v = F.relu(self.value_fc1(F.relu(self.value(x)).flatten(1)))
        return p, torch.tanh(self.value_fc2(v)).squeeze(1)

    def symmetric(self, boards):
        """Logits and value, averaged over four rotations."""
        turned = [torch.rot90(boards, k, dims=(2, 3)) for k in range(4)]
        p, v = self.heads(torch.cat(turned))
        p = p.view(4, len(boards), -1)
        grids = p[:, :, :-1].view(4, -1, self.size, self.size)
        back = torch.stack([torch.rot90(grids[k], -k, dims=(1, 2)) for k in range(4)])
        logits = torch.cat([back.flatten(2), p[:, :, -1:]], dim=2).mean(dim=0)
        return logits, v.view(4, -1).mean(dim=0)

    def forward(self, boards, legal, noise, visits, totals):
        logits, value = self.symmetric(boards)
        prior = F.softmax(logits.masked_fill(~legal, -1e9), dim=1)
        p = torch.lerp(prior, noise, 0.25)
        parent = visits.sum(dim=1, keepdim=True)
        c_puct = torch.log((parent + 1001) / 1000) + 1.25
        q = totals / visits.clamp(min=1)
        u = c_puct * p * parent.sqrt() / (1 + visits)
        return prior, value, (q + u).masked_fill(~legal, -1e9)


def make(seed=23):
    torch.manual_seed(seed)
    return Net().eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    boards = (rng.random((4, 6, 5, 5)) < 0.4).astype("float32")
    legal = rng.random((4, 26)) < 0.7
    legal[:, -1] = True
    noise = rng.dirichlet(np.full(26, 0.3), 4).astype("float32")
    visits = (rng.integers(0, 30, (4, 26)) * legal).astype("float32")
    totals = (visits * rng.uniform(-1, 1, (4, 26))).astype("float32")
    return boards, legal, noise, visits, totals


@torch.no_grad()
def load(ported, original):
    def put(tensor, array):
        tensor.copy_(torch.from_numpy(np.array(array)))

    def unit(seq, conv, bn):
        put(seq[0].weight, conv.W.array)
        if conv.b is not None:
            put(seq[0].bias, conv.b.array)
        put(seq[1].weight, bn.gamma.array)
        put(seq[1].bias, bn.beta.array)
        put(seq[1].running_mean, bn.avg_mean)
        put(seq[1].running_var, bn.avg_var)

    unit(ported.stem, original.stem, original.stem_bn)
    unit(ported.policy, original.p_conv, original.p_bn)
    unit(ported.value, original.v_conv, original.v_bn)
    for ours, theirs in zip(ported.body, original.tower):
        unit(ours.first, theirs.conv1, theirs.bn1)
        unit(ours.second, theirs.conv2, theirs.bn2)
    for fc, link in ((ported.policy_fc, original.p_out), (ported.value_fc1, original.v_hidden),
                     (ported.value_fc2, original.v_out)):
        put(fc.weight, link.W.array)
        put(fc.bias, link.b.array)
