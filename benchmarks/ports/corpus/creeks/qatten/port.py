"""TensorFlow port of Qatten: plain functions over dictionaries of tf.Variable."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
B, T, N, OBS, ACT, STATE, HID, EMB, HEADS = 4, 3, 3, 5, 4, 7, 8, 6, 2
GAMMA, LAM = 0.95, 0.7


def init(rng, *shape):
    scale = 1.2 / np.sqrt(shape[0]) if len(shape) > 1 else 0.3
    return tf.Variable((scale * rng.randn(*shape)).astype("float32"))


def dense(x, p):
    y = tf.tensordot(x, p["w"], axes=1)
    return y + p["b"] if "b" in p else y


def mlp(x, p1, p2):
    return dense(tf.nn.relu(dense(x, p1)), p2)


def gru(x, h, p):
    xr, xz, xn = tf.split(x @ p["wi"] + p["bi"], 3, axis=-1)
    hr, hz, hn = tf.split(h @ p["wh"] + p["bh"], 3, axis=-1)
    r = tf.sigmoid(xr + hr)
    z = tf.sigmoid(xz + hz)
    n = tf.tanh(xn + r * hn)
    return (1 - z) * n + z * h


def mix(q, state, unit, p):
    heads, regs = [], []
    for i in range(HEADS):
        s = mlp(state, p["sel1_%d" % i], p["sel2_%d" % i])
        k = dense(unit, p["key_%d" % i])
        logits = tf.einsum("bte,btne->btn", s, k)
        w = tf.nn.softmax(logits / np.sqrt(EMB).astype("float32"))
        heads.append(tf.reduce_sum(w * q, axis=-1))
        regs.append(tf.reduce_mean(tf.square(logits), axis=-1))
    heads = tf.stack(heads, axis=-1)
    w_head = tf.abs(mlp(state, p["hyp1"], p["hyp2"]))
    v = mlp(state, p["v1"], p["v2"])[..., 0]
    return tf.reduce_sum(w_head * heads, axis=-1) + v, 1e-2 * tf.add_n(regs)


class Qatten(tf.Module):
    def __init__(self, seed=47):
        super().__init__()
        r = np.random.RandomState(seed)
        lin = lambda i, o, bias=True: dict(w=init(r, i, o), **({"b": init(r, o)} if bias else {}))
        self.agent = {"fc1": lin(OBS + ACT + N, HID), "fc2": lin(HID, ACT),
                      "gru": {"wi": init(r, HID, 3 * HID), "wh": init(r, HID, 3 * HID),
                              "bi": init(r, 3 * HID), "bh": init(r, 3 * HID)}}
        self.mixer = {"hyp1": lin(STATE, 8), "hyp2": lin(8, HEADS), "v1": lin(STATE, 8), "v2": lin(8, 1)}
        for i in range(HEADS):
            self.mixer["sel1_%d" % i] = lin(STATE, 10)
            self.mixer["sel2_%d" % i] = lin(10, EMB, False)
            self.mixer["key_%d" % i] = lin(OBS, EMB, False)

    def unroll(self, obs, onehot):
        b = obs.shape[0]
        ids = tf.tile(tf.eye(N)[None, None], [b, T, 1, 1])
        last = tf.concat([tf.zeros_like(onehot[:, :1]), onehot[:, :-1]], axis=1)
        x = tf.concat([obs, last, ids], axis=-1)
        h = tf.zeros([b * N, HID])
        qs = []
        for t in range(T):
            e = tf.nn.relu(dense(tf.reshape(x[:, t], [b * N, -1]), self.agent["fc1"]))
            h = gru(e, h, self.agent["gru"])
            qs.append(tf.reshape(dense(h, self.agent["fc2"]), [b, N, ACT]))
        return tf.stack(qs, axis=1)

    def __call__(self, obs, actions, avail, state, reward):
        onehot = tf.one_hot(actions, ACT)
        q = self.unroll(obs, onehot)
        chosen = tf.reduce_sum(q * onehot, axis=-1)
        best = tf.reduce_max(tf.where(tf.equal(avail, 0), -9999.0, q), axis=-1)
        q_tot, reg = mix(chosen, state, obs, self.mixer)
        target, _ = mix(best, state, obs, self.mixer)
        rets = [target[:, -1]]
        for t in reversed(range(T - 1)):
            boot = LAM * rets[0] + (1 - LAM) * target[:, t + 1]
            rets.insert(0, reward[:, t] + GAMMA * boot)
        return q_tot, tf.stack(rets, axis=1), reg


def make():
    return Qatten()


def inputs(seed):
    r = np.random.RandomState(seed)
    f = lambda *s: r.randn(*s).astype("float32")
    actions = r.randint(0, ACT, (B, T, N)).astype("int64")
    avail = (r.rand(B, T, N, ACT) < 0.6).astype("int64")
    avail[..., 0] = 1
    return f(B, T, N, OBS), actions, avail, f(B, T, STATE), f(B, T)


def load(ported, original):
    n = lambda t: t.detach().numpy()

    def lin(p, m):
        p["w"].assign(n(m.weight).T)
        if "b" in p:
            p["b"].assign(n(m.bias))
    a, m = original.agent, original.mixer
    lin(ported.agent["fc1"], a.fc1)
    lin(ported.agent["fc2"], a.fc2)
    g = ported.agent["gru"]
    g["wi"].assign(n(a.rnn.weight_ih).T)
    g["wh"].assign(n(a.rnn.weight_hh).T)
    g["bi"].assign(n(a.rnn.bias_ih))
    g["bh"].assign(n(a.rnn.bias_hh))
    lin(ported.mixer["hyp1"], m.hyper_w[0])
    lin(ported.mixer["hyp2"], m.hyper_w[2])
    lin(ported.mixer["v1"], m.v[0])
    lin(ported.mixer["v2"], m.v[2])
    for i in range(HEADS):
        lin(ported.mixer["sel1_%d" % i], m.selectors[i][0])
        lin(ported.mixer["sel2_%d" % i], m.selectors[i][2])
        lin(ported.mixer["key_%d" % i], m.keys[i])
