import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"
T, A, B, N, Z, ENC, DEC = 3, 8, 6, 3, 5, 12, 14


class DRAW(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.LSTMCell(2 * N * N + DEC, ENC)
        self.decoder = nn.LSTMCell(Z, DEC)
        self.mu_linear = nn.Linear(ENC, Z)
        self.sigma_linear = nn.Linear(ENC, Z)
        self.read_linear = nn.Linear(DEC, 5)
        self.write_linear = nn.Linear(DEC, 5)
        self.w_linear = nn.Linear(DEC, N * N)

    def filterbank(self, center, sigma2, delta, size):
        grid = torch.arange(N, dtype=torch.float32).view(1, -1)
        mu = center + (grid - N / 2 + 0.5) * delta
        a = torch.arange(size, dtype=torch.float32).view(1, 1, -1)
        f = torch.exp(-(a - mu.unsqueeze(2)) ** 2 / (2 * sigma2.unsqueeze(2)))
        return f / (f.sum(2, keepdim=True) + 1e-8)

    def attn_window(self, params):
        gx_, gy_, log_sigma2, log_delta, log_gamma = params.split(1, 1)
        gx = (A + 1) / 2 * (gx_ + 1)
        gy = (B + 1) / 2 * (gy_ + 1)
        delta = (max(A, B) - 1) / (N - 1) * torch.exp(log_delta)
        sigma2 = torch.exp(log_sigma2)
        fx = self.filterbank(gx, sigma2, delta, A)
        fy = self.filterbank(gy, sigma2, delta, B)
        return fx, fy, torch.exp(log_gamma)

    def read(self, x, x_hat, h_dec):
        fx, fy, gamma = self.attn_window(self.read_linear(h_dec))

        def glimpse(img):
            g = fy.bmm(img).bmm(fx.transpose(1, 2))
            return gamma * g.reshape(-1, N * N)

        return torch.cat((glimpse(x), glimpse(x_hat)), 1)

    def write(self, h_dec):
        w = self.w_linear(h_dec).view(-1, N, N)
        fx, fy, gamma = self.attn_window(self.write_linear(h_dec))
        wr = fy.transpose(1, 2).bmm(w).bmm(fx)
        return wr / gamma.view(-1, 1, 1)

    def forward(self, x, eps):
        b = x.shape[0]
        canvas = torch.zeros(b, B, A)
        h_enc, c_enc = torch.zeros(b, ENC), torch.zeros(b, ENC)
        h_dec, c_dec = torch.zeros(b, DEC), torch.zeros(b, DEC)
        kl = 0.0
        for t in range(T):
            x_hat = x - torch.sigmoid(canvas)
            r = self.read(x, x_hat, h_dec)
            h_enc, c_enc = self.encoder(torch.cat((r, h_dec), 1), (h_enc, c_enc))
            mu = self.mu_linear(h_enc)
            log_sigma = self.sigma_linear(h_enc)
            sigma = torch.exp(log_sigma)
            z = mu + sigma * eps[:, t]
            h_dec, c_dec = self.decoder(z, (h_dec, c_dec))
            canvas = canvas + self.write(h_dec)
            kl = kl + 0.5 * (mu ** 2 + sigma ** 2 - 2 * log_sigma).sum(1, keepdim=True)
        return torch.sigmoid(canvas), kl - T / 2


def make():
    torch.manual_seed(31)
    m = DRAW()
    g = torch.Generator().manual_seed(32)
    with torch.no_grad():
        for n, p in m.named_parameters():
            s = 0.3 if p.ndim == 1 else (1.0 / p.shape[1]) ** 0.5
            if "read" in n or "write" in n:
                s *= 0.7
            p.copy_(torch.randn(p.shape, generator=g) * s)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    return r.rand(5, B, A).astype("float32"), r.randn(5, T, Z).astype("float32")
