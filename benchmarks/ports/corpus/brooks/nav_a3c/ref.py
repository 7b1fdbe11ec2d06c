"""Learning to navigate (Mirowski et al. 2017): Nav A3C with stacked LSTMs and depth heads."""
import parity
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
T, ACT, VEL, H1, H2, CELLS, BINS = 3, 4, 3, 6, 8, 4, 5


class Encoder(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv1 = L.Convolution2D(3, 6, 5, stride=2, pad=2)
            self.conv2 = L.Convolution2D(6, 8, 3, stride=2, pad=1)
            self.fc = L.Linear(8 * 3 * 3, 16)

    def forward(self, x):
        x = x / 255.0 - 0.5
        h = F.relu(self.conv1(x))
        h = F.relu(self.conv2(h))
        return F.relu(self.fc(h))


class StatelessLSTM(chainer.Chain):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.n_out = n_out
        with self.init_scope():
            self.upward = L.Linear(n_in, 4 * n_out)
            self.lateral = L.Linear(n_out, 4 * n_out, nobias=True)

    def forward(self, state, x):
        c, h = state
        return F.lstm(c, self.upward(x) + self.lateral(h))


class NavA3C(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.encoder = Encoder()
            self.lstm1 = StatelessLSTM(16 + 1, H1)
            self.lstm2 = StatelessLSTM(16 + H1 + VEL + ACT, H2)
            self.pi = L.Linear(H2, ACT)
            self.v = L.Linear(H2, 1)
            self.depth_conv = L.Linear(16, CELLS * BINS)
            self.depth_lstm = L.Linear(H2, CELLS * BINS)

    def depth(self, link, h):
        return F.softmax(F.reshape(link(h), (h.shape[0], CELLS, BINS)), axis=2)

    def forward(self, frames, prev_action, prev_reward, velocity, not_done):
        b = prev_action.shape[0]
        enc = F.reshape(self.encoder(frames), (b, T, 16))
        s1 = (np.zeros((b, H1), "f"), np.zeros((b, H1), "f"))
        s2 = (np.zeros((b, H2), "f"), np.zeros((b, H2), "f"))
        logits, values, d_conv, d_lstm = [], [], [], []
        for t in range(T):
            mask = not_done[:, t]
            s1 = tuple(s * F.broadcast_to(mask, s.shape) for s in s1)
            s2 = tuple(s * F.broadcast_to(mask, s.shape) for s in s2)
            f = enc[:, t]
            r = np.clip(prev_reward[:, t], -1, 1)
            s1 = self.lstm1(s1, F.concat([f, r], axis=1))
            x2 = F.concat([f, s1[1], velocity[:, t], prev_action[:, t]], axis=1)
            s2 = self.lstm2(s2, x2)
            logits.append(F.log_softmax(self.pi(s2[1]), axis=1))
            values.append(self.v(s2[1]))
            d_conv.append(self.depth(self.depth_conv, f))
            d_lstm.append(self.depth(self.depth_lstm, s2[1]))
        return F.stack(logits, 1), F.stack(values, 1), F.stack(d_conv, 1), F.stack(d_lstm, 1)


def make():
    m = NavA3C()
    r = np.random.RandomState(14)
    for _, p in sorted(m.namedparams()):
        s = 0.5 if p.ndim == 1 else 1.5 / np.sqrt(np.prod(p.shape[1:]))
        p.array[...] = r.randn(*p.shape) * s
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    B = 4
    frames = r.randint(0, 256, (B * T, 3, 12, 12)).astype("float32")
    prev_action = np.eye(ACT, dtype="float32")[r.randint(0, ACT, (B, T))]
    prev_reward = (r.randn(B, T, 1) * 1.5).astype("float32")
    velocity = r.randn(B, T, VEL).astype("float32")
    not_done = np.ones((B, T, 1), "float32")
    not_done[1, 1] = not_done[2, 2] = not_done[3, 1] = 0
    return frames, prev_action, prev_reward, velocity, not_done
