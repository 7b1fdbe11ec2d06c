"""SlateQ (Chainer): user interest from a click history, a conditional choice model, decomposed slate Q."""
import parity  # noqa: F401
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
DOCS, DIM, SLATE, HIST, USER = 15, 8, 4, 6, 5


class UserTower(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.fc1 = L.Linear(DIM + USER, 12)
            self.fc2 = L.Linear(12, DIM)
            self.decay = chainer.Parameter(np.zeros(HIST, "float32"))

    def forward(self, clicks, mask, profile):
        w = F.sigmoid(self.decay)
        w = F.broadcast_to(w[None], mask.shape) * mask
        total = F.sum(w, axis=1, keepdims=True) + 1e-6
        w = w / F.broadcast_to(total, w.shape)
        interest = F.sum(clicks * F.broadcast_to(w[:, :, None], clicks.shape), axis=1)
        h = F.tanh(self.fc1(F.concat([interest, profile], axis=1)))
        return F.normalize(self.fc2(h), axis=1)


class QNet(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.fc1 = L.Linear(3 * DIM, 12)
            self.fc2 = L.Linear(12, 1)

    def forward(self, user, docs):
        b, k, d = docs.shape
        u = F.broadcast_to(user[:, None], docs.shape)
        x = F.concat([u, docs, u * docs], axis=2)
        h = F.relu(self.fc1(F.reshape(x, (b * k, 3 * d))))
        return F.reshape(self.fc2(h), (b, k))


class SlateQ(chainer.Chain):
    def __init__(self, temperature=0.5, gamma=0.9):
        super().__init__()
        self.temperature, self.gamma = temperature, gamma
        with self.init_scope():
            self.embed = L.EmbedID(DOCS, DIM)
            self.user = UserTower()
            self.qnet = QNet()
            self.popularity = L.EmbedID(DOCS, 1)
            self.no_click = chainer.Parameter(np.zeros((1,), "float32"))

    def choice(self, user, docs, slate):
        match = F.sum(F.broadcast_to(user[:, None], docs.shape) * docs, axis=2) / self.temperature
        match = match + F.squeeze(self.popularity(slate), axis=2)
        null = F.broadcast_to(self.no_click[None], (match.shape[0], 1))
        return F.softmax(F.concat([match, null], axis=1), axis=1)

    def forward(self, history, profile, slate, rewards):
        mask = (history > 0).astype("float32")
        user = self.user(self.embed(history), mask, profile)
        docs = F.normalize(self.embed(slate), axis=2)
        p = self.choice(user, docs, slate)
        q = self.qnet(user, docs)
        clicked = p[:, :SLATE]
        slate_q = F.sum(clicked * q, axis=1)
        greedy = F.max(clicked * q, axis=1)
        target = F.sum(rewards * clicked, axis=1) + self.gamma * greedy
        entropy = -F.sum(p * F.log(p + 1e-8), axis=1)
        return slate_q, target, q, entropy


def make():
    r = np.random.default_rng(7)
    m = SlateQ()
    for p in m.params():
        p.array = r.normal(size=p.shape).astype("float32") * 0.5
    return m


def inputs(seed):
    r = np.random.default_rng(seed)
    f = lambda *s: r.normal(size=s).astype("float32")
    history = r.integers(1, DOCS, size=(7, HIST)).astype("int32")
    for i, n in enumerate(r.integers(2, HIST, size=7)):
        history[i, n:] = 0
    slate = np.stack([r.choice(np.arange(1, DOCS), SLATE, replace=False) for _ in range(7)]).astype("int32")
    return history, f(7, USER), slate, np.abs(f(7, SLATE))
