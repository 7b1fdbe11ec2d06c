"""QMIX: recurrent agents (GRU), action masks, monotonic mixer."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
N, O, A, H, E, SD = 3, 6, 4, 20, 8, 9


class QMIX(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.rnn, self.fc2 = nn.Linear(O + N, H), nn.GRUCell(H, H), nn.Linear(H, A)
        self.w1, self.b1 = nn.Linear(SD, N * E), nn.Linear(SD, E)
        self.w2 = nn.Linear(SD, E)
        self.v1, self.v2 = nn.Linear(SD, E), nn.Linear(E, 1)

    def forward(self, obs, avail, state):
        B, T = obs.shape[:2]
        ids = torch.eye(N).expand(B, N, N)
        h = obs.new_zeros(B * N, H)
        out, chosen = [], []
        for t in range(T):
            x = torch.cat([obs[:, t], ids], -1).reshape(B * N, -1)
            h = self.rnn(F.relu(self.fc1(x)), h)
            q = self.fc2(h).view(B, N, A)
            q = q.masked_fill(avail[:, t] == 0, -1e10)
            best = q.max(-1)[0]
            s = state[:, t]
            w1 = torch.abs(self.w1(s)).view(B, N, E)
            hidden = F.elu(torch.bmm(best.unsqueeze(1), w1) + self.b1(s).unsqueeze(1))
            w2 = torch.abs(self.w2(s)).unsqueeze(-1)
            v = self.v2(F.relu(self.v1(s)))
            out.append(torch.bmm(hidden, w2).view(B) + v.squeeze(-1))
            chosen.append(best)
        return {"q_tot": torch.stack(out, 1), "best": torch.stack(chosen, 1)}


def make():
    torch.manual_seed(7)
    m = QMIX()
    for p in m.parameters():
        nn.init.normal_(p, 0, 0.35)
    return m.eval()


def inputs(seed):
    r = np.random.default_rng(seed + 7)
    avail = (r.random((4, 3, N, A)) < 0.7).astype("float32")
    avail[..., 0] = 1
    return (r.normal(size=(4, 3, N, O)).astype("float32"), avail, r.normal(size=(4, 3, SD)).astype("float32"))
