"""The discrete VAE in torch, after lucidrains' DALLE-pytorch."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"


class SamePad(nn.Module):
    """TensorFlow's "same" for a 3x3 convolution of stride 2 on an even size: the odd pixel goes last."""

    def forward(self, x):
        return F.pad(x, (0, 1, 0, 1))


class DiscreteVAE(nn.Module):
    """Images are channels last, as in the reference."""

    def __init__(self, num_tokens=12, codebook_dim=8, hidden_dim=10, temperature=0.7):
        super().__init__()
        self.num_tokens = num_tokens
        self.temperature = temperature
        self.encoder = nn.Sequential(
            SamePad(),
            nn.Conv2d(3, hidden_dim, 3, stride=2),
            nn.ReLU(),
            SamePad(),
            nn.Conv2d(hidden_dim, hidden_dim, 3, stride=2),
            nn.ReLU(),
            nn.Conv2d(hidden_dim, num_tokens, 1),
        )
        self.codebook = nn.Embedding(num_tokens, codebook_dim)
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(codebook_dim, hidden_dim, 4, stride=2, padding=1),
            nn.ReLU(),
            nn.ConvTranspose2d(hidden_dim, 3, 4, stride=2, padding=1),
        )

    def gumbel_softmax(self, logits):
        u = torch.rand_like(logits)
        g = -torch.log(-torch.log(u + 1e-20) + 1e-20)
        return F.softmax((logits + g) / self.temperature, dim=1)

    def forward(self, images):
        images = images.permute(0, 3, 1, 2)
        normed = (images - 0.5) / 0.5
        logits = self.encoder(normed)
        soft_one_hot = self.gumbel_softmax(logits)
        sampled = torch.einsum("bnhw,nd->bdhw", soft_one_hot, self.codebook.weight)
        out = torch.sigmoid(self.decoder(sampled))
        recon_loss = F.mse_loss(out, images, reduction="none").mean(dim=(1, 2, 3))
        log_qy = F.log_softmax(logits, dim=1)
        kl = (log_qy.exp() * (log_qy + math.log(self.num_tokens))).sum(dim=(1, 2, 3))
        return {
            "logits": logits.permute(0, 2, 3, 1),
            "codes": soft_one_hot.permute(0, 2, 3, 1),
            "recon": out.permute(0, 2, 3, 1),
            "mse": recon_loss,
            "kl": kl,
        }


def make():
    torch.manual_seed(2)
    return DiscreteVAE()


@torch.no_grad()
def load(model, reference):
    ours = [m for m in model.encoder if isinstance(m, nn.Conv2d)]
    ours += [m for m in model.decoder if isinstance(m, nn.ConvTranspose2d)]
    theirs = reference.encoder.layers + reference.decoder.layers
    for mine, layer in zip(ours, theirs):
        kernel, bias = layer.get_weights()
        mine.weight.copy_(torch.from_numpy(kernel.transpose(3, 2, 0, 1).copy()))
        mine.bias.copy_(torch.from_numpy(bias))
    model.codebook.weight.copy_(torch.from_numpy(np.array(reference.codebook)))
