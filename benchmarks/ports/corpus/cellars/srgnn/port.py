import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"
ITEMS, D, STEPS = 14, 10, 2


class GatedGraph(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear_edge_in = nn.Linear(D, D)
        self.linear_edge_out = nn.Linear(D, D)
        self.gates = nn.Linear(3 * D, 2 * D)
        self.candidate = nn.Linear(3 * D, D)

    def step(self, hidden, a_in, a_out):
        input_in = torch.bmm(a_in, self.linear_edge_in(hidden))
        input_out = torch.bmm(a_out, self.linear_edge_out(hidden))
        x = torch.cat([input_in, input_out], dim=2)
        gates = torch.sigmoid(self.gates(torch.cat([x, hidden], dim=2)))
        reset, update = gates.chunk(2, dim=2)
        new = torch.tanh(self.candidate(torch.cat([x, reset * hidden], dim=2)))
        return new + update * (hidden - new)

    def forward(self, hidden, a_in, a_out):
        for _ in range(STEPS):
            hidden = self.step(hidden, a_in, a_out)
        return hidden


class SessionGraph(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(ITEMS, D)
        self.gnn = GatedGraph()
        self.linear_one = nn.Linear(D, D, bias=False)
        self.linear_two = nn.Linear(D, D)
        self.linear_three = nn.Linear(D, 1, bias=False)
        self.linear_transform = nn.Linear(2 * D, D, bias=False)

    def compute_scores(self, hidden, mask):
        rows = torch.arange(mask.shape[0])
        ht = hidden[rows, mask.sum(1).long() - 1]
        q1 = self.linear_one(ht).unsqueeze(1)
        q2 = self.linear_two(hidden)
        alpha = self.linear_three(torch.sigmoid(q1 + q2))
        a = torch.sum(alpha * hidden * mask.unsqueeze(-1), 1)
        a = self.linear_transform(torch.cat([a, ht], 1))
        return a @ self.embedding.weight[1:].t()

    def forward(self, items, a_in, a_out, alias, mask):
        hidden = self.gnn(self.embedding(items), a_in, a_out)
        idx = alias.unsqueeze(-1).expand(-1, -1, D)
        seq_hidden = torch.gather(hidden, 1, idx)
        return self.compute_scores(seq_hidden, mask)


def make():
    torch.manual_seed(81)
    m = SessionGraph()
    with torch.no_grad():
        for p in m.parameters():
            p.copy_(torch.randn(p.shape) * 0.4)
    return m.eval()


def session_batch(seed, n=5, length=6):
    r = np.random.RandomState(seed)
    lens = [6, 4, 5, 3, 6, 2][:n]
    items = np.zeros((n, length), "int64")
    alias = np.zeros((n, length), "int64")
    mask = np.zeros((n, length), "float32")
    a_in = np.zeros((n, length, length), "float32")
    a_out = np.zeros((n, length, length), "float32")
    for b, l in enumerate(lens):
        s = r.randint(1, ITEMS, l)
        if l > 3:
            s[2] = s[0]
        nodes = np.unique(s)
        items[b, :len(nodes)] = nodes
        alias[b, :l] = [int(np.where(nodes == i)[0][0]) for i in s]
        mask[b, :l] = 1
        u = np.zeros((length, length))
        for i in range(l - 1):
            u[alias[b, i], alias[b, i + 1]] = 1
        di = u.sum(0); di[di == 0] = 1
        do = u.sum(1); do[do == 0] = 1
        a_in[b] = (u / di).T
        a_out[b] = u / do[:, None]
    return items, a_in, a_out, alias, mask


def inputs(seed):
    return session_batch(seed)


def load(ported, original):
    o = original

    def put(p, v):
        with torch.no_grad():
            p.copy_(torch.from_numpy(v))

    put(ported.embedding.weight, o.embedding.numpy())
    g = ported.gnn
    for l, w, b in ((g.linear_edge_in, o.w_in, o.b_in), (g.linear_edge_out, o.w_out, o.b_out),
                    (g.gates, o.gate_w, o.gate_b), (g.candidate, o.cand_w, o.cand_b)):
        put(l.weight, w.numpy().T.copy())
        put(l.bias, b.numpy())
    put(ported.linear_one.weight, o.nasr_w1.numpy().T.copy())
    put(ported.linear_two.weight, o.nasr_w2.numpy().T.copy())
    put(ported.linear_two.bias, o.nasr_b.numpy())
    put(ported.linear_three.weight, o.nasr_v.numpy())
    put(ported.linear_transform.weight, o.B.numpy().T.copy())
