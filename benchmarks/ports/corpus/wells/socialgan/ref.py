"""Social GAN generator: LSTM encoder, hidden-state pooling, LSTM decoder with pooling per step (Chainer)."""
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
B, N, T, PRED, EMB, H, NZ = 4, 4, 5, 3, 6, 8, 3


class PoolNet(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.spatial = L.Linear(2, EMB)
            self.fc1 = L.Linear(EMB + H, 12)
            self.fc2 = L.Linear(12, H)

    def forward(self, h, pos):
        # h: (B*N, H), pos: (B, N, 2)
        rel = F.broadcast_to(pos[:, None], (B, N, N, 2)) - F.broadcast_to(pos[:, :, None], (B, N, N, 2))
        emb = self.spatial(F.reshape(rel, (-1, 2)))
        hid = F.broadcast_to(F.reshape(h, (B, 1, N, H)), (B, N, N, H))
        x = F.concat([emb, F.reshape(hid, (-1, H))], axis=1)
        x = F.relu(self.fc2(F.relu(self.fc1(x))))
        x = F.max(F.reshape(x, (B, N, N, H)), axis=2)
        return F.reshape(x, (-1, H))


class Generator(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.enc_emb = L.Linear(2, EMB)
            self.enc = L.StatelessLSTM(EMB, H)
            self.pool = PoolNet()
            self.ctx1 = L.Linear(2 * H, 12)
            self.ctx2 = L.Linear(12, H - NZ)
            self.dec_emb = L.Linear(2, EMB)
            self.dec = L.StatelessLSTM(EMB, H)
            self.hid2pos = L.Linear(H, 2)
            self.mlp = L.Linear(2 * H, H)

    def forward(self, traj, noise):
        obs = F.reshape(traj, (B * N, T, 2))
        rel = obs[:, 1:] - obs[:, :-1]
        c = h = None
        for t in range(T - 1):
            c, h = self.enc(c, h, F.relu(self.enc_emb(rel[:, t])))
        pooled = self.pool(h, traj[:, :, -1])
        ctx = F.relu(self.ctx2(F.relu(self.ctx1(F.concat([h, pooled], axis=1)))))
        z = F.reshape(F.broadcast_to(noise[:, None], (B, N, NZ)), (-1, NZ))
        h = F.concat([ctx, z], axis=1)
        c = chainer.Variable(np.zeros((B * N, H), np.float32))
        pos, step = obs[:, -1], rel[:, -1]
        out = []
        for _ in range(PRED):
            c, h = self.dec(c, h, F.relu(self.dec_emb(step)))
            step = self.hid2pos(h)
            pos = pos + step
            pooled = self.pool(h, F.reshape(pos, (B, N, 2)))
            h = F.tanh(self.mlp(F.concat([h, pooled], axis=1)))
            out.append(pos)
        return F.reshape(F.stack(out, axis=1), (B, N, PRED, 2)), F.reshape(h, (B, N, H))


def make():
    r = np.random.RandomState(81)
    m = Generator()
    for n, p in sorted(m.namedparams()):
        p.array[...] = 0.2 * r.randn(*p.shape) if p.ndim == 1 else 1.2 * r.randn(*p.shape) / np.sqrt(p.shape[1])
    return m


def inputs(seed):
    r = np.random.default_rng(seed)
    traj = 1.5 * r.normal(size=(B, N, 1, 2)) + np.cumsum(0.6 * r.normal(size=(B, N, T, 2)), axis=2)
    return traj.astype("float32"), r.normal(size=(B, NZ)).astype("float32")
