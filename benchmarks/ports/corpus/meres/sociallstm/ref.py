"""Social LSTM: pedestrians share hidden states through a spatial grid."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
T, N, EMB, H, GRID, SIZE = 3, 3, 8, 10, 4, 4.0


class SocialLSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.input_embedding = nn.Linear(2, EMB)
        self.social_embedding = nn.Linear(GRID * GRID * H, EMB)
        self.cell = nn.LSTMCell(2 * EMB, H)
        self.output = nn.Linear(H, 5)

    def grid_mask(self, pos, present):
        """pos [B, N, 2] -> [B, N, N, GRID*GRID]: in which cell of i does j stand."""
        rel = pos[:, None, :, :] - pos[:, :, None, :]
        cell = torch.floor((rel + SIZE / 2) / SIZE * GRID)
        inside = ((cell >= 0) & (cell < GRID)).all(-1).float()
        index = (cell[..., 0] + GRID * cell[..., 1]).clamp(0, GRID * GRID - 1).long()
        onehot = nn.functional.one_hot(index, GRID * GRID).float()
        other = 1.0 - torch.eye(N)
        return onehot * (inside * other * present[:, None, :]).unsqueeze(-1)

    def step(self, pos, present, state):
        h, c = state
        mask = self.grid_mask(pos, present)
        social = torch.einsum("bijg,bjh->bigh", mask, h).flatten(2)
        e = torch.relu(self.input_embedding(pos))
        a = torch.relu(self.social_embedding(social))
        x = torch.cat([e, a], dim=-1).reshape(-1, 2 * EMB)
        h2, c2 = self.cell(x, (h.reshape(-1, H), c.reshape(-1, H)))
        h2, c2 = h2.view_as(h), c2.view_as(c)
        keep = present.unsqueeze(-1)
        h = keep * h2 + (1 - keep) * h
        c = keep * c2 + (1 - keep) * c
        return h, c

    def distribution(self, h):
        o = self.output(h)
        mu = o[..., :2]
        sigma = torch.exp(o[..., 2:4])
        rho = torch.tanh(o[..., 4:])
        return mu, sigma, rho

    def forward(self, traj, present):
        B = traj.shape[0]
        h = torch.zeros(B, N, H)
        c = torch.zeros(B, N, H)
        nll = 0.0
        for t in range(T):
            h, c = self.step(traj[:, t], present[:, t], (h, c))
            mu, sigma, rho = self.distribution(h)
            if t + 1 < T:
                z = (traj[:, t + 1] - traj[:, t] - mu) / sigma
                zx, zy, r = z[..., 0], z[..., 1], rho[..., 0]
                one = 1 - r ** 2
                quad = (zx ** 2 + zy ** 2 - 2 * r * zx * zy) / one
                logp = -0.5 * quad - torch.log(sigma).sum(-1) - 0.5 * torch.log(one) - np.log(2 * np.pi)
                nll = nll - logp * present[:, t] * present[:, t + 1]
        future = traj[:, -1] + mu
        h, c = self.step(future, present[:, -1], (h, c))
        mu2, sigma2, rho2 = self.distribution(h)
        return nll, future, future + mu2, sigma2, rho2


def make():
    torch.manual_seed(0)
    m = SocialLSTM().eval()
    g = torch.Generator().manual_seed(21)
    for n, p in m.named_parameters():
        r = torch.randn(p.shape, generator=g)
        p.data = r * (1.2 / p.shape[-1] ** 0.5) if p.dim() > 1 else 0.3 * r
    m.social_embedding.weight.data *= 5
    m.output.weight.data *= 0.6
    return m


def inputs(seed):
    rng = np.random.default_rng(seed)
    start = rng.uniform(-1.2, 1.2, size=(6, 1, N, 2))
    traj = start + np.cumsum(rng.normal(size=(6, T, N, 2)) * 0.4, axis=1)
    present = (rng.random((6, T, N)) < 0.8).astype("float32")
    present[:, :, 0] = 1
    return traj.astype("float32"), present
