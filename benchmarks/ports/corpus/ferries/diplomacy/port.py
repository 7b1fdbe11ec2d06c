"""DipNet-style policy, torch."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
LOCS, FEATS, PREV, DIM, POWERS, SEASONS, STEPS, ORDERS = 8, 6, 4, 12, 3, 2, 3, 9
EDGES = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (4, 5), (3, 5), (5, 6), (6, 7), (0, 7), (0, 3)]


def normalised_adjacency():
    i, j = torch.tensor(EDGES).T
    a = torch.eye(LOCS)
    a[i, j] = a[j, i] = 1.0
    d = a.sum(1).rsqrt()
    return torch.einsum("i,ij,j->ij", d, a, d)


class GraphBlock(nn.Module):
    def __init__(self, n_in, residual, cond=8):
        super().__init__()
        self.residual = residual
        self.weight = nn.Parameter(torch.randn(LOCS, n_in, DIM) / n_in ** 0.5)
        self.bias = nn.Parameter(0.1 * torch.randn(DIM))
        self.bn = nn.BatchNorm1d(DIM, eps=1e-3)
        self.film = nn.Linear(cond, 2 * DIM)
        self.register_buffer("A", normalised_adjacency())

    def forward(self, x, cond):
        y = torch.einsum("lm,bmi,mio->blo", self.A, x, self.weight) + self.bias
        y = self.bn(y.transpose(1, 2)).transpose(1, 2)
        gamma, beta = self.film(cond).unsqueeze(1).chunk(2, dim=-1)
        y = F.relu(gamma * y + beta)
        return x + y if self.residual else y


class OrderDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.order_emb = nn.Embedding(ORDERS + 1, 6)
        self.cell = nn.LSTMCell(DIM + 6 + 4, DIM)
        self.out = nn.Linear(DIM, ORDERS)

    def forward(self, enc, power, align, valid):
        weights = align / align.sum(-1, keepdim=True)
        locs = torch.bmm(weights, enc)
        h = enc.new_zeros(enc.shape[0], DIM)
        c = torch.zeros_like(h)
        last = torch.full((enc.shape[0],), ORDERS, dtype=torch.long)
        probs = []
        for t in range(align.shape[1]):
            x = torch.cat([locs[:, t], self.order_emb(last), power], dim=-1)
            h, c = self.cell(x, (h, c))
            logits = self.out(h)
            logits = logits.masked_fill(valid[:, t] == 0, -1e9)
            last = logits.argmax(-1)
            probs.append(logits.softmax(-1))
        return torch.stack(probs, dim=1)


class DipNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.power_emb = nn.Linear(POWERS, 4, bias=False)
        self.season_emb = nn.Linear(SEASONS, 4, bias=False)
        self.board1 = GraphBlock(FEATS, False)
        self.board2 = GraphBlock(DIM, True)
        self.prev = GraphBlock(PREV, False)
        self.join = nn.Linear(2 * DIM, DIM)
        self.merge = GraphBlock(DIM, True)
        self.decoder = OrderDecoder()
        self.value = nn.Sequential(nn.Linear(DIM, DIM), nn.ReLU(), nn.Linear(DIM, POWERS))

    def forward(self, board, prev_orders, power, season, align, valid):
        power = self.power_emb(power)
        cond = torch.cat([power, self.season_emb(season)], dim=-1)
        x = self.board2(self.board1(board, cond), cond)
        p = self.prev(prev_orders, cond)
        enc = self.merge(self.join(torch.cat([x, p], -1)), cond)
        return self.decoder(enc, power, align, valid), self.value(enc.mean(1)).softmax(-1)


def make():
    torch.manual_seed(29)
    model = DipNet()
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.1 * torch.randn_like(p))
        for m in model.modules():
            if isinstance(m, nn.BatchNorm1d):
                m.running_mean.normal_(0, 0.2)
                m.running_var.uniform_(0.5, 1.5)
    return model.eval()


def inputs(seed):
    rng = np.random.RandomState(seed)
    b = 5
    board = (rng.rand(b, LOCS, FEATS) < 0.4).astype(np.float32)
    prev = rng.randn(b, LOCS, PREV).astype(np.float32)
    power = np.eye(POWERS, dtype=np.float32)[rng.randint(0, POWERS, b)]
    season = np.eye(SEASONS, dtype=np.float32)[rng.randint(0, SEASONS, b)]
    align = (rng.rand(b, STEPS, LOCS) < 0.3).astype(np.float32)
    align[np.arange(b)[:, None], np.arange(STEPS)[None], rng.randint(0, LOCS, (b, STEPS))] = 1
    valid = (rng.rand(b, STEPS, ORDERS) < 0.5).astype(np.float32)
    valid[:, :, 0] = 1
    return board, prev, power, season, align, valid


@torch.no_grad()
def load(ported, original):
    def t(v):
        return torch.from_numpy(np.array(v.numpy()))

    def dense(dst, src):
        dst.weight.copy_(t(src.kernel).T)
        if dst.bias is not None:
            dst.bias.copy_(t(src.bias))

    def block(dst, src):
        dst.weight.copy_(t(src.gcn.w))
        dst.bias.copy_(t(src.gcn.b))
        dst.bn.weight.copy_(t(src.bn.gamma))
        dst.bn.bias.copy_(t(src.bn.beta))
        dst.bn.running_mean.copy_(t(src.bn.moving_mean))
        dst.bn.running_var.copy_(t(src.bn.moving_variance))
        dense(dst.film, src.film)

    dense(ported.power_emb, original.power_emb)
    dense(ported.season_emb, original.season_emb)
    block(ported.board1, original.board[0])
    block(ported.board2, original.board[1])
    block(ported.prev, original.prev[0])
    block(ported.merge, original.merge)
    dense(ported.join, original.join)
    dec = ported.decoder
    dec.order_emb.weight.copy_(t(original.order_emb.embeddings))
    dec.cell.weight_ih.copy_(t(original.cell.kernel).T)
    dec.cell.weight_hh.copy_(t(original.cell.recurrent_kernel).T)
    dec.cell.bias_ih.copy_(t(original.cell.bias))
    dec.cell.bias_hh.zero_()
    dense(dec.out, original.out)
    dense(ported.value[0], original.v1)
    dense(ported.value[2], original.v2)
