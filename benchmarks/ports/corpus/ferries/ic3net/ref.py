"""IC3Net (Singh et al. 2019): gated communication between LSTM agents, Chainer."""
import numpy as np
import parity  # noqa: F401  (lets chainer load)
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
AGENTS, OBS, HID, ACTIONS, STEPS = 4, 6, 10, 5, 3


class IC3Net(chainer.Chain):
    def __init__(self, comm_passes=1):
        super().__init__()
        with self.init_scope():
            self.encoder = L.Linear(OBS, HID)
            self.C = L.Linear(HID, HID)
            self.lstm = L.StatelessLSTM(HID, HID)
            self.value = L.Linear(HID, 1)
            self.head = L.Linear(HID, ACTIONS)
            self.gate = L.Linear(HID, 2)
        self.comm_mask = 1.0 - np.eye(AGENTS, dtype=np.float32)

    def communicate(self, h, gate, alive):
        """mean of what the other living agents choose to say"""
        B = alive.shape[0]
        n_alive = alive.sum(1)
        talk = (alive * gate)[:, None, :] * alive[:, :, None] * self.comm_mask[None]
        talk = talk / np.maximum(n_alive - 1, 1)[:, None, None]
        return F.matmul(chainer.as_variable(talk.astype(np.float32)), h.reshape(B, AGENTS, HID))

    def forward(self, obs, alive):
        B, T = obs.shape[:2]
        h = chainer.Variable(np.zeros((B * AGENTS, HID), np.float32))
        c = chainer.Variable(np.zeros((B * AGENTS, HID), np.float32))
        gate = np.ones((B, AGENTS), np.float32)
        logps, values, gates = [], [], []
        for t in range(T):
            e = F.tanh(self.encoder(obs[:, t].reshape(B * AGENTS, OBS)))
            comm = self.communicate(h, gate, alive)
            x = e + self.C(comm.reshape(B * AGENTS, HID))
            c, h = self.lstm(c, h, x)
            logps.append(F.log_softmax(self.head(h)).reshape(B, AGENTS, ACTIONS))
            values.append(self.value(h).reshape(B, AGENTS))
            talk = F.log_softmax(self.gate(h)).reshape(B, AGENTS, 2)
            gate = F.argmax(talk, axis=2).array.astype(np.float32)
            gates.append(talk)
        return F.stack(logps, 1), F.stack(values, 1), F.stack(gates, 1)


def make():
    np.random.seed(19)
    model = IC3Net()
    rng = np.random.RandomState(19)
    for _, p in sorted(model.namedparams()):
        if p.ndim == 1:
            p.array[...] = 0.4 * rng.randn(*p.shape)
        else:
            p.array[...] = rng.randn(*p.shape) * 1.6 / np.sqrt(p.shape[1])
    chainer.global_config.train = False
    return model


def inputs(seed):
    rng = np.random.RandomState(seed)
    obs = rng.randn(5, STEPS, AGENTS, OBS).astype(np.float32)
    alive = np.ones((5, AGENTS), np.float32)
    alive[[1, 3], [2, 0]] = 0
    return obs, alive
