"""SNAIL in PyTorch. Activations are (B, C, T) in the convolutions and (B, T, C) elsewhere."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
N_ACTIONS = 4


class CausalConv(nn.Module):
    def __init__(self, c_in, c_out, dilation):
        super().__init__()
        self.dilation = dilation
        self.conv = nn.Conv1d(c_in, c_out, 2, dilation=dilation)

    def forward(self, x):
        return self.conv(F.pad(x, (self.dilation, 0)))


class DenseBlock(nn.Module):
    def __init__(self, c_in, filters, dilation):
        super().__init__()
        # filter and gate in one convolution
        self.both = CausalConv(c_in, 2 * filters, dilation)

    def forward(self, x):
        f, g = self.both(x).chunk(2, dim=1)
        return torch.cat([x, torch.tanh(f) * torch.sigmoid(g)], dim=1)


class TCBlock(nn.Module):
    def __init__(self, c_in, filters, length=8):
        super().__init__()
        levels = int(math.log2(length))
        self.blocks = nn.ModuleList(DenseBlock(c_in + i * filters, filters, 2**i) for i in range(levels))

    def forward(self, x):
        x = x.transpose(1, 2)
        for block in self.blocks:
            x = block(x)
        return x.transpose(1, 2)


class Attention(nn.Module):
    def __init__(self, c_in, k, v):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(c_in, k), nn.Linear(c_in, k), nn.Linear(c_in, v)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        t = x.shape[1]
        logits = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(k.shape[-1])
        future = torch.triu(torch.ones(t, t, dtype=torch.bool), diagonal=1)
        weights = logits.masked_fill(future, float("-inf")).softmax(dim=-1)
        return torch.cat([x, torch.bmm(weights, v)], dim=-1)


class Snail(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(N_ACTIONS + 1, 5)
        self.inp = nn.Linear(6, 16)
        self.tc1, self.att1 = TCBlock(23, 8), Attention(47, 10, 12)
        self.tc2, self.att2 = TCBlock(59, 6), Attention(77, 14, 9)
        self.pi, self.v = nn.Linear(86, N_ACTIONS), nn.Linear(86, 1)

    @staticmethod
    def shift(x, first):
        """The step before, and `first` at the start."""
        x = torch.roll(x, 1, dims=1)
        x[:, 0] = first
        return x

    def forward(self, obs, action, reward, done):
        a = self.embed(self.shift(action.long(), N_ACTIONS))
        r = torch.tanh(self.shift(reward, 0.0))
        d = self.shift(done, 0.0)
        x = torch.cat([F.relu(self.inp(obs)), a, r[..., None], d[..., None]], dim=-1)
        x = self.att1(self.tc1(x))
        x = self.att2(self.tc2(x))
        return {"logits": self.pi(x), "value": self.v(x).squeeze(-1)}


def make(seed=15):
    torch.manual_seed(seed)
    net = Snail()
    with torch.no_grad():
        for p in net.parameters():
            p.normal_(0, 0.2)
    return net.eval()


def inputs(seed=0):
    r = np.random.default_rng(seed)
    obs = r.normal(size=(4, 8, 6)).astype("float32")
    action = r.integers(0, N_ACTIONS, size=(4, 8)).astype("int32")
    reward = r.normal(size=(4, 8)).astype("float32")
    done = np.zeros((4, 8), "float32")
    for b, t in ((0, 3), (1, 1), (2, 6), (3, 7)):
        done[b, t] = 1
    return obs, action, reward, done


def load(ported, original):
    t = lambda w: torch.from_numpy(np.array(w))

    def linear(module, layer):
        module.weight.copy_(t(layer.kernel).T)
        module.bias.copy_(t(layer.bias))

    with torch.no_grad():
        ported.embed.weight.copy_(t(original.action_embedding.embeddings))
        linear(ported.inp, original.obs_in)
        linear(ported.pi, original.policy)
        linear(ported.v, original.value)
        for mine, theirs in ((ported.att1, original.attention1), (ported.att2, original.attention2)):
            linear(mine.q, theirs.query)
            linear(mine.k, theirs.key)
            linear(mine.v, theirs.value)
        for mine, theirs in ((ported.tc1, original.tc1), (ported.tc2, original.tc2)):
            for block, dense in zip(mine.blocks, theirs):
                kernels = [t(c.kernel).permute(2, 1, 0) for c in (dense.filter, dense.gate)]
                block.both.conv.weight.copy_(torch.cat(kernels))
                block.both.conv.bias.copy_(torch.cat([t(dense.filter.bias), t(dense.gate.bias)]))
