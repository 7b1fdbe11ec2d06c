import parity  # noqa: F401  (makes chainer importable)
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
N, OBS, ST, ACT, H, EMB, T = 3, 5, 6, 4, 9, 7, 4


def arr(x):
    return x.array if isinstance(x, chainer.Variable) else x


class GRUCell(chainer.Chain):
    def __init__(self, n_in, n):
        super().__init__()
        self.n = n
        with self.init_scope():
            self.x = L.Linear(n_in, 3 * n)
            self.h = L.Linear(n, 3 * n)

    def __call__(self, x, h):
        xz, xr, xn = F.split_axis(self.x(x), 3, axis=1)
        hz, hr, hn = F.split_axis(self.h(h), 3, axis=1)
        z = F.sigmoid(xz + hz)
        r = F.sigmoid(xr + hr)
        cand = F.tanh(xn + r * hn)
        return z * h + (1.0 - z) * cand


class Agent(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.fc1 = L.Linear(OBS + ACT + N, H)
            self.rnn = GRUCell(H, H)
            self.fc2 = L.Linear(H, ACT)

    def __call__(self, seq):
        b, steps = seq.shape[:2]
        h = chainer.Variable(np.zeros((b * N, H), "f"))
        out = []
        for t in range(steps):
            x = F.relu(self.fc1(F.reshape(seq[:, t], (b * N, seq.shape[3]))))
            h = self.rnn(x, h)
            out.append(F.reshape(self.fc2(h), (b, 1, N, ACT)))
        return F.concat(out, axis=1)


class Mixer(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.w1 = L.Linear(ST, N * EMB)
            self.b1 = L.Linear(ST, EMB)
            self.w2a, self.w2b = L.Linear(ST, 8), L.Linear(8, EMB)
            self.va, self.vb = L.Linear(ST, EMB), L.Linear(EMB, 1)

    def __call__(self, qs, state):
        b, t, n = qs.shape
        s = F.reshape(state, (b * t, ST))
        q = F.reshape(qs, (b * t, 1, n))
        w1 = F.absolute(F.reshape(self.w1(s), (b * t, n, EMB)))
        hidden = F.elu(F.squeeze(F.matmul(q, w1), 1) + self.b1(s))
        w2 = F.absolute(self.w2b(F.relu(self.w2a(s))))
        v = self.vb(F.relu(self.va(s)))
        y = F.sum(hidden * w2, axis=1, keepdims=True) + v
        return F.reshape(y, (b, t))


class QMix(chainer.Chain):
    def __init__(self, gamma=0.93):
        super().__init__()
        self.gamma = gamma
        with self.init_scope():
            self.agent, self.mixer = Agent(), Mixer()
            self.target_agent, self.target_mixer = Agent(), Mixer()

    def __call__(self, obs, state, actions, avail, reward, terminated, filled):
        b = obs.shape[0]
        acts, avail = arr(actions), arr(avail)
        onehot = np.eye(ACT, dtype="f")[acts]
        last = np.concatenate([np.zeros((b, 1, N, ACT), "f"), onehot], axis=1)
        ids = np.broadcast_to(np.eye(N, dtype="f"), (b, T + 1, N, N))
        seq = F.concat([obs, last, ids], axis=3)
        q, tq = self.agent(seq), self.target_agent(seq)
        bi, ti, ni = np.ogrid[:b, :T, :N]
        chosen = q[bi, ti, ni, acts]
        greedy = np.where(avail, q.array, -np.inf)[:, 1:].argmax(axis=3)
        next_q = tq[bi, ti + 1, ni, greedy]
        q_tot = self.mixer(chosen, state[:, :-1])
        t_tot = self.target_mixer(next_q, state[:, 1:])
        target = reward + self.gamma * (1.0 - terminated) * t_tot
        mask = arr(filled).copy()
        mask[:, 1:] *= 1.0 - arr(terminated)[:, :-1]
        td = (q_tot - target) * mask
        loss = F.sum(F.square(td)) / mask.sum()
        return {"q": q, "q_tot": q_tot, "target": target, "loss": loss}


def make():
    return QMix()


def load(port_model, ref_model):
    def lin(link, layer):
        link.W.array[...] = layer.kernel.numpy().T
        link.b.array[...] = layer.bias.numpy()

    def agent(dst, src):
        lin(dst.fc1, src.fc1)
        lin(dst.fc2, src.fc2)
        kernel, rec, bias = [w.numpy() for w in src.rnn.weights]
        dst.rnn.x.W.array[...] = kernel.T
        dst.rnn.h.W.array[...] = rec.T
        dst.rnn.x.b.array[...] = bias[0]
        dst.rnn.h.b.array[...] = bias[1]

    def mixer(dst, src):
        lin(dst.w1, src.hyper_w1)
        lin(dst.b1, src.hyper_b1)
        lin(dst.w2a, src.hyper_w2.layers[0])
        lin(dst.w2b, src.hyper_w2.layers[1])
        lin(dst.va, src.v.layers[0])
        lin(dst.vb, src.v.layers[1])

    agent(port_model.agent, ref_model.agent)
    agent(port_model.target_agent, ref_model.target_agent)
    mixer(port_model.mixer, ref_model.mixer)
    mixer(port_model.target_mixer, ref_model.target_mixer)
