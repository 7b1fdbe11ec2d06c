"""Deep CFR advantage network in Chainer."""
import parity
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
DIM, NBETS, NACT = 8, 6, 4


class CardEmbedding(chainer.Chain):
    def __init__(self, dim):
        super().__init__()
        with self.init_scope():
            self.rank = L.EmbedID(13, dim)
            self.suit = L.EmbedID(13, dim)
            self.card = L.EmbedID(52, dim)

    def forward(self, cards):
        valid = (cards >= 0).astype("f")
        x = self.xp.maximum(cards, 0)
        e = self.card(x) + self.rank(x // 4) + self.suit(x % 4)
        e = e * valid[:, :, None]
        return F.sum(e, axis=1)


class DeepCFR(chainer.Chain):
    def __init__(self, dim=DIM):
        super().__init__()
        with self.init_scope():
            self.embeds = chainer.ChainList(*[CardEmbedding(dim) for _ in range(4)])
            self.cards = chainer.ChainList(
                L.Linear(4 * dim, 2 * dim), L.Linear(2 * dim, 2 * dim), L.Linear(2 * dim, 2 * dim))
            self.bet1 = L.Linear(2 * NBETS, dim)
            self.bet2 = L.Linear(dim, dim)
            self.comb1 = L.Linear(3 * dim, 2 * dim)
            self.comb2 = L.Linear(2 * dim, 2 * dim)
            self.comb3 = L.Linear(2 * dim, 2 * dim)
            self.head = L.Linear(2 * dim, NACT)

    def encode_cards(self, hole, board):
        groups = (hole, board[:, :3], board[:, 3:4], board[:, 4:])
        h = F.concat([emb(c) for emb, c in zip(self.embeds, groups)], axis=1)
        for fc in self.cards:
            h = F.relu(fc(h))
        return h

    def encode_bets(self, bets):
        occurred = (bets >= 0).astype("f")
        h = F.concat([self.xp.clip(bets, 0, 1e6).astype("f"), occurred], axis=1)
        h = F.relu(self.bet1(h))
        return F.relu(self.bet2(h) + h)

    def forward(self, hole, board, bets, legal):
        z = F.concat([self.encode_cards(hole, board), self.encode_bets(bets)], axis=1)
        z = F.relu(self.comb1(z))
        z = F.relu(self.comb2(z) + z)
        z = F.relu(self.comb3(z) + z)

        d = z - F.broadcast_to(F.mean(z, axis=1, keepdims=True), z.shape)
        std = F.sqrt(F.sum(d * d, axis=1, keepdims=True) / (z.shape[1] - 1))
        z = d / F.broadcast_to(std + 1e-6, z.shape)
        adv = self.head(z)

        pos = F.relu(adv) * legal
        total = F.broadcast_to(F.sum(pos, axis=1, keepdims=True), pos.shape)
        masked = self.xp.where(legal > 0, adv.array, self.xp.float32(-1e9))
        fallback = self.xp.eye(NACT, dtype="f")[masked.argmax(axis=1)]
        policy = F.where(total.array > 0, pos / F.clip(total, 1e-8, 1e8), fallback)
        return adv, policy


def make():
    m = DeepCFR()
    r = np.random.RandomState(21)
    for _, p in sorted(m.namedparams()):
        p.array[...] = r.randn(*p.shape) * 0.4
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    B = 8
    deck = np.stack([r.permutation(52)[:7] for _ in range(B)])
    hole, board = deck[:, :2].copy(), deck[:, 2:].copy()
    for b in range(B):
        board[b, [5, 3, 4, 0, 5, 3, 4, 3][b]:] = -1
    bets = np.where(r.rand(B, NBETS) > 0.3, r.rand(B, NBETS) * 3, -1.0).astype("float32")
    legal = (r.rand(B, NACT) > 0.35).astype("float32")
    legal[:, 0] = 1
    return hole.astype("int32"), board.astype("int32"), bets, legal


def load(ported, original):
    def lin(dst, src):
        dst.W.array[...] = src.weight.detach().numpy()
        dst.b.array[...] = src.bias.detach().numpy()

    for dst, src in zip(ported.embeds, original.card_embeddings):
        for k in ("rank", "suit", "card"):
            getattr(dst, k).W.array[...] = getattr(src, k).weight.detach().numpy()
    for i, fc in enumerate(ported.cards):
        lin(fc, getattr(original, f"card{i + 1}"))
    for k in ("bet1", "bet2", "comb1", "comb2", "comb3"):
        lin(getattr(ported, k), getattr(original, k))
    lin(ported.head, original.action_head)
