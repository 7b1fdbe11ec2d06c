"""SAD's network for Hanabi in torch."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
STEPS, PLAYERS, PRIV, PUBL, MOVES, WIDTH, CARDS, KINDS = 4, 2, 10, 6, 5, 12, 3, 3


class PublicLSTMNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.priv_net = nn.Sequential(nn.Linear(PRIV, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU())
        self.publ_net = nn.Sequential(nn.Linear(PUBL + MOVES, WIDTH), nn.ReLU())
        self.lstm = nn.LSTM(WIDTH, WIDTH, batch_first=True)
        self.fc_v = nn.Linear(WIDTH, 1)
        self.fc_a = nn.Linear(WIDTH, MOVES)
        self.pred = nn.Linear(WIDTH, CARDS * KINDS)

    def forward(self, priv, publ, legal, move, own_hand):
        b, t, p, _ = priv.shape
        publ = torch.cat([publ, move.flip(2)], -1)
        x = self.publ_net(publ)
        x = x.transpose(1, 2).flatten(0, 1)  # (batch * players, steps, width)
        publ_o, _ = self.lstm(x)
        publ_o = publ_o.unflatten(0, (b, p)).transpose(1, 2)
        o = self.priv_net(priv) * publ_o

        legal_a = self.fc_a(o) * legal
        q = self.fc_v(o) + legal_a - legal_a.mean(-1, keepdim=True)
        team = (q * move).sum(-1).sum(-1)
        legal_q = (1 + q - q.min(-1, keepdim=True).values) * legal
        greedy = legal_q.max(-1).values

        log_q = F.log_softmax(self.pred(o).view(b, t, p, CARDS, KINDS), -1)
        held = own_hand.sum(-1)
        cross_entropy = -(own_hand * log_q).sum(-1)
        loss = (cross_entropy * held).sum(-1) / held.sum(-1).clamp(min=1e-6)

        def lead(y):  # (steps, batch * players, ...) as the learner takes it
            return y.transpose(0, 1).flatten(1, 2)

        return lead(q), team.t(), lead(greedy), lead(loss)


def make():
    torch.manual_seed(6)
    net = PublicLSTMNet()
    for p in net.parameters():
        nn.init.normal_(p, 0, 0.3)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    shape = (4, STEPS, PLAYERS)
    legal = (rng.random(shape + (MOVES,)) > 0.35).astype("float32")
    legal[..., 0] = 1
    scores = legal * rng.random(legal.shape)
    move = np.eye(MOVES, dtype="float32")[scores.argmax(-1)]
    hand = np.eye(KINDS, dtype="float32")[rng.integers(0, KINDS, shape + (CARDS,))]
    hand *= (rng.random(shape + (CARDS, 1)) > 0.25)
    return (rng.normal(size=shape + (PRIV,)).astype("float32"), rng.normal(size=shape + (PUBL,)).astype("float32"),
            legal, move, hand.astype("float32"))


def load(ported, original):
    def put(to, of):
        with torch.no_grad():
            to.copy_(torch.tensor(of))

    def gates(a):
        """Chainer's rows are unit by unit (a, i, f, o); torch's gate by gate (i, f, g, o)."""
        a = a.reshape((WIDTH, 4) + a.shape[1:])
        return np.concatenate([a[:, k] for k in (1, 2, 0, 3)])

    for to, of in ((ported.priv_net[0], original.priv1), (ported.priv_net[2], original.priv2),
                   (ported.publ_net[0], original.publ), (ported.fc_v, original.fc_v),
                   (ported.fc_a, original.fc_a), (ported.pred, original.pred)):
        put(to.weight, of.W.array)
        put(to.bias, of.b.array)
    put(ported.lstm.weight_ih_l0, gates(original.lstm.upward.W.array))
    put(ported.lstm.bias_ih_l0, gates(original.lstm.upward.b.array))
    put(ported.lstm.weight_hh_l0, gates(original.lstm.lateral.W.array))
    put(ported.lstm.bias_hh_l0, np.zeros(4 * WIDTH, "f"))
