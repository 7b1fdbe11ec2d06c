"""DIAL: differentiable inter-agent learning, C-Net with GRU and DRU messages (Chainer)."""
import numpy as np
import parity  # noqa: F401
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
N, T, OBS, ACT, MSG, H = 3, 3, 5, 4, 2, 10


def dru(m):
    """discretise/regularise unit, execution mode"""
    return (chainer.as_variable(m).array > 0).astype(np.float32)


class CNet(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.agent = L.EmbedID(N, H)
            self.state = L.EmbedID(OBS, H)
            self.prev = L.EmbedID(ACT + 1, H)
            self.msg_bn = L.BatchNormalization(MSG)
            self.msg_fc = L.Linear(MSG, H)
            self.gru1 = L.StatelessGRU(H, H)
            self.gru2 = L.StatelessGRU(H, H)
            self.out_fc = L.Linear(H, H)
            self.out_bn = L.BatchNormalization(H)
            self.out = L.Linear(H, ACT + MSG)

    def step(self, obs, agent, prev, msg, h1, h2):
        z = self.agent(agent) + self.state(obs) + self.prev(prev)
        z = z + F.relu(self.msg_fc(self.msg_bn(msg)))
        h1 = self.gru1(h1, z)
        h2 = self.gru2(h2, h1)
        y = self.out(F.relu(self.out_bn(self.out_fc(h2))))
        return y[:, :ACT], y[:, ACT:], h1, h2


class DIAL(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.cnet = CNet()

    def __call__(self, obs, noise):
        """obs: int [B, T, N]; noise: [B, N, MSG] message bias of the channel"""
        with chainer.using_config("train", False):
            B = obs.shape[0]
            zeros = np.zeros((B, H), "f")
            h = [(zeros, zeros) for _ in range(N)]
            prev = [np.zeros(B, "i") for _ in range(N)]
            sent = [np.zeros((B, MSG), "f") for _ in range(N)]
            qs = []
            for t in range(T):
                new = []
                for a in range(N):
                    heard = sum(sent[b] for b in range(N) if b != a)
                    ids = np.full(B, a, "i")
                    q, m, h1, h2 = self.cnet.step(obs[:, t, a], ids, prev[a], heard, *h[a])
                    h[a] = (h1, h2)
                    prev[a] = np.argmax(q.array, axis=1).astype("i") + 1
                    new.append(dru(m + noise[:, a]))
                    qs.append(q)
                sent = new
            q = F.reshape(F.stack(qs, axis=1), (B, T, N, ACT))
            taken = F.max(q, axis=3)
            return q, F.sum(taken, axis=2)


def make():
    m = DIAL()
    r = np.random.RandomState(5)
    for n, p in sorted(m.namedparams()):
        p.array = (r.randn(*p.shape) * (0.6 if p.ndim == 2 else 0.3) + (1.0 if "gamma" in n else 0)).astype("f")
    for bn in (m.cnet.msg_bn, m.cnet.out_bn):
        bn.avg_mean[...] = r.randn(*bn.avg_mean.shape) * 0.3
        bn.avg_var[...] = r.uniform(0.4, 1.5, bn.avg_var.shape)
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    return r.randint(0, OBS, (5, T, N)).astype("i"), (0.3 * r.randn(5, N, MSG)).astype("f")
