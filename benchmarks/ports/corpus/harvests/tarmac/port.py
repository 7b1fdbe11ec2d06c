"""TarMAC for our Chainer agents."""
import parity  # noqa: F401  (makes chainer loadable here)
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"


class GRU(chainer.Chain):
    """A GRU as cuDNN has it: the reset gate acts on the projected state."""

    def __init__(self, n_in, n_units):
        super().__init__()
        with self.init_scope():
            self.x = L.Linear(n_in, 3 * n_units)
            self.h = L.Linear(n_units, 3 * n_units)

    def forward(self, x, h):
        xr, xz, xn = F.split_axis(self.x(x), 3, axis=1)
        hr, hz, hn = F.split_axis(self.h(h), 3, axis=1)
        r = F.sigmoid(xr + hr)
        z = F.sigmoid(xz + hz)
        n = F.tanh(xn + r * hn)
        return (1 - z) * n + z * h


class TarMAC(chainer.Chain):
    def __init__(self, n_agents=5, obs=14, hidden=32, sig=12, msg=20, actions=6, rounds=2):
        super().__init__()
        self.rounds, self.sig = rounds, sig
        with self.init_scope():
            self.embed = L.Linear(obs, hidden)
            self.gru = GRU(hidden + msg, hidden)
            self.to_signature = L.Linear(hidden, sig)
            self.to_query = L.Linear(hidden, sig)
            self.to_message = L.Linear(hidden, msg)
            self.pi = L.Linear(hidden + msg, actions)
            self.v1 = L.Linear(n_agents * hidden, 48)
            self.v2 = L.Linear(48, 1)

    def talk(self, h, alive):
        signature = self.to_signature(h, n_batch_axes=2)
        query = self.to_query(h, n_batch_axes=2)
        message = self.to_message(h, n_batch_axes=2)
        score = F.matmul(query, signature, transb=True) / self.sig ** 0.5
        listen = F.broadcast_to(alive[:, None, :] > 0.5, score.shape)
        score = F.where(listen, score, self.xp.full(score.shape, -1e9, "float32"))
        weight = F.softmax(score, axis=2)
        return F.matmul(weight, message), weight

    def forward(self, obs, h, alive):
        batch, agents = obs.shape[:2]
        e = F.reshape(F.tanh(self.embed(obs, n_batch_axes=2)), (batch * agents, -1))
        mask = F.broadcast_to(alive[:, :, None], h.shape)
        h = h * mask
        weight = None
        for _ in range(self.rounds):
            heard, weight = self.talk(h, alive)
            heard = F.reshape(heard, (batch * agents, -1))
            flat = F.reshape(h, (batch * agents, -1))
            h = F.reshape(self.gru(F.concat([e, heard], axis=1), flat), (batch, agents, -1))
        heard, _ = self.talk(h, alive)
        logits = self.pi(F.concat([h, heard], axis=2), n_batch_axes=2)
        joint = F.reshape(h * mask, (batch, -1))
        value = F.squeeze(self.v2(F.relu(self.v1(joint))), axis=1)
        return logits, value, h, weight


def make(seed=11):
    rng = np.random.RandomState(seed)
    net = TarMAC()
    for p in net.params():
        p.array[...] = rng.normal(0, 0.2, p.shape)
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    obs = rng.normal(size=(4, 5, 14)).astype("float32")
    h = np.tanh(rng.normal(size=(4, 5, 32))).astype("float32")
    alive = np.ones((4, 5), "float32")
    alive[1, 3] = alive[2, 0] = alive[2, 4] = alive[3, 1] = 0
    return obs, h, alive


def load(ported, original):
    pairs = [
        (ported.embed, original.encoder[0]), (ported.to_signature, original.signature),
        (ported.to_query, original.query), (ported.to_message, original.message),
        (ported.pi, original.actor), (ported.v1, original.critic[0]), (ported.v2, original.critic[2]),
    ]
    for ours, theirs in pairs:
        ours.W.array[...] = theirs.weight.detach().numpy()
        ours.b.array[...] = theirs.bias.detach().numpy()
    cell = original.core
    ported.gru.x.W.array[...] = cell.weight_ih.detach().numpy()
    ported.gru.x.b.array[...] = cell.bias_ih.detach().numpy()
    ported.gru.h.W.array[...] = cell.weight_hh.detach().numpy()
    ported.gru.h.b.array[...] = cell.bias_hh.detach().numpy()
