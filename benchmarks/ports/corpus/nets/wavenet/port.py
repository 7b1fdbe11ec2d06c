"""WaveNet, PyTorch version."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"

HPARAMS = {"quantize": 64, "channels": 12, "speakers": 5, "speaker_dim": 4,
           "layers": 6, "dilation_cycle": 3, "kernel_size": 2}


class CausalConv(nn.Conv1d):
    """Conv1d padded on both sides by PyTorch, with the tail that sees the future trimmed off."""

    def __init__(self, c_in, c_out, dilation=1):
        k = HPARAMS["kernel_size"]
        super().__init__(c_in, c_out, k, padding=dilation * (k - 1), dilation=dilation)

    def forward(self, x):
        y = super().forward(x)
        return y[..., : x.shape[-1]]


class WaveNet(nn.Module):
    def __init__(self, hp=HPARAMS):
        super().__init__()
        c = hp["channels"]
        self.q = hp["quantize"]
        self.embed = nn.Embedding(self.q, c)
        self.speaker = nn.Embedding(hp["speakers"], hp["speaker_dim"])
        self.front = CausalConv(c, c)
        dilations = [2 ** (i % hp["dilation_cycle"]) for i in range(hp["layers"])]
        self.dilated = nn.ModuleList([CausalConv(c, 2 * c, d) for d in dilations])
        self.cond = nn.ModuleList([nn.Linear(hp["speaker_dim"], 2 * c, bias=False) for _ in dilations])
        self.res = nn.ModuleList([nn.Conv1d(c, c, 1) for _ in dilations])
        self.skip = nn.ModuleList([nn.Conv1d(c, c, 1) for _ in dilations])
        self.post = nn.Sequential(nn.ReLU(), nn.Conv1d(c, c, 1), nn.ReLU(), nn.Conv1d(c, self.q, 1))

    def quantize(self, x):
        mu = float(self.q - 1)
        y = torch.sign(x) * torch.log1p(mu * x.abs()) / math.log1p(mu)
        return ((y + 1) / 2 * (self.q - 1) + 0.5).long()

    def forward(self, wave, speaker):
        h = self.front(self.embed(self.quantize(wave)).transpose(1, 2))
        g = self.speaker(speaker)
        skips = []
        for conv, cond, res, skip in zip(self.dilated, self.cond, self.res, self.skip):
            filt, gate = (conv(h) + cond(g).unsqueeze(-1)).chunk(2, dim=1)
            z = torch.tanh(filt) * torch.sigmoid(gate)
            r = res(z)
            skips.append(skip(z))
            h = (h + r) * math.sqrt(0.5)
        return self.post(torch.stack(skips).sum(0))


def make():
    return WaveNet().eval()


def load(port_model, ref_model):
    def copy(dst, src):
        dst.weight.data.copy_(torch.from_numpy(src.W.array))
        if getattr(src, "b", None) is not None:
            dst.bias.data.copy_(torch.from_numpy(src.b.array))

    m, r = port_model, ref_model
    copy(m.embed, r.embed)
    copy(m.speaker, r.speaker)
    copy(m.front, r.front.conv)
    for i, block in enumerate(r.blocks):
        copy(m.dilated[i], block.conv.conv)
        copy(m.cond[i], block.cond)
        copy(m.res[i], block.res)
        copy(m.skip[i], block.skip)
    copy(m.post[1], r.post1)
    copy(m.post[3], r.post2)
    return m
