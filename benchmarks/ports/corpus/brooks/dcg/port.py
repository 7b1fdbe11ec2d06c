"""Deep coordination graphs in PyTorch."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
N, A, OBS, HID, ITERS = 4, 3, 6, 8, 3


class DCG(nn.Module):
    def __init__(self):
        super().__init__()
        src, dst = torch.triu_indices(N, N, offset=1)
        self.register_buffer("src", src, persistent=False)
        self.register_buffer("dst", dst, persistent=False)
        self.fc = nn.Linear(OBS, HID)
        self.rnn = nn.GRUCell(HID, HID)
        self.utility = nn.Linear(HID, A)
        self.payoff = nn.Sequential(nn.Linear(2 * HID, 16), nn.ReLU(), nn.Linear(16, A * A))

    @property
    def n_edges(self):
        return self.src.numel()

    def pairwise(self, h):
        hi, hj = h[:, self.src], h[:, self.dst]
        both = torch.stack([torch.cat([hi, hj], -1), torch.cat([hj, hi], -1)])
        f = self.payoff(both).view(2, -1, self.n_edges, A, A)
        f = 0.5 * (f[0] + f[1].transpose(-1, -2))
        return f / self.n_edges

    def aggregate(self, f_i, msg_f, msg_b):
        out = f_i.index_add(1, self.dst, msg_f)
        return out.index_add(1, self.src, msg_b)

    def evaluate(self, actions, f_i, f_ij):
        u = f_i.gather(-1, actions.unsqueeze(-1)).sum(dim=(1, 2))
        flat = f_ij.flatten(2)
        index = actions[:, self.src] * A + actions[:, self.dst]
        p = flat.gather(-1, index.unsqueeze(-1)).sum(dim=(1, 2))
        return (u + p).unsqueeze(-1)

    def forward(self, obs, hidden, avail):
        b = obs.shape[0]
        x = F.relu(self.fc(obs)).view(b * N, -1)
        h = self.rnn(x, hidden.reshape(b * N, -1)).view(b, N, -1)
        f_i = self.utility(h) / N
        f_ij = self.pairwise(h)

        utils = f_i
        msg_f = msg_b = f_i.new_zeros(b, self.n_edges, A)
        best_value = f_i.new_full((b, 1), -1e9)
        best_action = torch.zeros_like(f_i)
        for _ in range(ITERS):
            out_f = (utils[:, self.src] - msg_b).unsqueeze(-1) + f_ij
            out_b = (utils[:, self.dst] - msg_f).unsqueeze(-2) + f_ij
            msg_f = out_f.amax(dim=2)
            msg_b = out_b.amax(dim=3)
            msg_f = msg_f - msg_f.mean(-1, keepdim=True)
            msg_b = msg_b - msg_b.mean(-1, keepdim=True)
            utils = self.aggregate(f_i, msg_f, msg_b)
            actions = utils.masked_fill(avail == 0, -1e8).argmax(-1)
            value = self.evaluate(actions, f_i, f_ij)
            improved = value > best_value
            best_value = torch.where(improved, value, best_value)
            best_action = torch.where(improved.unsqueeze(-1), F.one_hot(actions, A).float(), best_action)
        return utils, best_value, best_action, h


def make():
    g = torch.Generator().manual_seed(9)
    m = DCG()
    with torch.no_grad():
        for p in m.parameters():
            p.copy_(torch.randn(p.shape, generator=g) * 0.5)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    B = 6
    obs = r.randn(B, N, OBS).astype("float32")
    hidden = np.tanh(r.randn(B, N, HID)).astype("float32")
    avail = (r.rand(B, N, A) > 0.35).astype("float32")
    avail[..., 0] = 1
    return obs, hidden, avail


def load(ported, original):
    def put(p, a):
        with torch.no_grad():
            p.copy_(torch.tensor(np.array(a)))

    def lin(mod, layer):
        w, b = layer.get_weights()
        put(mod.weight, w.T)
        put(mod.bias, b)

    def rzn(w):
        z, r, n = np.split(w, 3, axis=-1)
        return np.concatenate([r, z, n], axis=-1)

    lin(ported.fc, original.fc)
    lin(ported.utility, original.utility)
    lin(ported.payoff[0], original.payoff_hidden)
    lin(ported.payoff[2], original.payoff_out)
    k, rk, b = original.rnn.get_weights()
    put(ported.rnn.weight_ih, rzn(k).T)
    put(ported.rnn.weight_hh, rzn(rk).T)
    put(ported.rnn.bias_ih, rzn(b[0]))
    put(ported.rnn.bias_hh, rzn(b[1]))
