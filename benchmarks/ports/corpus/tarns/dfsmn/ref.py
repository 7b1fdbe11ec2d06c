"""Deep-FSMN acoustic model (Zhang et al., 2018). PyTorch."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
FEAT, HIDDEN, PROJ, LORDER, RORDER, STRIDE, BLOCKS, STATES = 10, 16, 8, 4, 2, 2, 3, 9


class CMVN(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.register_buffer("shift", torch.zeros(dim))
        self.register_buffer("scale", torch.ones(dim))

    def forward(self, x):
        return (x + self.shift) * self.scale


class MemoryBlock(nn.Module):
    """Depthwise filters over the past and (dilated) future frames, plus the memory of the block below."""

    def __init__(self, hidden, proj):
        super().__init__()
        self.shrink = nn.Linear(hidden, proj, bias=False)
        self.conv_left = nn.Conv1d(proj, proj, LORDER, groups=proj, bias=False)
        self.conv_right = nn.Conv1d(proj, proj, RORDER, dilation=STRIDE, groups=proj, bias=False)
        self.expand = nn.Linear(proj, hidden)

    def forward(self, h, mask, skip=None):
        p = self.shrink(h) * mask
        x = p.transpose(1, 2)
        left = self.conv_left(F.pad(x, (LORDER - 1, 0)))
        right = self.conv_right(F.pad(x, (0, STRIDE * RORDER))[:, :, STRIDE:])
        m = p + (left + right).transpose(1, 2)
        if skip is not None:
            m = m + skip
        return F.relu(self.expand(m)), m


class DFSMN(nn.Module):
    def __init__(self):
        super().__init__()
        self.cmvn = CMVN(FEAT)
        self.inp = nn.Linear(FEAT, HIDDEN)
        self.bn = nn.BatchNorm1d(HIDDEN)
        self.blocks = nn.ModuleList([MemoryBlock(HIDDEN, PROJ) for _ in range(BLOCKS)])
        self.out = nn.Linear(HIDDEN, STATES)

    def forward(self, feats, mask):
        mask = mask.unsqueeze(-1)
        x = self.cmvn(feats)
        h = self.bn(self.inp(x).transpose(1, 2)).transpose(1, 2)
        h = F.relu(h)
        memory = None
        for block in self.blocks:
            h, memory = block(h, mask, memory)
        return F.log_softmax(self.out(h), dim=-1) * mask


def make():
    model = DFSMN()
    rs = np.random.RandomState(5)
    with torch.no_grad():
        for p in model.parameters():
            fan = p[0].numel() if p.dim() > 1 else 12
            p.copy_(torch.from_numpy(rs.randn(*p.shape) * 1.1 / fan ** 0.5))
        model.bn.weight.copy_(torch.from_numpy(1 + 0.2 * rs.randn(HIDDEN)))
        model.bn.running_mean.copy_(torch.from_numpy(0.3 * rs.randn(HIDDEN)))
        model.bn.running_var.copy_(torch.from_numpy(0.5 + rs.rand(HIDDEN)))
        model.cmvn.shift.copy_(torch.from_numpy(rs.randn(FEAT)))
        model.cmvn.scale.copy_(torch.from_numpy(0.4 + rs.rand(FEAT)))
    return model.eval()


def inputs(seed):
    rs = np.random.RandomState(seed)
    x = (rs.randn(4, 12, FEAT) * 1.5).astype("float32")
    lengths = rs.permutation([12, 10, 9, 7])
    mask = (np.arange(12)[None] < lengths[:, None]).astype("float32")
    return x, mask
