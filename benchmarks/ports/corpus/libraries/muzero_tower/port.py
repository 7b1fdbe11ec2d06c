"""Torch port of the Keras tower."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
N, CH, MAX = 6, 12, 10


def conv_bn(cin, cout, k, bias=True):
    return nn.Sequential(nn.Conv2d(cin, cout, k, padding=k // 2, bias=bias), nn.BatchNorm2d(cout, eps=1e-3))


class SEBlock(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.a, self.b = conv_bn(ch, ch, 3, bias=False), conv_bn(ch, ch, 3, bias=False)
        self.se = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(ch, ch // 2, 1), nn.ReLU(), nn.Conv2d(ch // 2, 2 * ch, 1)
        )

    def forward(self, x):
        out = self.b(F.relu(self.a(x)))
        scale, shift = self.se(out).chunk(2, dim=1)
        out = out * scale.sigmoid() + shift
        return F.relu(out + x)


def minmax(h):
    flat = h.flatten(1)
    lo, hi = flat.amin(1), flat.amax(1)
    lo, hi = lo.view(-1, 1, 1, 1), hi.view(-1, 1, 1, 1)
    return (h - lo) / (hi - lo + 1e-5)


def inverse_h(x, eps=0.01):
    inner = ((1 + 4 * eps * (x.abs() + 1 + eps)).sqrt() - 1) / (2 * eps)
    return x.sign() * (inner**2 - 1)


class MuZeroNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = conv_bn(4, CH, 3)
        self.tower = nn.Sequential(SEBlock(CH), SEBlock(CH))
        self.pi_conv, self.v_conv = conv_bn(CH, 2, 1), conv_bn(CH, 1, 1)
        self.pi = nn.Linear(2 * N * N, N * N + 1)
        self.v = nn.Sequential(nn.Linear(N * N, 16), nn.ReLU(), nn.Linear(16, 2 * MAX + 1))
        self.dyn, self.dyn_block = conv_bn(CH + 1, CH, 3), SEBlock(CH)
        self.r = nn.Linear(CH, 2 * MAX + 1)
        self.register_buffer("support", torch.arange(-MAX, MAX + 1).float())

    def to_scalar(self, logits):
        return inverse_h(logits.softmax(1) @ self.support)

    def predict(self, h, legal):
        logits = self.pi(F.relu(self.pi_conv(h)).flatten(1))
        logits = logits.masked_fill(~legal, float("-inf"))
        value = self.v(F.relu(self.v_conv(h)).flatten(1))
        return logits.softmax(1), self.to_scalar(value)

    def step(self, h, action):
        plane = h.new_zeros(len(h), 1, N, N)
        on_board = (action < N * N).nonzero().squeeze(1)
        cell = action[on_board]
        row, col = cell // N, cell % N
        plane[on_board, 0, row, col] = 1.0
        x = F.relu(self.dyn(torch.cat([h, plane], 1)))
        x = self.dyn_block(x)
        return minmax(x), self.to_scalar(self.r(x.mean((2, 3))))

    def forward(self, board, legal, action):
        h = minmax(self.tower(F.relu(self.stem(board))))
        policy, value = self.predict(h, legal)
        h, reward = self.step(h, action)
        return policy, value, reward, self.predict(h, legal)[1]


def make():
    torch.manual_seed(44)
    return MuZeroNet().eval()


def _t(x):
    return torch.from_numpy(np.array(x))


def _conv(dst, conv):
    dst.weight.data = _t(conv.kernel).permute(3, 2, 0, 1).contiguous()
    if conv.use_bias:
        dst.bias.data = _t(conv.bias)


def _bn(dst, bn):
    dst.weight.data, dst.bias.data = _t(bn.gamma), _t(bn.beta)
    dst.running_mean.copy_(_t(bn.moving_mean))
    dst.running_var.copy_(_t(bn.moving_variance))


def _dense(dst, dense):
    dst.weight.data = _t(dense.kernel).T.contiguous().view(dst.weight.shape)
    dst.bias.data = _t(dense.bias)


def _conv_bn(dst, seq):
    _conv(dst[0], seq.layers[0])
    _bn(dst[1], seq.layers[1])


def load(model, reference):
    blocks = list(zip(model.tower, reference.blocks)) + [(model.dyn_block, reference.dyn_block)]
    for dst, src in blocks:
        _conv(dst.a[0], src.conv1), _bn(dst.a[1], src.bn1)
        _conv(dst.b[0], src.conv2), _bn(dst.b[1], src.bn2)
        _dense(dst.se[1], src.squeeze), _dense(dst.se[3], src.excite)
    _conv_bn(model.stem, reference.stem)
    _conv_bn(model.dyn, reference.dyn)
    _conv_bn(model.pi_conv, reference.policy_conv)
    _conv_bn(model.v_conv, reference.value_conv)
    kernel = _t(reference.policy.kernel).view(N, N, 2, -1)
    model.pi.weight.data = kernel.permute(3, 2, 0, 1).flatten(1).contiguous()
    model.pi.bias.data = _t(reference.policy.bias)
    _dense(model.v[0], reference.value_hidden)
    _dense(model.v[2], reference.value)
    _dense(model.r, reference.reward)


def inputs(seed):
    g = np.random.default_rng(seed)
    owner = g.integers(0, 3, (4, N, N))
    turn = np.broadcast_to(g.random((4, 1, 1)) < 0.5, owner.shape)
    board = np.stack([owner == 1, owner == 2, owner == 0, turn], 1).astype("float32")
    legal = np.concatenate([(owner == 0).reshape(4, -1), np.ones((4, 1), bool)], 1)
    action = np.array([g.choice(np.flatnonzero(row)) for row in legal])
    action[0] = N * N
    return board, legal, action
