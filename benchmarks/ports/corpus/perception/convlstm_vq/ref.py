"""A ConvLSTM with peepholes over frames, its last state quantised (VQ-VAE)."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"
HIDDEN, CODES, CODE_DIM = 10, 16, 8


class ConvLSTMCell(nn.Module):
    def __init__(self, in_channels, hidden, kernel_size=3, size=(8, 8)):
        super().__init__()
        self.hidden = hidden
        self.conv = nn.Conv2d(in_channels + hidden, 4 * hidden, kernel_size, padding=kernel_size // 2)
        self.w_ci = nn.Parameter(0.3 * torch.randn(1, hidden, *size))
        self.w_cf = nn.Parameter(0.3 * torch.randn(1, hidden, *size))
        self.w_co = nn.Parameter(0.3 * torch.randn(1, hidden, *size))

    def forward(self, x, state):
        h, c = state
        i, f, g, o = torch.split(self.conv(torch.cat([x, h], dim=1)), self.hidden, dim=1)
        i = torch.sigmoid(i + self.w_ci * c)
        f = torch.sigmoid(f + self.w_cf * c)
        c = f * c + i * torch.tanh(g)
        o = torch.sigmoid(o + self.w_co * c)
        return o * torch.tanh(c), c


class VectorQuantizer(nn.Module):
    def __init__(self, num_embeddings, embedding_dim, beta=0.25):
        super().__init__()
        self.embedding = nn.Embedding(num_embeddings, embedding_dim)
        self.beta = beta

    def forward(self, z):
        z = z.permute(0, 2, 3, 1).contiguous()
        flat = z.view(-1, z.shape[-1])
        d = (
            torch.sum(flat**2, dim=1, keepdim=True)
            + torch.sum(self.embedding.weight**2, dim=1)
            - 2 * torch.matmul(flat, self.embedding.weight.t())
        )
        codes = torch.argmin(d, dim=1)
        q = self.embedding(codes).view(z.shape)
        loss = self.beta * F.mse_loss(q.detach(), z) + F.mse_loss(q, z.detach())
        quantised = z + (q - z).detach()
        probs = torch.mean(F.one_hot(codes, self.embedding.num_embeddings).float(), dim=0)
        perplexity = torch.exp(-torch.sum(probs * torch.log(probs + 1e-10)))
        return quantised.permute(0, 3, 1, 2), loss, perplexity


class VideoModel(nn.Module):
    def __init__(self, in_channels=3):
        super().__init__()
        self.stem = nn.Conv2d(in_channels, 9, 4, stride=2, padding=1)
        self.cell = ConvLSTMCell(9, HIDDEN)
        self.pre_vq = nn.Conv2d(HIDDEN, CODE_DIM, 1)
        self.vq = VectorQuantizer(CODES, CODE_DIM)
        self.decoder = nn.ConvTranspose2d(CODE_DIM, in_channels, 4, stride=2, padding=1)

    def forward(self, frames):
        b, t = frames.shape[:2]
        h = frames.new_zeros(b, HIDDEN, 8, 8)
        c = frames.new_zeros(b, HIDDEN, 8, 8)
        for step in range(t):
            x = F.leaky_relu(self.stem(frames[:, step]), 0.1)
            h, c = self.cell(x, (h, c))
        z = self.pre_vq(h)
        quantised, loss, perplexity = self.vq(z)
        prediction = torch.sigmoid(self.decoder(quantised))
        return prediction, loss, perplexity, c


def make():
    torch.manual_seed(21)
    model = VideoModel()
    nn.init.normal_(model.pre_vq.weight, std=1.5)
    nn.init.normal_(model.vq.embedding.weight, std=0.6)
    nn.init.normal_(model.cell.conv.weight, std=0.12)
    nn.init.normal_(model.decoder.weight, std=0.3)
    return model


def inputs(seed):
    return np.random.default_rng(seed).normal(size=(2, 4, 3, 16, 16)).astype("float32")
