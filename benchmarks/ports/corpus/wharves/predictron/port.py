"""Predictron in PyTorch. Takes the Keras batch (NHWC) and works in NCHW inside."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
SIZE, C, K, OUT = 6, 8, 3, 4


class ConvBN(nn.Sequential):
    def __init__(self, cin, cout):
        super().__init__(nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout, eps=1e-3), nn.ReLU())


class Head(nn.Module):
    def __init__(self, squash=False):
        super().__init__()
        self.hidden = nn.Linear(C * SIZE * SIZE, 16)
        self.out = nn.Linear(16, OUT)
        self.squash = squash

    def forward(self, x):
        x = x.permute(0, 2, 3, 1).flatten(1)
        x = self.out(self.hidden(x).relu())
        return torch.sigmoid(x) if self.squash else x


class Predictron(nn.Module):
    def __init__(self, depth=K):
        super().__init__()
        self.depth = depth
        self.embed = nn.Sequential(ConvBN(1, C), ConvBN(C, C))
        self.trunk = ConvBN(C, C)
        self.step = ConvBN(C, C)
        self.value, self.reward = Head(), Head()
        self.gamma, self.lam = Head(True), Head(True)

    def rollout(self, s):
        v, r, g, l = [self.value(s)], [], [], []
        for _ in range(self.depth):
            h = self.trunk(s)
            r.append(self.reward(h))
            g.append(self.gamma(h))
            l.append(self.lam(h))
            s = self.step(h)
            v.append(self.value(s))
        return [torch.stack(t, 1) for t in (v, r, g, l)]

    def forward(self, x):
        v, r, g, l = self.rollout(self.embed(x.permute(0, 3, 1, 2)))

        # forward view: running sums of discounted rewards
        acc, disc = torch.zeros_like(v[:, 0]), torch.ones_like(v[:, 0])
        pre = [v[:, 0]]
        for k in range(self.depth):
            acc = acc + disc * r[:, k]
            disc = disc * g[:, k]
            pre.append(acc + disc * v[:, k + 1])
        pre = torch.stack(pre, 1)

        # lambda return as a weighted sum of the preturns
        carry = torch.ones_like(v[:, 0])
        ret = 0.0
        for k in range(self.depth):
            ret = ret + carry * (1 - l[:, k]) * pre[:, k]
            carry = carry * l[:, k]
        ret = ret + carry * pre[:, self.depth]
        return pre, ret


def make(seed=5):
    torch.manual_seed(seed)
    m = Predictron().eval()
    with torch.no_grad():
        for mod in m.modules():
            if isinstance(mod, nn.BatchNorm2d):
                mod.weight.uniform_(0.6, 1.4), mod.running_var.uniform_(0.6, 1.4)
                mod.bias.normal_(0, 0.2), mod.running_mean.normal_(0, 0.2)
            elif isinstance(mod, (nn.Linear, nn.Conv2d)):
                mod.weight.normal_(0, 1.3 / mod.weight[0].numel() ** 0.5)
                mod.bias.normal_(0, 0.2)
    return m


def inputs(seed=0):
    return (np.random.RandomState(seed).rand(5, SIZE, SIZE, 1) < 0.4).astype("f")


@torch.no_grad()
def load(ported, original):
    t = lambda a: torch.from_numpy(np.array(a))

    def conv(block, c, b):
        w, bias = original.get_layer(c).get_weights()
        block[0].weight.copy_(t(w.transpose(3, 2, 0, 1))), block[0].bias.copy_(t(bias))
        for dst, src in zip((block[1].weight, block[1].bias, block[1].running_mean, block[1].running_var),
                            original.get_layer(b).get_weights()):
            dst.copy_(t(src))
    conv(ported.embed[0], "embed_conv0", "embed_bn0")
    conv(ported.embed[1], "embed_conv1", "embed_bn1")
    conv(ported.trunk, "core_trunk", "core_bn")
    conv(ported.step, "core_step", "core_step_bn")
    for h, n in ((ported.value, "value"), (ported.reward, "reward"), (ported.gamma, "gamma"), (ported.lam, "lambda")):
        w1, b1, w2, b2 = original.get_layer(n).get_weights()
        h.hidden.weight.copy_(t(w1.T)), h.hidden.bias.copy_(t(b1))
        h.out.weight.copy_(t(w2.T)), h.out.bias.copy_(t(b2))
