"""DIAL in PyTorch."""
import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"
N, O, A, MSG, H, T = 3, 5, 4, 2, 10, 4


class ResetBeforeGRU(nn.Module):
    """The GRU of Chainer: the reset gate acts before the recurrent product, z weighs the candidate."""

    def __init__(self, nin):
        super().__init__()
        self.x2h = nn.Linear(nin, 3 * H)
        self.gates = nn.Linear(H, 2 * H)
        self.cand = nn.Linear(H, H)

    def forward(self, x, h):
        xr, xz, xn = self.x2h(x).chunk(3, dim=-1)
        hr, hz = self.gates(h).chunk(2, dim=-1)
        r = torch.sigmoid(xr + hr)
        z = torch.sigmoid(xz + hz)
        n = torch.tanh(xn + self.cand(r * h))
        return torch.lerp(h, n, z)


class CNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.obs = nn.Sequential(nn.Linear(O, H), nn.ReLU(), nn.Linear(H, H), nn.ReLU())
        self.agent = nn.Embedding(N, H)
        self.action = nn.Embedding(A + 1, H)
        self.message = nn.Sequential(nn.BatchNorm1d(MSG, eps=2e-5), nn.Linear(MSG, H), nn.ReLU())
        self.cells = nn.ModuleList([ResetBeforeGRU(H), ResetBeforeGRU(H)])
        self.out = nn.Sequential(nn.Linear(H, H), nn.ReLU(), nn.Linear(H, A + MSG))

    def forward(self, obs, heard, last, hidden):
        ids = torch.arange(N).repeat(obs.shape[0] // N)
        x = self.obs(obs) + self.agent(ids) + self.action(last) + self.message(heard)
        new = []
        for cell, h in zip(self.cells, hidden):
            x = cell(x, h)
            new.append(x)
        return self.out(new[-1]), new


class DIAL(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnet = CNet()
        self.register_buffer("others", (1 - torch.eye(N)) / (N - 1), persistent=False)

    def forward(self, obs, last):
        b = obs.shape[0]
        hidden = [torch.zeros(b * N, H), torch.zeros(b * N, H)]
        heard = torch.zeros(b, N, MSG)
        qs, msgs = [], []
        for t in range(T):
            out, hidden = self.cnet(obs[:, t].reshape(b * N, O), heard.reshape(b * N, MSG), last[:, t].reshape(-1), hidden)
            out = out.view(b, N, A + MSG)
            q, m = out[..., :A], torch.sigmoid(out[..., A:])
            heard = torch.einsum("ij,bjm->bim", self.others, m)
            qs.append(q)
            msgs.append(m)
        return torch.stack(qs, dim=1), torch.stack(msgs, dim=1)


def make():
    m = DIAL()
    g = torch.Generator().manual_seed(14)
    with torch.no_grad():
        for p in m.parameters():
            p.copy_(torch.randn(p.shape, generator=g) * 0.3)
        bn = m.cnet.message[0]
        bn.weight.add_(1.0)
        bn.running_mean.copy_(torch.randn(MSG, generator=g) * 0.2)
        bn.running_var.copy_(torch.rand(MSG, generator=g) + 0.5)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    obs = r.randn(4, T, N, O).astype("float32")
    last = r.randint(1, A + 1, (4, T, N)).astype("int64")
    last[:, 0] = 0
    return obs, last


def load(ported, original):
    def put(p, a):
        with torch.no_grad():
            p.copy_(torch.from_numpy(np.array(a)))

    def lin(dst, *srcs):
        put(dst.weight, np.concatenate([s.W.array for s in srcs]))
        put(dst.bias, np.concatenate([s.b.array for s in srcs]))

    s, d = original.cnet, ported.cnet
    lin(d.obs[0], s.obs1)
    lin(d.obs[2], s.obs2)
    put(d.agent.weight, s.agent.W.array)
    put(d.action.weight, s.act.W.array)
    bn = d.message[0]
    put(bn.weight, s.msg_bn.gamma.array)
    put(bn.bias, s.msg_bn.beta.array)
    put(bn.running_mean, s.msg_bn.avg_mean)
    put(bn.running_var, s.msg_bn.avg_var)
    lin(d.message[1], s.msg)
    for cell, g in zip(d.cells, (s.gru1, s.gru2)):
        lin(cell.x2h, g.W_r, g.W_z, g.W)
        lin(cell.gates, g.U_r, g.U_z)
        lin(cell.cand, g.U)
    lin(d.out[0], s.out1)
    lin(d.out[2], s.out2)
