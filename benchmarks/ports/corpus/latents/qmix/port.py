"""QMIX in NumPy."""
import numpy as np

FRAMEWORK = "numpy"
N, O, A, H, E, SD = 3, 6, 4, 20, 8, 9


def numpy_qmix(p):
    def dense(name, x):
        return x @ p[name + ".weight"].T + p[name + ".bias"]

    def sigmoid(x):
        return 1 / (1 + np.exp(-x))

    def gru(x, h):
        gi = x @ p["rnn.weight_ih"].T + p["rnn.bias_ih"]
        ir, iz, inn = np.split(gi, 3, axis=-1)
        gh = h @ p["rnn.weight_hh"].T + p["rnn.bias_hh"]
        hr, hz, hn = np.split(gh, 3, axis=-1)
        r, z = sigmoid(ir + hr), sigmoid(iz + hz)
        n = np.tanh(inn + r * hn)
        return (1 - z) * n + z * h

    def elu(x):
        return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))

    def forward(obs, avail, state):
        B, T = obs.shape[:2]
        ids = np.broadcast_to(np.eye(N, dtype=obs.dtype), (B, N, N))
        h = np.zeros((B * N, H), obs.dtype)
        out, chosen = [], []
        for t in range(T):
            x = np.concatenate([obs[:, t], ids], axis=-1).reshape(B * N, -1)
            h = gru(np.maximum(dense("fc1", x), 0), h)
            q = dense("fc2", h).reshape(B, N, A)
            q = np.where(avail[:, t] == 0, np.float32(-1e10), q)
            best = q.max(-1)
            s = state[:, t]
            w1 = np.abs(dense("w1", s))
            w1 = w1.reshape(B, N, E)
            pre = np.einsum("bn,bne->be", best, w1) + dense("b1", s)
            hidden = elu(pre)
            w2 = np.abs(dense("w2", s))
            v = np.maximum(dense("v1", s), 0)
            v = dense("v2", v)
            out.append((hidden * w2).sum(-1) + v[:, 0])
            chosen.append(best)
        return {"q_tot": np.stack(out, 1), "best": np.stack(chosen, 1)}

    forward.params = p
    return forward


def make():
    return numpy_qmix({})


def load(net, ref):
    net.params.update({k: v.detach().numpy().copy() for k, v in ref.named_parameters()})
