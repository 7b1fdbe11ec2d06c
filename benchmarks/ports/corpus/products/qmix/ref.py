"""QMIX learner loss in Chainer: recurrent agents with shared weights, hypernetwork mixer, double Q targets."""
import numpy as np
import parity  # noqa: F401




import chainer  # noqa: E402
import chainer.functions as F  # noqa: E402
import chainer.links as L  # noqa: E402

FRAMEWORK = "chainer"
B, T, N, OBS, A, STATE, HID, EMB = 3, 5, 3, 5, 4, 8, 16, 8
GAMMA = 0.97


class Agent(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.fc1 = L.Linear(OBS + A + N, HID)
            self.rnn = L.StatelessGRU(HID, HID)
            self.fc2 = L.Linear(HID, A)

    def forward(self, obs, actions):
        """obs (B, T, N, OBS), actions (B, T, N) -> Q (B, T, N, A)"""
        b, t = obs.shape[:2]
        one_hot = np.eye(A, dtype=np.float32)[actions]
        last = np.zeros_like(one_hot)
        last[:, 1:] = one_hot[:, :-1]
        ids = np.broadcast_to(np.eye(N, dtype=np.float32), (b, t, N, N))
        x = np.concatenate([obs, last, ids], axis=3)
        h = np.zeros((b * N, HID), np.float32)
        qs = []
        for i in range(t):
            e = F.relu(self.fc1(np.ascontiguousarray(x[:, i]).reshape(b * N, -1)))
            h = self.rnn(h, e)
            qs.append(F.reshape(self.fc2(h), (b, N, A)))
        return F.stack(qs, axis=1)


class Mixer(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.hyper_w1 = L.Linear(STATE, N * EMB)
            self.hyper_b1 = L.Linear(STATE, EMB)
            self.hyper_w2 = L.Linear(STATE, EMB)
            self.v1 = L.Linear(STATE, EMB)
            self.v2 = L.Linear(EMB, 1)

    def forward(self, qs, states):
        b, t = qs.shape[:2]
        s = states.reshape(b * t, STATE)
        w1 = F.reshape(F.absolute(self.hyper_w1(s)), (-1, N, EMB))
        b1 = F.expand_dims(self.hyper_b1(s), 1)
        hidden = F.elu(F.matmul(F.reshape(qs, (-1, 1, N)), w1) + b1)
        w2 = F.expand_dims(F.absolute(self.hyper_w2(s)), 2)
        v = F.expand_dims(self.v2(F.relu(self.v1(s))), 1)
        return F.reshape(F.matmul(hidden, w2) + v, (b, t))


class QMix(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.agent = Agent()
            self.mixer = Mixer()
            self.target_agent = Agent()
            self.target_mixer = Mixer()

    def forward(self, obs, state, avail, actions, reward, terminated, filled):
        q = self.agent(obs, actions)
        flat = F.reshape(q[:, :-1], (-1, A))
        chosen = F.reshape(F.select_item(flat, actions[:, :-1].reshape(-1)), (len(obs), -1, N))
        masked = np.where(avail == 0, np.float32(-9999999), q.array)
        best = masked[:, 1:].argmax(axis=3)
        target_q = self.target_agent(obs, actions)[:, 1:]
        target = F.reshape(F.select_item(F.reshape(target_q, (-1, A)), best.reshape(-1)), (len(obs), -1, N))
        q_tot = self.mixer(chosen, state[:, :-1])
        t_tot = self.target_mixer(target, state[:, 1:])
        y = reward[:, :-1] + GAMMA * (1 - terminated[:, :-1]) * t_tot
        mask = filled[:, :-1].copy()
        mask[:, 1:] *= 1 - terminated[:, :-2]
        td = (q_tot - y) * mask
        loss = F.sum(td ** 2) / mask.sum()
        return {"q": q, "q_tot": q_tot, "td": td, "loss": loss}


def make():
    np.random.seed(5)
    net = QMix()
    rng = np.random.RandomState(12)
    for _, p in sorted(net.namedparams()):
        scale = 0.3 if p.ndim == 1 else 1.3 / np.sqrt(p.shape[1])
        p.array[...] = rng.normal(0, scale, p.shape)
    chainer.config.train = False
    return net


def inputs(seed):
    rng = np.random.RandomState(seed + 3)
    obs = rng.randn(B, T, N, OBS).astype(np.float32)
    state = rng.randn(B, T, STATE).astype(np.float32)
    avail = (rng.rand(B, T, N, A) < 0.7).astype(np.int64)
    avail[..., 0] = 1
    actions = np.array([[[rng.choice(np.flatnonzero(avail[b, t, n])) for n in range(N)] for t in range(T)]
                        for b in range(B)], np.int64)
    reward = rng.randn(B, T).astype(np.float32)
    filled = np.ones((B, T), np.float32)
    terminated = np.zeros((B, T), np.float32)
    terminated[0, T - 2] = 1
    terminated[1, 1] = 1
    filled[1, 3:] = 0
    return obs, state, avail, actions, reward, terminated, filled
