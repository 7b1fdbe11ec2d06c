"""DIAL in PyTorch: all agents of a step in one batch."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
N, T, OBS, ACT, MSG, H = 3, 3, 5, 4, 2, 10


class ChainerGRUCell(nn.Module):
    """h' = (1-z) h + z tanh(W x + U (r*h)), which nn.GRUCell is not."""

    def __init__(self, n_in, n):
        super().__init__()
        self.x2h = nn.Linear(n_in, 3 * n)
        self.h2rz = nn.Linear(n, 2 * n)
        self.h2n = nn.Linear(n, n)

    def forward(self, x, h):
        xr, xz, xn = self.x2h(x).chunk(3, dim=-1)
        hr, hz = self.h2rz(h).chunk(2, dim=-1)
        r = torch.sigmoid(xr + hr)
        z = torch.sigmoid(xz + hz)
        n = torch.tanh(xn + self.h2n(r * h))
        return (1 - z) * h + z * n


class DIAL(nn.Module):
    def __init__(self):
        super().__init__()
        self.agent_emb = nn.Embedding(N, H)
        self.obs_emb = nn.Embedding(OBS, H)
        self.act_emb = nn.Embedding(ACT + 1, H)
        self.msg_net = nn.Sequential(nn.BatchNorm1d(MSG, eps=2e-5), nn.Linear(MSG, H), nn.ReLU())
        self.rnn1 = ChainerGRUCell(H, H)
        self.rnn2 = ChainerGRUCell(H, H)
        self.head = nn.Sequential(nn.Linear(H, H), nn.BatchNorm1d(H, eps=2e-5), nn.ReLU(),
                                  nn.Linear(H, ACT + MSG))

    def forward(self, obs, noise):
        B = obs.shape[0]
        obs = obs.long()
        who = torch.arange(N).repeat(B)
        h1 = torch.zeros(B * N, H)
        h2 = torch.zeros(B * N, H)
        prev = torch.zeros(B * N, dtype=torch.long)
        sent = torch.zeros(B, N, MSG)
        others = 1.0 - torch.eye(N)
        qs = []
        for t in range(T):
            heard = torch.einsum("ab,nbm->nam", others, sent).reshape(B * N, MSG)
            z = self.agent_emb(who) + self.obs_emb(obs[:, t].reshape(-1)) + self.act_emb(prev)
            z = z + self.msg_net(heard)
            h1 = self.rnn1(z, h1)
            h2 = self.rnn2(h1, h2)
            q, m = self.head(h2).split([ACT, MSG], dim=-1)
            prev = q.argmax(-1) + 1
            sent = (m.view(B, N, MSG) + noise).gt(0).float()
            qs.append(q.view(B, N, ACT))
        q = torch.stack(qs, dim=1)
        return q, q.max(dim=-1).values.sum(dim=-1)


def make():
    torch.manual_seed(55)
    m = DIAL()
    for p in m.parameters():
        p.data = torch.randn_like(p) * 0.5
    for b in (m.msg_net[0], m.head[1]):
        b.running_mean.normal_(0, 0.3)
        b.running_var.uniform_(0.4, 1.5)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    return r.randint(0, OBS, (5, T, N)).astype("i"), (0.3 * r.randn(5, N, MSG)).astype("f")


def load(ported, original):
    c = original.cnet
    t = lambda a: torch.tensor(np.array(a))
    cat = lambda *ls: torch.cat([t(l) for l in ls])
    ported.agent_emb.weight.data = t(c.agent.W.array)
    ported.obs_emb.weight.data = t(c.state.W.array)
    ported.act_emb.weight.data = t(c.prev.W.array)
    for d, s in ((ported.msg_net[0], c.msg_bn), (ported.head[1], c.out_bn)):
        d.weight.data, d.bias.data = t(s.gamma.array), t(s.beta.array)
        d.running_mean.copy_(t(s.avg_mean))
        d.running_var.copy_(t(s.avg_var))
    for d, s in ((ported.msg_net[1], c.msg_fc), (ported.head[0], c.out_fc), (ported.head[3], c.out)):
        d.weight.data, d.bias.data = t(s.W.array), t(s.b.array)
    for d, s in ((ported.rnn1, c.gru1), (ported.rnn2, c.gru2)):
        d.x2h.weight.data = cat(s.W_r.W.array, s.W_z.W.array, s.W.W.array)
        d.x2h.bias.data = cat(s.W_r.b.array, s.W_z.b.array, s.W.b.array)
        d.h2rz.weight.data = cat(s.U_r.W.array, s.U_z.W.array)
        d.h2rz.bias.data = cat(s.U_r.b.array, s.U_z.b.array)
        d.h2n.weight.data, d.h2n.bias.data = t(s.U.W.array), t(s.U.b.array)
