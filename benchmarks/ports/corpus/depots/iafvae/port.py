"""The VAE with inverse autoregressive flow, in torch."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Normal

FRAMEWORK = "torch"
LAYOUT = "NCHW"
LATENT, HIDDEN, CONTEXT, FLOWS = 6, 14, 8, 2
FREE_BITS = 0.25


class MaskedLinear(nn.Linear):
    def __init__(self, mask):
        super().__init__(mask.shape[1], mask.shape[0])
        self.register_buffer("mask", mask)

    def forward(self, x):
        return F.linear(x, self.weight * self.mask, self.bias)


class IAFStep(nn.Module):
    def __init__(self):
        super().__init__()
        degrees = torch.arange(1, LATENT + 1)
        hidden_degrees = torch.arange(HIDDEN) % (LATENT - 1) + 1
        first = (hidden_degrees[:, None] >= degrees[None, :]).float()
        last = (degrees[:, None] > hidden_degrees[None, :]).float()
        self.inner = MaskedLinear(first)
        self.context = nn.Linear(CONTEXT, HIDDEN, bias=False)
        self.to_m = MaskedLinear(last)
        self.to_s = MaskedLinear(last)

    def forward(self, z, h):
        hidden = F.elu(self.inner(z) + self.context(h))
        m, s = self.to_m(hidden), self.to_s(hidden)
        gate = torch.sigmoid(s + 1.5)
        z = gate * z + (1 - gate) * m
        return z, torch.log(gate).sum(dim=-1, keepdim=True)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3, stride=2)
        self.conv2 = nn.Conv2d(6, 8, 3, stride=2)
        self.hidden = nn.Linear(3 * 4 * 8, 16)
        self.mean = nn.Linear(16, LATENT)
        self.logvar = nn.Linear(16, LATENT)
        self.context = nn.Linear(16, CONTEXT)

    def forward(self, x):
        x = F.elu(self.conv1(F.pad(x, (0, 1, 0, 1))))
        x = F.elu(self.conv2(F.pad(x, (0, 1, 0, 1))))
        x = F.elu(self.hidden(x.flatten(1)))
        return self.mean(x), self.logvar(x), F.elu(self.context(x))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.dense = nn.Linear(LATENT, 3 * 4 * 8)
        self.up1 = nn.ConvTranspose2d(8, 6, 4, stride=2, padding=1)
        self.up2 = nn.ConvTranspose2d(6, 1, 4, stride=2, padding=1)

    def forward(self, z):
        x = F.elu(self.dense(z)).view(-1, 8, 3, 4)
        return self.up2(F.elu(self.up1(x)))


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.flows = nn.ModuleList(IAFStep() for _ in range(FLOWS))
        self.decoder = Decoder()

    def forward(self, image, noise):
        mean, logvar, h = self.encoder(image)
        std = torch.exp(0.5 * logvar)
        z = mean + std * noise
        log_q = Normal(mean, std).log_prob(z).sum(-1, keepdim=True)
        for i, flow in enumerate(self.flows):
            if i > 0:
                z = z.flip(-1)
            z, logdet = flow(z, h)
            log_q = log_q - logdet
        log_p = (-0.5 * (math.log(2 * math.pi) + z**2)).sum(-1, keepdim=True)
        kl = (log_q - log_p).clamp(min=FREE_BITS)
        logits = self.decoder(z)
        bce = F.binary_cross_entropy_with_logits(logits, image, reduction="none")
        reconstruction = bce.sum(dim=(2, 3))
        return torch.sigmoid(logits), z, reconstruction + kl


def make():
    torch.manual_seed(4)
    model = VAE()
    for name, p in model.named_parameters():
        if name.endswith("bias"):
            nn.init.normal_(p, 0, 0.3)
        elif "flows" in name:
            nn.init.normal_(p, 0, 0.6)
    return model.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    image = rng.uniform(0, 1, (5, 12, 16, 1)).astype("float32")
    noise = rng.normal(size=(5, LATENT)).astype("float32")
    return np.ascontiguousarray(image.transpose(0, 3, 1, 2)), noise


@torch.no_grad()
def load(ported, original):
    def numpy(v):
        return torch.from_numpy(np.array(v))

    def linear(ours, theirs):
        ours.weight.copy_(numpy(theirs.kernel).T)
        if ours.bias is not None:
            ours.bias.copy_(numpy(theirs.bias))

    def conv(ours, theirs):
        ours.weight.copy_(numpy(theirs.kernel).permute(3, 2, 0, 1))
        ours.bias.copy_(numpy(theirs.bias))

    conv(ported.encoder.conv1, original.encoder.conv1)
    conv(ported.encoder.conv2, original.encoder.conv2)
    conv(ported.decoder.up1, original.decoder.up1)
    conv(ported.decoder.up2, original.decoder.up2)
    # channels-last flatten order to channels-first
    kernel = numpy(original.encoder.hidden.kernel).reshape(3, 4, 8, 16)
    ported.encoder.hidden.weight.copy_(kernel.permute(3, 2, 0, 1).reshape(16, -1))
    ported.encoder.hidden.bias.copy_(numpy(original.encoder.hidden.bias))
    kernel = numpy(original.decoder.dense.kernel).reshape(LATENT, 3, 4, 8)
    ported.decoder.dense.weight.copy_(kernel.permute(3, 1, 2, 0).reshape(-1, LATENT))
    bias = numpy(original.decoder.dense.bias).reshape(3, 4, 8)
    ported.decoder.dense.bias.copy_(bias.permute(2, 0, 1).reshape(-1))
    for name in ("mean", "logvar", "context"):
        linear(getattr(ported.encoder, name), getattr(original.encoder, name))
    for ours, theirs in zip(ported.flows, original.flows):
        for name in ("inner", "context", "to_m", "to_s"):
            linear(getattr(ours, name), getattr(theirs, name))
