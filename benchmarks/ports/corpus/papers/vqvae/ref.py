"""VQ-VAE (van den Oord et al. 2017), after the usual PyTorch implementation with in-place ReLUs."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"


class Residual(nn.Module):
    def __init__(self, channels, hidden):
        super().__init__()
        self.block = nn.Sequential(
            nn.ReLU(True),
            nn.Conv2d(channels, hidden, 3, padding=1),
            nn.ReLU(True),
            nn.Conv2d(hidden, channels, 1),
        )

    def forward(self, x):
        # the first ReLU works in place, so that the skip is rectified too
        out = self.block(x)
        return x + out


class VectorQuantizer(nn.Module):
    def __init__(self, codes, dim, beta=0.25):
        super().__init__()
        self.codes, self.dim, self.beta = codes, dim, beta
        self.embedding = nn.Embedding(codes, dim)

    def forward(self, z):
        z = z.permute(0, 2, 3, 1).contiguous()
        flat = z.view(-1, self.dim)
        distances = (
            torch.sum(flat ** 2, dim=1, keepdim=True)
            + torch.sum(self.embedding.weight ** 2, dim=1)
            - 2 * torch.matmul(flat, self.embedding.weight.t())
        )
        index = torch.argmin(distances, dim=1)
        encodings = torch.zeros(index.shape[0], self.codes)
        encodings.scatter_(1, index.unsqueeze(1), 1)
        quantized = torch.matmul(encodings, self.embedding.weight).view(z.shape)
        e_loss = F.mse_loss(quantized.detach(), z)
        q_loss = F.mse_loss(quantized, z.detach())
        loss = q_loss + self.beta * e_loss
        quantized = z + (quantized - z).detach()
        avg = torch.mean(encodings, dim=0)
        perplexity = torch.exp(-torch.sum(avg * torch.log(avg + 1e-10)))
        return quantized.permute(0, 3, 1, 2).contiguous(), loss, perplexity


class VQVAE(nn.Module):
    def __init__(self, hidden=16, dim=6, codes=12):
        super().__init__()
        self.enc1 = nn.Conv2d(3, hidden // 2, 4, stride=2, padding=1)
        self.enc2 = nn.Conv2d(hidden // 2, hidden, 4, stride=2, padding=1)
        self.enc_res = nn.ModuleList([Residual(hidden, 8) for _ in range(2)])
        self.pre = nn.Conv2d(hidden, dim, 1)
        self.vq = VectorQuantizer(codes, dim)
        self.dec_in = nn.Conv2d(dim, hidden, 3, padding=1)
        self.dec_res = Residual(hidden, 8)
        self.up1 = nn.ConvTranspose2d(hidden, hidden // 2, 4, stride=2, padding=1)
        self.up2 = nn.ConvTranspose2d(hidden // 2, 3, 4, stride=2, padding=1)

    def forward(self, x):
        h = F.relu(self.enc1(x))
        h = self.enc2(h)
        for block in self.enc_res:
            h = block(h)
        z = self.pre(F.relu(h))
        quantized, loss, perplexity = self.vq(z)
        h = self.dec_res(self.dec_in(quantized))
        h = F.relu(h)
        h = F.relu(self.up1(h))
        return self.up2(h), loss, perplexity


def make():
    torch.manual_seed(23)
    model = VQVAE()
    for name, p in model.named_parameters():
        if name.endswith("bias"):
            nn.init.uniform_(p, -0.3, 0.3)
    nn.init.normal_(model.vq.embedding.weight, std=0.5)
    for m in (model.pre, model.enc2, model.dec_in):
        m.weight.data.mul_(2.0)
    return model.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(4, 3, 16, 24)).astype(np.float32),)
