"""Dual-path RNN speech separation in PyTorch."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
N, B, H, K, SPK = 8, 6, 5, 8, 2
SAMPLES = 84


class DPRNNBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.intra_rnn = nn.LSTM(B, H, batch_first=True, bidirectional=True)
        self.intra_linear = nn.Linear(2 * H, B)
        self.intra_norm = nn.GroupNorm(1, B, eps=1e-8)
        self.inter_rnn = nn.LSTM(B, H, batch_first=True, bidirectional=True)
        self.inter_linear = nn.Linear(2 * H, B)
        self.inter_norm = nn.GroupNorm(1, B, eps=1e-8)

    def forward(self, x):
        b, n, k, s = x.shape
        intra = x.permute(0, 3, 2, 1).reshape(b * s, k, n)
        intra, _ = self.intra_rnn(intra)
        intra = self.intra_linear(intra).view(b, s, k, n).permute(0, 3, 2, 1)
        x = x + self.intra_norm(intra)
        inter = x.permute(0, 2, 3, 1).reshape(b * k, s, n)
        inter, _ = self.inter_rnn(inter)
        inter = self.inter_linear(inter).view(b, k, s, n).permute(0, 3, 1, 2)
        return x + self.inter_norm(inter)


def segment(x, k):
    """(B, N, L) -> (B, N, K, S), half overlapping"""
    p = k // 2
    x = F.pad(x, (p, p))
    return x.unfold(2, k, p).transpose(2, 3)


def overlap_add(x, length):
    """(B, N, K, S) -> (B, N, L)"""
    b, n, k, s = x.shape
    p = k // 2
    first, second = x[:, :, :p], x[:, :, p:]
    first = F.pad(first.transpose(2, 3).reshape(b, n, s * p), (0, p))
    second = F.pad(second.transpose(2, 3).reshape(b, n, s * p), (p, 0))
    return (first + second)[:, :, p:p + length]


class DPRNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Conv1d(1, N, 8, stride=4, bias=False)
        self.norm = nn.GroupNorm(1, N, eps=1e-8)
        self.bottleneck = nn.Conv1d(N, B, 1)
        self.blocks = nn.ModuleList([DPRNNBlock() for _ in range(2)])
        self.prelu = nn.PReLU()
        self.mask_conv = nn.Conv2d(B, SPK * B, 1)
        self.out = nn.Conv1d(B, N, 1)
        self.gate = nn.Conv1d(B, N, 1)
        self.decoder = nn.ConvTranspose1d(N, 1, 8, stride=4, bias=False)

    def forward(self, wav):
        w = F.relu(self.encoder(wav.unsqueeze(1)))
        x = self.bottleneck(self.norm(w))
        length = x.shape[-1]
        x = segment(x, K)
        for blk in self.blocks:
            x = blk(x)
        x = self.mask_conv(self.prelu(x))
        b, _, k, s = x.shape
        x = x.view(b * SPK, B, k, s)
        x = overlap_add(x, length)
        m = F.relu(torch.tanh(self.out(x)) * torch.sigmoid(self.gate(x)))
        m = m.view(b, SPK, N, length)
        y = (m * w.unsqueeze(1)).view(b * SPK, N, length)
        return self.decoder(y).view(b, SPK, -1)


def make():
    torch.manual_seed(23)
    m = DPRNN()
    with torch.no_grad():
        for n, p in m.named_parameters():
            if "norm.weight" in n:
                p.uniform_(0.7, 1.3)
            elif "prelu" in n:
                p.fill_(0.3)
            else:
                p.normal_(0, 0.4 if p.dim() > 1 else 0.2)
    return m.eval()


def inputs(seed):
    return (np.random.RandomState(seed).randn(4, SAMPLES).astype("float32"),)
