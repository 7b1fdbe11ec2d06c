"""A conditional VAE for trajectories: LSTM encoder, GRU decoder with teacher forcing."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
DIM, COND, LATENT, HID = 4, 3, 6, 20


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(DIM + COND, HID, batch_first=True)
        self.mu = nn.Linear(HID, LATENT)
        self.logvar = nn.Linear(HID, LATENT)

    def forward(self, traj, cond):
        c = cond.unsqueeze(1).expand(-1, traj.size(1), -1)
        _, (h, _) = self.rnn(torch.cat([traj, c], dim=-1))
        h = h[-1]
        return self.mu(h), self.logvar(h)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.init = nn.Linear(LATENT + COND, HID)
        self.rnn = nn.GRU(DIM + LATENT, HID, batch_first=True)
        self.out = nn.Linear(HID, DIM)

    def forward(self, z, cond, traj):
        h0 = torch.tanh(self.init(torch.cat([z, cond], dim=-1)))
        previous = F.pad(traj[:, :-1], (0, 0, 1, 0))
        zs = z.unsqueeze(1).expand(-1, traj.size(1), -1)
        y, _ = self.rnn(torch.cat([previous, zs], dim=-1), h0.unsqueeze(0))
        return self.out(y)


class TrajectoryCVAE(nn.Module):
    def __init__(self, beta=0.5):
        super().__init__()
        self.encoder = Encoder()
        self.decoder = Decoder()
        self.beta = beta

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std

    def forward(self, traj, cond):
        mu, logvar = self.encoder(traj, cond)
        z = self.reparameterize(mu, logvar)
        recon = self.decoder(z, cond, traj)
        mse = ((recon - traj) ** 2).sum(dim=(1, 2)).mean()
        kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp(), dim=1)
        loss = mse + self.beta * kl.mean()
        return {"recon": recon, "mu": mu, "logvar": logvar, "kl": kl, "loss": loss}


def make():
    torch.manual_seed(5)
    model = TrajectoryCVAE()
    with torch.no_grad():
        model.encoder.mu.weight.mul_(3)
        model.encoder.logvar.weight.mul_(5)
    return model


def inputs(seed):
    rng = np.random.default_rng(seed)
    return {
        "traj": np.cumsum(rng.normal(scale=0.4, size=(8, 7, DIM)), axis=1).astype("float32"),
        "cond": rng.normal(size=(8, COND)).astype("float32"),
    }
