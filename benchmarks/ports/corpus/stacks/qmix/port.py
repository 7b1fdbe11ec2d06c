"""QMIX for Chainer; agents flattened batch-major, mixing by broadcasting instead of bmm."""
import numpy as np
import parity  # noqa: F401
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
N, O, S, A, H, E = 3, 8, 10, 5, 16, 12


class GRU(chainer.Chain):
    """cuDNN flavour: the reset gate acts after the recurrent matrix."""

    def __init__(self, n_in, n_units):
        super().__init__()
        with self.init_scope():
            self.x = L.Linear(n_in, 3 * n_units)
            self.h = L.Linear(n_units, 3 * n_units)

    def __call__(self, x, h):
        xr, xz, xn = F.split_axis(self.x(x), 3, axis=1)
        hr, hz, hn = F.split_axis(self.h(h), 3, axis=1)
        r, z = F.sigmoid(xr + hr), F.sigmoid(xz + hz)
        n = F.tanh(xn + r * hn)
        return n + z * (h - n)


class Learner(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed = L.Linear(O + A + N, H)
            self.gru = GRU(H, H)
            self.head = L.Linear(H, A)
            self.w1, self.b1, self.w2 = L.Linear(S, N * E), L.Linear(S, E), L.Linear(S, E)
            self.v1, self.v2 = L.Linear(S, E), L.Linear(E, 1)

    def mix(self, q, state):
        B, T = q.shape[:2]
        s = F.reshape(state, (B * T, S))
        w1 = F.reshape(F.absolute(self.w1(s)), (B * T, N, E))
        q = F.broadcast_to(F.reshape(q, (B * T, N, 1)), w1.shape)
        hidden = F.elu(F.sum(q * w1, axis=1) + self.b1(s))
        total = F.sum(hidden * F.absolute(self.w2(s)), axis=1)
        return F.reshape(total + self.v2(F.relu(self.v1(s)))[:, 0], (B, T))

    def __call__(self, obs, avail, state, actions):
        obs, avail, state, actions = map(chainer.as_variable, (obs, avail, state, actions))
        B, T = actions.shape[:2]
        acts = np.eye(A, dtype=np.float32)[actions.array]
        prev = np.zeros_like(acts)
        prev[:, 1:] = acts[:, :-1]
        who = np.tile(np.eye(N, dtype=np.float32), (B, 1))
        h = np.zeros((B * N, H), np.float32)
        qs = []
        for t in range(T):
            x = F.concat([F.reshape(obs[:, t], (B * N, O)), prev[:, t].reshape(B * N, A), who], axis=1)
            h = self.gru(F.relu(self.embed(x)), h)
            qs.append(F.reshape(self.head(h), (B, N, A)))
        qs = F.stack(qs, axis=1)
        taken = F.sum(qs * acts, axis=3)
        legal = F.where(avail.array.astype(bool), qs, np.full(qs.shape, -1e7, np.float32))
        return self.mix(taken, state), self.mix(F.max(legal, axis=3), state)


def make():
    np.random.seed(0)
    return Learner()


def load(model, reference):
    def put(link, weight, bias):
        link.W.array[...] = weight.detach().numpy()
        link.b.array[...] = bias.detach().numpy()

    agent, mixer = reference.agent, reference.mixer
    put(model.gru.x, agent.rnn.weight_ih, agent.rnn.bias_ih)
    put(model.gru.h, agent.rnn.weight_hh, agent.rnn.bias_hh)
    for link, src in ((model.embed, agent.fc1), (model.head, agent.fc2), (model.w1, mixer.hyper_w_1),
                      (model.b1, mixer.hyper_b_1), (model.w2, mixer.hyper_w_final),
                      (model.v1, mixer.V[0]), (model.v2, mixer.V[2])):
        put(link, src.weight, src.bias)
