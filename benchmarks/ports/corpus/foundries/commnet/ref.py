"""IC3Net-style communicating agents: averaged, gated messages into a shared LSTM. Chainer."""
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
AGENTS, OBS, HID, ACTIONS, ROUNDS = 4, 9, 24, 5, 2


class CommAgents(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.encoder = L.Linear(OBS, HID)
            self.comm = chainer.ChainList(*[L.Linear(HID, HID) for _ in range(ROUNDS)])
            self.skip = chainer.ChainList(*[L.Linear(HID, HID, nobias=True) for _ in range(ROUNDS)])
            self.cell = L.StatelessLSTM(HID, HID)
            self.actor = L.Linear(HID, ACTIONS)
            self.talker = L.Linear(HID, 2)
            self.value = L.Linear(HID, 1)

    def messages(self, h, alive, talk):
        """What each agent hears: the mean over its live, talking mates."""
        b = h.shape[0]
        others = 1.0 - np.eye(AGENTS, dtype="float32")
        mask = others[None] * alive[:, :, None] * (alive * talk)[:, None, :]
        n_alive = alive.sum(axis=1).reshape(b, 1, 1)
        mask = mask / np.maximum(n_alive - 1.0, 1.0)
        return F.matmul(chainer.as_variable(mask), h)

    def forward(self, obs, alive, talk, h, c):
        b = obs.shape[0]
        x = F.tanh(self.encoder(obs.reshape(b * AGENTS, OBS)))
        x = F.reshape(x, (b, AGENTS, HID))
        heard = x
        for comm, skip in zip(self.comm, self.skip):
            msg = self.messages(heard, alive, talk)
            heard = comm(F.reshape(msg, (-1, HID))) + skip(F.reshape(heard, (-1, HID)))
            heard = F.reshape(F.tanh(heard), (b, AGENTS, HID))
        total = F.reshape(x + heard, (-1, HID))
        c2, h2 = self.cell(c.reshape(-1, HID), h.reshape(-1, HID), total)
        logp = F.log_softmax(self.actor(h2))
        talk_logp = F.log_softmax(self.talker(h2))
        value = F.reshape(self.value(h2), (b, AGENTS)) * alive
        return (
            F.reshape(logp, (b, AGENTS, ACTIONS)),
            F.reshape(talk_logp, (b, AGENTS, 2)),
            value,
            F.reshape(h2, (b, AGENTS, HID)),
            F.reshape(c2, (b, AGENTS, HID)),
        )


def make(seed=21):
    rng = np.random.RandomState(seed)
    net = CommAgents()
    for name, p in sorted(net.namedparams()):
        scale = 0.3 if p.data.ndim == 1 else 1.2 / np.sqrt(p.data.shape[1])
        p.data[...] = rng.normal(0, scale, p.data.shape).astype("float32")
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    obs = rng.normal(size=(6, AGENTS, OBS))
    alive = np.ones((6, AGENTS))
    alive[1, 2] = alive[3, 0] = alive[4, 1] = alive[4, 3] = 0
    talk = (rng.uniform(size=(6, AGENTS)) < 0.7) * 1.0
    talk[0] = [1, 0, 1, 1]
    h = np.tanh(rng.normal(size=(6, AGENTS, HID)))
    c = rng.normal(size=(6, AGENTS, HID))
    return tuple(a.astype("float32") for a in (obs, alive, talk, h, c))
