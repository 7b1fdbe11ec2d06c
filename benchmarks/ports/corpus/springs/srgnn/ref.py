"""SR-GNN session recommendation, after CRIPAC-DIG/SR-GNN."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
N_ITEMS, NODES, SEQ = 12, 5, 7


class GNN(nn.Module):
    def __init__(self, hidden_size, step=2):
        super().__init__()
        self.step = step
        h = hidden_size
        self.w_ih = nn.Parameter(torch.empty(3 * h, 2 * h))
        self.w_hh = nn.Parameter(torch.empty(3 * h, h))
        self.b_ih = nn.Parameter(torch.empty(3 * h))
        self.b_hh = nn.Parameter(torch.empty(3 * h))
        self.b_iah = nn.Parameter(torch.empty(h))
        self.b_oah = nn.Parameter(torch.empty(h))
        self.linear_edge_in = nn.Linear(h, h)
        self.linear_edge_out = nn.Linear(h, h)

    def GNNCell(self, A, hidden):
        n = A.shape[1]
        input_in = torch.matmul(A[:, :, :n], self.linear_edge_in(hidden)) + self.b_iah
        input_out = torch.matmul(A[:, :, n:2 * n], self.linear_edge_out(hidden)) + self.b_oah
        inputs = torch.cat([input_in, input_out], 2)
        gi = F.linear(inputs, self.w_ih, self.b_ih)
        gh = F.linear(hidden, self.w_hh, self.b_hh)
        i_r, i_i, i_n = gi.chunk(3, 2)
        h_r, h_i, h_n = gh.chunk(3, 2)
        resetgate = torch.sigmoid(i_r + h_r)
        inputgate = torch.sigmoid(i_i + h_i)
        newgate = torch.tanh(i_n + resetgate * h_n)
        hy = newgate + inputgate * (hidden - newgate)
        return hy

    def forward(self, A, hidden):
        for _ in range(self.step):
            hidden = self.GNNCell(A, hidden)
        return hidden


class SessionGraph(nn.Module):
    def __init__(self, hidden_size=8):
        super().__init__()
        h = hidden_size
        self.embedding = nn.Embedding(N_ITEMS, h)
        self.gnn = GNN(h)
        self.linear_one = nn.Linear(h, h, bias=True)
        self.linear_two = nn.Linear(h, h, bias=True)
        self.linear_three = nn.Linear(h, 1, bias=False)
        self.linear_transform = nn.Linear(h * 2, h, bias=True)

    def compute_scores(self, hidden, mask):
        last = torch.sum(mask, 1).long() - 1
        ht = hidden[torch.arange(mask.shape[0]), last]
        q1 = self.linear_one(ht).view(ht.shape[0], 1, ht.shape[1])
        q2 = self.linear_two(hidden)
        alpha = self.linear_three(torch.sigmoid(q1 + q2))
        a = torch.sum(alpha * hidden * mask.view(mask.shape[0], -1, 1), 1)
        a = self.linear_transform(torch.cat([a, ht], 1))
        b = self.embedding.weight[1:]
        return torch.matmul(a, b.transpose(1, 0))

    def forward(self, items, A, alias, mask):
        hidden = self.gnn(A, self.embedding(items))
        seq = torch.gather(hidden, 1, alias.unsqueeze(-1).expand(-1, -1, hidden.shape[-1]))
        return self.compute_scores(seq, mask)


def make():
    torch.manual_seed(7)
    m = SessionGraph()
    with torch.no_grad():
        for p in m.parameters():
            p.normal_(0, 0.5)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    items = r.randint(1, N_ITEMS, (6, NODES)).astype("int64")
    A = r.rand(6, NODES, 2 * NODES).astype("float32") * (r.rand(6, NODES, 2 * NODES) < 0.6)
    alias = r.randint(0, NODES, (6, SEQ)).astype("int64")
    lens = np.array([7, 4, 5, 3, 6, 2])
    mask = (np.arange(SEQ)[None] < lens[:, None]).astype("float32")
    return items, A.astype("float32"), alias, mask
