"""DRAW (Gregor et al. 2015): recurrent VAE with Gaussian-filterbank attention, after chenzhaomin123/draw_pytorch."""
import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"


class DRAWModel(nn.Module):
    def __init__(self, T=3, A=8, B=8, z_size=5, N=3, dec_size=12, enc_size=12):
        super().__init__()
        self.T, self.A, self.B, self.N = T, A, B, N
        self.z_size, self.dec_size, self.enc_size = z_size, dec_size, enc_size
        self.encoder = nn.LSTMCell(2 * N * N + dec_size, enc_size)
        self.mu_linear = nn.Linear(enc_size, z_size)
        self.sigma_linear = nn.Linear(enc_size, z_size)
        self.decoder = nn.LSTMCell(z_size, dec_size)
        self.dec_linear = nn.Linear(dec_size, 5)
        self.dec_w_linear = nn.Linear(dec_size, N * N)

    def compute_mu(self, g, rng, delta):
        rng_t = rng.unsqueeze(0).expand(g.size(0), -1)
        return g + (rng_t - self.N / 2 + 0.5) * delta

    def filterbank(self, gx, gy, sigma2, delta):
        rng = torch.arange(self.N, dtype=torch.float32)
        mu_x = self.compute_mu(gx, rng, delta)
        mu_y = self.compute_mu(gy, rng, delta)
        a = torch.arange(self.A, dtype=torch.float32).view(1, 1, -1)
        b = torch.arange(self.B, dtype=torch.float32).view(1, 1, -1)
        mu_x = mu_x.view(-1, self.N, 1)
        mu_y = mu_y.view(-1, self.N, 1)
        s2 = sigma2.view(-1, 1, 1)
        Fx = torch.exp(-torch.pow(a - mu_x, 2) / (2 * s2))
        Fy = torch.exp(-torch.pow(b - mu_y, 2) / (2 * s2))
        Fx = Fx / Fx.sum(2, keepdim=True).clamp(min=1e-8)
        Fy = Fy / Fy.sum(2, keepdim=True).clamp(min=1e-8)
        return Fx, Fy

    def attn_window(self, h_dec):
        params = self.dec_linear(h_dec)
        gx_, gy_, log_sigma2, log_delta, log_gamma = params.split(1, 1)
        gx = (self.A + 1) / 2 * (gx_ + 1)
        gy = (self.B + 1) / 2 * (gy_ + 1)
        delta = (max(self.A, self.B) - 1) / (self.N - 1) * torch.exp(log_delta)
        sigma2 = torch.exp(log_sigma2)
        gamma = torch.exp(log_gamma)
        return self.filterbank(gx, gy, sigma2, delta), gamma

    def read(self, x, x_hat, h_dec):
        (Fx, Fy), gamma = self.attn_window(h_dec)

        def filter_img(img):
            img = img.view(-1, self.B, self.A)
            glimpse = Fy.bmm(img).bmm(Fx.transpose(2, 1))
            return glimpse.reshape(-1, self.N * self.N) * gamma

        return torch.cat((filter_img(x), filter_img(x_hat)), 1)

    def write(self, h_dec):
        w = self.dec_w_linear(h_dec).view(-1, self.N, self.N)
        (Fx, Fy), gamma = self.attn_window(h_dec)
        wr = Fy.transpose(2, 1).bmm(w).bmm(Fx)
        return wr.reshape(-1, self.A * self.B) / gamma

    def forward(self, x, eps):
        n = x.size(0)
        h_dec = torch.zeros(n, self.dec_size)
        c_dec = torch.zeros(n, self.dec_size)
        h_enc = torch.zeros(n, self.enc_size)
        c_enc = torch.zeros(n, self.enc_size)
        c = torch.zeros(n, self.A * self.B)
        kl = 0.0
        for t in range(self.T):
            x_hat = x - torch.sigmoid(c)
            r_t = self.read(x, x_hat, h_dec)
            h_enc, c_enc = self.encoder(torch.cat((r_t, h_dec), 1), (h_enc, c_enc))
            mu = self.mu_linear(h_enc)
            log_sigma = self.sigma_linear(h_enc)
            sigma = torch.exp(log_sigma)
            z = mu + sigma * eps[:, t]
            kl = kl + 0.5 * torch.sum(mu * mu + sigma * sigma - 2 * log_sigma - 1, 1, keepdim=True)
            h_dec, c_dec = self.decoder(z, (h_dec, c_dec))
            c = c + self.write(h_dec)
        return torch.sigmoid(c), kl


def make():
    m = DRAWModel()
    g = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for p in m.parameters():
            p.copy_(torch.randn(p.shape, generator=g) * (0.3 if p.dim() == 1 else 0.9 / p.shape[1] ** 0.5))
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    return r.rand(5, 64).astype("float32"), r.randn(5, 3, 5).astype("float32")
