"""Recurrent dueling Q-network on small Atari-like frames, with R2D2's n-step TD errors (Chainer)."""
import parity  # noqa: F401  (makes chainer importable)
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"

N_ACTIONS, N_STEP, GAMMA, EPS, ETA = 5, 3, 0.95, 1e-2, 0.9


def h_scale(x):
    return F.sign(x) * (F.sqrt(abs(x) + 1) - 1) + EPS * x


def h_inverse(x):
    t = (F.sqrt(1 + 4 * EPS * (abs(x) + 1 + EPS)) - 1) / (2 * EPS)
    return F.sign(x) * (t ** 2 - 1)


class DuelingHead(chainer.Chain):
    def __init__(self, n_in, n_hidden):
        super().__init__()
        with self.init_scope():
            self.a1 = L.Linear(n_in, n_hidden)
            self.a2 = L.Linear(n_hidden, N_ACTIONS)
            self.v1 = L.Linear(n_in, n_hidden)
            self.v2 = L.Linear(n_hidden, 1)

    def forward(self, h):
        a = self.a2(F.relu(self.a1(h)))
        v = self.v2(F.relu(self.v1(h)))
        a = a - F.broadcast_to(F.mean(a, axis=1, keepdims=True), a.shape)
        return F.broadcast_to(v, a.shape) + a


class R2D2(chainer.Chain):
    def __init__(self, hidden=14):
        super().__init__()
        self.hidden = hidden
        with self.init_scope():
            self.conv1 = L.Convolution2D(2, 6, 8, stride=4)
            self.conv2 = L.Convolution2D(6, 8, 4, stride=2)
            self.conv3 = L.Convolution2D(8, 10, 3)
            self.lstm = L.StatelessLSTM(10 * 2 * 2 + N_ACTIONS + 1, hidden)
            self.online = DuelingHead(hidden, 12)
            self.target = DuelingHead(hidden, 12)

    def features(self, obs, action, reward):
        h = obs.astype(np.float32) / np.float32(255)
        for conv in (self.conv1, self.conv2, self.conv3):
            h = F.relu(conv(h))
        h = F.reshape(h, (len(obs), -1))
        one_hot = np.eye(N_ACTIONS, dtype=np.float32)[action]
        return F.concat([h, one_hot, reward[:, None]], axis=1)

    def forward(self, obs, action, reward, done):
        """obs (B, T, 2, 44, 44) uint8; action[t], reward[t], done[t] are those of the step before obs[t]."""
        obs, action, reward, done = (getattr(a, "array", a) for a in (obs, action, reward, done))
        reward = np.clip(reward, -1, 1)
        B, T = action.shape
        c = chainer.Variable(np.zeros((B, self.hidden), np.float32))
        h = chainer.Variable(np.zeros((B, self.hidden), np.float32))
        q, qt = [], []
        for t in range(T):
            keep = (1 - done[:, t].astype(np.float32))[:, None]
            c, h = c * keep, h * keep
            c, h = self.lstm(c, h, self.features(obs[:, t], action[:, t], reward[:, t]))
            q.append(self.online(h))
            qt.append(self.target(h))
        td = []
        for t in range(T - N_STEP):
            ret = np.zeros(B, np.float32)
            alive = np.ones(B, np.float32)
            for k in range(N_STEP):
                ret = ret + np.float32(GAMMA ** k) * alive * reward[:, t + k + 1]
                alive = alive * (1 - done[:, t + k + 1].astype(np.float32))
            best = np.argmax(q[t + N_STEP].array, axis=1)
            boot = h_inverse(F.select_item(qt[t + N_STEP], best.astype(np.int32)))
            goal = h_scale(ret + np.float32(GAMMA ** N_STEP) * alive * boot)
            td.append(goal - F.select_item(q[t], action[:, t + 1]))
        td = F.stack(td, axis=1)
        size = abs(td)
        priority = ETA * F.max(size, axis=1) + (1 - ETA) * F.mean(size, axis=1)
        return F.stack(q, axis=1), td, priority


def make():
    rng = np.random.RandomState(101)
    net = R2D2()
    for name, p in sorted(net.namedparams()):
        if p.ndim == 1:
            p.array[...] = 0.2 * rng.randn(*p.shape)
        else:
            p.array[...] = rng.randn(*p.shape) * 1.4 / np.sqrt(np.prod(p.shape[1:]))
    return net


def inputs(seed):
    rng = np.random.RandomState(seed)
    obs = rng.randint(0, 256, (3, 8, 2, 44, 44)).astype(np.uint8)
    action = rng.randint(0, N_ACTIONS, (3, 8)).astype(np.int32)
    reward = (rng.randn(3, 8) * 1.5).astype(np.float32)
    done = rng.rand(3, 8) < 0.2
    done[:, 0] = True
    return obs, action, reward, done
