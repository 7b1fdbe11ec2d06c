"""DIAL (Foerster et al. 2016): differentiable inter-agent learning, C-Net with a two-layer GRU and the DRU."""
import numpy as np
import parity  # noqa: F401
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
N, O, A, MSG, H, T = 3, 5, 4, 2, 10, 4


class GRU(chainer.Chain):
    def __init__(self, nin):
        super().__init__()
        with self.init_scope():
            self.W_r = L.Linear(nin, H)
            self.U_r = L.Linear(H, H)
            self.W_z = L.Linear(nin, H)
            self.U_z = L.Linear(H, H)
            self.W = L.Linear(nin, H)
            self.U = L.Linear(H, H)

    def forward(self, h, x):
        r = F.sigmoid(self.W_r(x) + self.U_r(h))
        z = F.sigmoid(self.W_z(x) + self.U_z(h))
        h_bar = F.tanh(self.W(x) + self.U(r * h))
        return (1 - z) * h + z * h_bar


class CNet(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.obs1 = L.Linear(O, H)
            self.obs2 = L.Linear(H, H)
            self.agent = L.EmbedID(N, H)
            self.act = L.EmbedID(A + 1, H)
            self.msg_bn = L.BatchNormalization(MSG)
            self.msg = L.Linear(MSG, H)
            self.gru1 = GRU(H)
            self.gru2 = GRU(H)
            self.out1 = L.Linear(H, H)
            self.out2 = L.Linear(H, A + MSG)

    def forward(self, obs, msg, last, h1, h2):
        ids = np.tile(np.arange(N), obs.shape[0] // N).astype("int32")
        z = F.relu(self.obs2(F.relu(self.obs1(obs))))
        z = z + self.agent(ids) + self.act(last)
        z = z + F.relu(self.msg(self.msg_bn(msg)))
        h1 = self.gru1(h1, z)
        h2 = self.gru2(h2, h1)
        return self.out2(F.relu(self.out1(h2))), h1, h2


def dru(m):
    return F.sigmoid(m)


class DIAL(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.cnet = CNet()

    def forward(self, obs, last):
        with chainer.using_config("train", False):
            b = obs.shape[0]
            h1 = h2 = np.zeros((b * N, H), "float32")
            heard = np.zeros((b * N, MSG), "float32")
            qs, msgs = [], []
            for t in range(T):
                o = F.reshape(obs[:, t], (b * N, O))
                out, h1, h2 = self.cnet(o, heard, last[:, t].reshape(-1), h1, h2)
                q, m = F.split_axis(out, [A], axis=1)
                m = F.reshape(dru(m), (b, N, MSG))
                total = F.broadcast_to(F.sum(m, axis=1, keepdims=True), m.shape)
                heard = F.reshape((total - m) / (N - 1), (b * N, MSG))
                qs.append(F.reshape(q, (b, N, A)))
                msgs.append(m)
            return F.stack(qs, axis=1), F.stack(msgs, axis=1)


def make():
    m = DIAL()
    r = np.random.RandomState(17)
    for path, p in sorted(m.namedparams()):
        if path.endswith("gamma"):
            p.array[...] = 1 + 0.2 * r.randn(*p.shape)
        else:
            p.array[...] = r.randn(*p.shape) * (p.shape[1] ** -0.5 * 1.3 if p.ndim > 1 else 0.2)
    m.cnet.msg_bn.avg_mean[...] = 0.4 + 0.1 * r.randn(MSG)
    m.cnet.msg_bn.avg_var[...] = 0.1 + 0.2 * r.rand(MSG)
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    obs = r.randn(4, T, N, O).astype("float32")
    last = r.randint(1, A + 1, (4, T, N)).astype("int32")
    last[:, 0] = 0
    return obs, last
