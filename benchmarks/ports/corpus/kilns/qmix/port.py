"""QMIX ported to Chainer."""
import numpy as np
import parity  # noqa: F401  makes chainer importable
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
N, OBS, A, S, H, E = 3, 10, 5, 12, 16, 8


class Recurrent(chainer.Chain):
    """torch's GRUCell: the reset gate acts on the projected state."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.x2g = L.Linear(H, 3 * H)
            self.h2g = L.Linear(H, 3 * H)

    def forward(self, x, h):
        xr, xz, xn = F.split_axis(self.x2g(x), 3, axis=1)
        hr, hz, hn = F.split_axis(self.h2g(h), 3, axis=1)
        r = F.sigmoid(xr + hr)
        z = F.sigmoid(xz + hz)
        n = F.tanh(xn + r * hn)
        return z * h + (1 - z) * n


class HyperMixer(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.w1 = L.Linear(S, N * E)
            self.b1 = L.Linear(S, E)
            self.w2_a = L.Linear(S, 16)
            self.w2_b = L.Linear(16, E)
            self.v_a = L.Linear(S, E)
            self.v_b = L.Linear(E, 1)

    def forward(self, qs, s):
        w1 = F.reshape(F.absolute(self.w1(s)), (-1, N, E))
        w2 = F.absolute(self.w2_b(F.relu(self.w2_a(s))))
        bias = self.b1(s)
        hidden = F.sum(F.expand_dims(qs, 2) * w1, axis=1)
        hidden = F.elu(hidden + bias)
        v = self.v_b(F.relu(self.v_a(s)))
        return F.sum(hidden * w2, axis=1) + v[:, 0]


class QMix(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(OBS + N, H)
            self.gru = Recurrent()
            self.l2 = L.Linear(H, A)
            self.mixer = HyperMixer()

    def forward(self, obs, state, h, avail, actions):
        b = obs.shape[0]
        flat = F.reshape(obs, (b * N, OBS))
        ids = np.tile(np.eye(N, dtype=np.float32), (b, 1))
        x = F.relu(self.l1(F.concat([flat, ids], axis=1)))
        h = self.gru(x, F.reshape(h, (b * N, H)))
        q = self.l2(h)
        taken = F.reshape(F.select_item(q, actions.reshape(-1)), (b, N))
        q = F.reshape(q, (b, N, A))
        masked = F.where(avail > 0, q, np.full(q.shape, -9999999.0, np.float32))
        best = F.max(masked, axis=2)
        return self.mixer(taken, state), self.mixer(best, state), F.reshape(h, (b, N, H))


def make():
    net = QMix()
    rng = np.random.default_rng(8)
    for p in net.params():
        p.array[...] = 0.3 * rng.normal(size=p.shape)
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    b = 6
    avail = (rng.random((b, 3, 5)) < 0.6).astype("float32")
    avail[:, :, 0] = 1
    actions = np.array([[rng.choice(np.flatnonzero(a)) for a in row] for row in avail], "int64")
    return (
        rng.normal(size=(b, 3, 10)).astype("float32"),
        rng.normal(size=(b, 12)).astype("float32"),
        (0.5 * rng.normal(size=(b, 3, 16))).astype("float32"),
        avail,
        actions,
    )


def _copy(link, weight, bias):
    link.W.array[...] = weight.detach().numpy()
    link.b.array[...] = bias.detach().numpy()


def load(ported, original):
    agent, mixer = original.agent, original.mixer
    _copy(ported.l1, agent.fc1.weight, agent.fc1.bias)
    _copy(ported.gru.x2g, agent.rnn.weight_ih, agent.rnn.bias_ih)
    _copy(ported.gru.h2g, agent.rnn.weight_hh, agent.rnn.bias_hh)
    _copy(ported.l2, agent.fc2.weight, agent.fc2.bias)
    for link, linear in (
        (ported.mixer.w1, mixer.hyper_w_1), (ported.mixer.b1, mixer.hyper_b_1),
        (ported.mixer.w2_a, mixer.hyper_w_final[0]), (ported.mixer.w2_b, mixer.hyper_w_final[2]),
        (ported.mixer.v_a, mixer.V[0]), (ported.mixer.v_b, mixer.V[2]),
    ):
        _copy(link, linear.weight, linear.bias)
