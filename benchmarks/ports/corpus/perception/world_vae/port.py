"""World Models' VAE in PyTorch, with the weights of the Keras one."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"


class Encoder(nn.Module):
    def __init__(self, latent):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 4, stride=2)
        self.conv2 = nn.Conv2d(8, 12, 4, stride=2)
        self.conv3 = nn.Conv2d(12, 16, 3, stride=2)
        self.fc_mu = nn.Linear(16 * 3 * 3, latent)
        self.fc_logvar = nn.Linear(16 * 3 * 3, latent)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = F.pad(x, (0, 1, 0, 1))  # TensorFlow's "same" for 6 -> 3
        x = F.relu(self.conv3(x))
        x = x.permute(0, 2, 3, 1).flatten(1)  # the order of Keras's Flatten
        return self.fc_mu(x), self.fc_logvar(x)


class Decoder(nn.Module):
    def __init__(self, latent):
        super().__init__()
        self.fc = nn.Linear(latent, 256)
        self.deconv1 = nn.ConvTranspose2d(16, 12, 3, stride=2)
        self.deconv2 = nn.ConvTranspose2d(12, 8, 4, stride=2, padding=1)
        self.deconv3 = nn.ConvTranspose2d(8, 3, 4, stride=2, padding=1)

    def forward(self, z):
        x = self.fc(z).view(-1, 4, 4, 16).permute(0, 3, 1, 2)
        x = F.relu(self.deconv1(x)[:, :, :8, :8])
        x = F.relu(self.deconv2(x))
        return torch.sigmoid(self.deconv3(x))


class VAE(nn.Module):
    def __init__(self, latent=7, beta=0.5):
        super().__init__()
        self.encoder, self.decoder = Encoder(latent), Decoder(latent)
        self.beta = beta

    def reparametrise(self, mu, logvar):
        std = torch.exp(logvar / 2)
        return mu + std * torch.randn_like(std)

    def forward(self, image):
        image = image.permute(0, 3, 1, 2)
        mu, logvar = self.encoder(image)
        z = self.reparametrise(mu, logvar)
        recon = self.decoder(z)
        batch = image.shape[0]
        mse = F.mse_loss(recon, image, reduction="sum") / batch
        kl = 0.5 * (mu.pow(2) + logvar.exp() - logvar - 1).sum() / batch
        loss = mse + self.beta * kl
        return recon.permute(0, 2, 3, 1), mu, logvar, loss


def make():
    torch.manual_seed(2)
    return VAE()


@torch.no_grad()
def load(port_model, reference_model):
    encoder, decoder = reference_model.encoder, reference_model.decoder

    def put(module, layer, order):
        kernel, bias = layer.get_weights()
        module.weight.copy_(torch.from_numpy(np.ascontiguousarray(kernel.transpose(order))))
        module.bias.copy_(torch.from_numpy(bias))

    for i in (1, 2, 3):
        put(getattr(port_model.encoder, f"conv{i}"), encoder.get_layer(f"c{i}"), (3, 2, 0, 1))
        put(getattr(port_model.decoder, f"deconv{i}"), decoder.get_layer(f"t{i}"), (3, 2, 0, 1))
    put(port_model.encoder.fc_mu, encoder.get_layer("z_mean"), (1, 0))
    put(port_model.encoder.fc_logvar, encoder.get_layer("z_log_var"), (1, 0))
    put(port_model.decoder.fc, decoder.get_layer("d0"), (1, 0))
