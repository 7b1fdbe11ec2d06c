"""PyTorch port of the Keras forecaster."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
HIST, N, STATE, KLAT, STEPS, DT = 5, 3, 6, 3, 3, 0.5


class EdgeEncoder(nn.Module):
    def __init__(self, units=8):
        super().__init__()
        self.lstm = nn.LSTM(2 * STATE, units, batch_first=True)

    def forward(self, hist, neigh, mask):
        total = torch.einsum("bnts,bn->bts", neigh, mask)
        out, _ = self.lstm(torch.cat([total, hist], dim=-1))
        return out[:, -1]


class Attention(nn.Module):
    def __init__(self, units=8, dim=6):
        super().__init__()
        self.w1 = nn.Linear(units, dim, bias=False)
        self.w2 = nn.Linear(units, dim, bias=False)
        self.v = nn.Linear(dim, 1, bias=False)

    def forward(self, edges, query):
        score = self.v(torch.tanh(self.w1(edges) + self.w2(query).unsqueeze(1)))
        return (F.softmax(score, dim=1) * edges).sum(1)


def unicycle(x, y, phi, v, w, a):
    small = w.abs() < 0.1
    ws = torch.where(small, torch.ones_like(w), w)
    phi_n = phi + ws * DT
    dsin = (torch.sin(phi_n) - torch.sin(phi)) / ws
    dcos = (torch.cos(phi_n) - torch.cos(phi)) / ws
    aw = a / ws
    xt = x + aw * dcos + v * dsin + aw * torch.sin(phi_n) * DT
    yt = y - v * dcos + aw * dsin - aw * torch.cos(phi_n) * DT
    step = v * DT + 0.5 * a * DT ** 2
    x = torch.where(small, x + step * torch.cos(phi), xt)
    y = torch.where(small, y + step * torch.sin(phi), yt)
    return x, y, phi + w * DT, v + a * DT


class Trajectron(nn.Module):
    def __init__(self):
        super().__init__()
        self.hist_lstm = nn.LSTM(STATE, 8, batch_first=True)
        self.veh = EdgeEncoder()
        self.ped = EdgeEncoder()
        self.att = Attention()
        self.p_z = nn.Sequential(nn.Linear(16, 10), nn.ReLU(), nn.Linear(10, KLAT))
        self.init_h = nn.Linear(16 + KLAT, 12)
        self.init_a = nn.Linear(STATE, 2)
        self.cell = nn.GRUCell(16 + KLAT + 2, 12)
        self.mu = nn.Linear(12, 2)
        self.log_sigma = nn.Linear(12, 2)
        self.corr = nn.Linear(12, 1)

    def forward(self, hist, veh, veh_mask, ped, ped_mask):
        b = hist.shape[0]
        _, (h, c) = self.hist_lstm(hist)
        h = h[-1]
        edges = torch.stack([self.veh(hist, veh, veh_mask), self.ped(hist, ped, ped_mask)], dim=1)
        enc = torch.cat([self.att(edges, h), h], dim=-1)
        log_pi = F.log_softmax(self.p_z(enc), dim=-1)
        z = torch.eye(KLAT).repeat(b, 1)
        zx = torch.cat([z, enc.repeat_interleave(KLAT, dim=0)], dim=-1)
        state = self.init_h(zx)
        last = hist[:, -1].repeat_interleave(KLAT, dim=0)
        a = self.init_a(last)
        x, y, phi = last[:, 0], last[:, 1], last[:, 4]
        v = torch.sqrt(last[:, 2] ** 2 + last[:, 3] ** 2)
        pos, cov = [], []
        for _ in range(STEPS):
            state = self.cell(torch.cat([zx, a], dim=-1), state)
            a = self.mu(state)
            sigma = self.log_sigma(state).clamp(-2, 2).exp()
            rho = torch.tanh(self.corr(state))
            x, y, phi, v = unicycle(x, y, phi, v, a[:, 0], a[:, 1])
            pos.append(torch.stack([x, y], dim=-1))
            cov.append(torch.cat([sigma ** 2, rho * sigma[:, :1] * sigma[:, 1:]], dim=-1))
        pos = torch.stack(pos, dim=1).view(b, KLAT, STEPS, 2)
        cov = torch.stack(cov, dim=1).view(b, KLAT, STEPS, 3)
        best = torch.einsum("bk,bktd->btd", log_pi.exp(), pos)
        return pos, cov, log_pi, best


def make():
    m = Trajectron()
    g = torch.Generator().manual_seed(17)
    with torch.no_grad():
        for p in m.parameters():
            r = torch.randn(p.shape, generator=g)
            p.copy_(r / p.shape[1] ** 0.5 if p.dim() > 1 else 0.2 * r)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    b = 4
    m1 = np.array([[1, 1, 0], [1, 1, 1], [1, 0, 0], [1, 1, 1]], "float32")
    m2 = np.array([[1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 1, 1]], "float32")
    f = lambda *s: r.randn(*s).astype("float32")
    return f(b, HIST, STATE), f(b, N, HIST, STATE), m1, f(b, N, HIST, STATE), m2


@torch.no_grad()
def load(ported, original):
    t = lambda w: torch.from_numpy(np.array(w))

    def lin(a, d):
        a.weight.copy_(t(d.kernel).T)
        if a.bias is not None:
            a.bias.copy_(t(d.bias))

    def lstm(a, l):
        a.weight_ih_l0.copy_(t(l.cell.kernel).T)
        a.weight_hh_l0.copy_(t(l.cell.recurrent_kernel).T)
        a.bias_ih_l0.copy_(t(l.cell.bias))
        a.bias_hh_l0.zero_()

    def zr(w):                                   # keras z, r, h -> torch r, z, n (last axis)
        z, r, h = torch.chunk(w, 3, dim=-1)
        return torch.cat([r, z, h], dim=-1)
    lstm(ported.hist_lstm, original.hist_rnn)
    lstm(ported.veh.lstm, original.veh.rnn)
    lstm(ported.ped.lstm, original.ped.rnn)
    for n in ("w1", "w2", "v"):
        lin(getattr(ported.att, n), getattr(original.att, n))
    lin(ported.p_z[0], original.p_z1)
    lin(ported.p_z[2], original.p_z2)
    for n in ("init_h", "init_a", "mu", "log_sigma", "corr"):
        lin(getattr(ported, n), getattr(original, n))
    c = original.cell
    ported.cell.weight_ih.copy_(zr(t(c.kernel)).T)
    ported.cell.weight_hh.copy_(zr(t(c.recurrent_kernel)).T)
    ported.cell.bias_ih.copy_(zr(t(c.bias)[0]))
    ported.cell.bias_hh.copy_(zr(t(c.bias)[1]))
