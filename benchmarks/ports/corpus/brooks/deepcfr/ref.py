"""Deep CFR advantage network (Brown et al. 2019, appendix C) with regret matching."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
DIM, NBETS, NACT = 8, 6, 4


class CardEmbedding(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.rank = nn.Embedding(13, dim)
        self.suit = nn.Embedding(13, dim)
        self.card = nn.Embedding(52, dim)

    def forward(self, cards):
        b, n = cards.shape
        x = cards.reshape(-1)
        valid = x.ge(0).float()
        x = x.clamp(min=0)
        embs = self.card(x) + self.rank(x // 4) + self.suit(x % 4)
        embs = embs * valid.unsqueeze(1)
        return embs.view(b, n, -1).sum(1)


class DeepCFRModel(nn.Module):
    def __init__(self, dim=DIM):
        super().__init__()
        self.card_embeddings = nn.ModuleList([CardEmbedding(dim) for _ in range(4)])
        self.card1 = nn.Linear(dim * 4, dim * 2)
        self.card2 = nn.Linear(dim * 2, dim * 2)
        self.card3 = nn.Linear(dim * 2, dim * 2)
        self.bet1 = nn.Linear(NBETS * 2, dim)
        self.bet2 = nn.Linear(dim, dim)
        self.comb1 = nn.Linear(dim * 3, dim * 2)
        self.comb2 = nn.Linear(dim * 2, dim * 2)
        self.comb3 = nn.Linear(dim * 2, dim * 2)
        self.action_head = nn.Linear(dim * 2, NACT)

    def normalize(self, z):
        mean = z.mean(dim=1, keepdim=True)
        std = z.std(dim=1, keepdim=True)
        return (z - mean) / (std + 1e-6)

    def forward(self, hole, board, bets, legal):
        groups = [hole, board[:, :3], board[:, 3:4], board[:, 4:5]]
        embs = [emb(c) for emb, c in zip(self.card_embeddings, groups)]
        x = torch.cat(embs, dim=1)
        x = F.relu(self.card1(x))
        x = F.relu(self.card2(x))
        x = F.relu(self.card3(x))

        bet_size = bets.clamp(0, 1e6)
        bet_occurred = bets.ge(0).float()
        bet_feats = torch.cat([bet_size, bet_occurred], dim=1)
        y = F.relu(self.bet1(bet_feats))
        y = F.relu(self.bet2(y) + y)

        z = torch.cat([x, y], dim=1)
        z = F.relu(self.comb1(z))
        z = F.relu(self.comb2(z) + z)
        z = F.relu(self.comb3(z) + z)
        z = self.normalize(z)
        adv = self.action_head(z)
        return adv, self.regret_matching(adv, legal)

    def regret_matching(self, adv, legal):
        pos = F.relu(adv) * legal
        total = pos.sum(dim=1, keepdim=True)
        best = adv.masked_fill(legal == 0, -1e9).argmax(dim=1)
        fallback = F.one_hot(best, NACT).float()
        return torch.where(total > 0, pos / total.clamp(min=1e-8), fallback)


def make():
    g = torch.Generator().manual_seed(8)
    m = DeepCFRModel()
    with torch.no_grad():
        for p in m.parameters():
            p.copy_(torch.randn(p.shape, generator=g) * (0.4 if p.dim() == 1 else 1.1 / p.shape[1] ** 0.5))
    return m.eval()


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
    return hole.astype("int64"), board.astype("int64"), bets, legal
