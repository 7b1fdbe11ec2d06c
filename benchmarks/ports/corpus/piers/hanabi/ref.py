"""SAD for Hanabi: public LSTM, private net, dueling over legal moves, VDN sum and the card loss."""
import numpy as np

import parity  # noqa: F401  lets chainer load
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
STEPS, PLAYERS, PRIV, PUBL, MOVES, WIDTH, CARDS, KINDS = 4, 2, 10, 6, 5, 12, 3, 3


class R2D2Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.priv1 = L.Linear(PRIV, WIDTH)
            self.priv2 = L.Linear(WIDTH, WIDTH)
            self.publ = L.Linear(PUBL + MOVES, WIDTH)
            self.lstm = L.StatelessLSTM(WIDTH, WIDTH)
            self.fc_v = L.Linear(WIDTH, 1)
            self.fc_a = L.Linear(WIDTH, MOVES)
            self.pred = L.Linear(WIDTH, CARDS * KINDS)

    def duel(self, v, a, legal):
        v, a, legal = F.broadcast(v, a, legal)
        legal_a = a * legal
        mean = F.mean(legal_a, axis=-1, keepdims=True)
        return v + legal_a - F.broadcast_to(mean, legal_a.shape)

    def unroll(self, x):
        """(steps, batch, width) through the LSTM."""
        h = c = None
        outs = []
        for t in range(STEPS):
            c, h = self.lstm(c, h, x[t])
            outs.append(h)
        return F.stack(outs)

    def card_loss(self, lstm_o, own_hand):
        """Cross entropy over the cards that a player holds, averaged over them."""
        logits = F.reshape(self.pred(F.reshape(lstm_o, (-1, WIDTH))), own_hand.shape)
        log_q = F.log_softmax(logits, axis=-1)
        plogq = F.sum(own_hand * log_q, axis=-1)
        held = own_hand.sum(-1)
        return -F.sum(plogq * held, axis=-1) / np.maximum(held.sum(-1), 1e-6)

    def forward(self, priv, publ, legal, move, own_hand):
        b = priv.shape[0]
        n = b * PLAYERS

        def fold(a):
            """(batch, steps, players, ...) to (steps, batch * players, ...)."""
            a = np.moveaxis(a, 1, 0)
            return np.ascontiguousarray(a.reshape((STEPS, n) + a.shape[3:]))

        teammate_greedy = move[:, :, ::-1]
        publ = np.concatenate([publ, teammate_greedy], axis=-1)
        priv, publ, legal, move, own_hand = (fold(a) for a in (priv, publ, legal, move, own_hand))

        x = F.relu(self.publ(publ.reshape(-1, PUBL + MOVES)))
        publ_o = self.unroll(F.reshape(x, (STEPS, n, WIDTH)))
        p = F.relu(self.priv1(priv.reshape(-1, PRIV)))
        p = F.relu(self.priv2(p))
        o = F.reshape(p, (STEPS, n, WIDTH)) * publ_o

        flat = F.reshape(o, (-1, WIDTH))
        a = F.reshape(self.fc_a(flat), (STEPS, n, MOVES))
        v = F.reshape(self.fc_v(flat), (STEPS, n, 1))
        q = self.duel(v, a, legal)
        taken = F.sum(q * move, axis=-1)
        legal_q = (1 + q - F.broadcast_to(F.min(q, axis=-1, keepdims=True), q.shape)) * legal
        greedy = F.max(legal_q, axis=-1)
        loss = self.card_loss(o, own_hand)
        team = F.sum(F.reshape(taken, (STEPS, b, PLAYERS)), axis=-1)
        return q, team, greedy, loss


def make():
    net = R2D2Net()
    rng = np.random.default_rng(41)
    for _, p in sorted(net.namedparams()):
        scale = 1.2 / np.sqrt(p.shape[-1]) if p.array.ndim > 1 else 0.3
        p.array[...] = scale * rng.normal(size=p.shape)
    return net


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
