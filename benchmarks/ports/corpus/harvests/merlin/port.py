"""MERLIN's predictor and policy in Chainer."""
import parity  # noqa: F401  (makes chainer loadable here)
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"


class MLP2(chainer.Chain):
    def __init__(self, n_in, n_hidden, n_out):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(n_in, n_hidden)
            self.l2 = L.Linear(n_hidden, n_out)

    def forward(self, *xs):
        return self.l2(F.tanh(self.l1(F.concat(xs, axis=1))))


class Merlin(chainer.Chain):
    def __init__(self, obs=15, act=3, z=6, units=24, slots=8, heads=2, decay=0.9):
        super().__init__()
        self.z, self.units, self.slots, self.heads, self.decay = z, units, slots, heads, decay
        self.word = 2 * z
        read = heads * self.word
        with self.init_scope():
            self.encoder = L.Linear(obs, 24)
            self.prior = MLP2(units + read, 24, 2 * z)
            self.posterior = MLP2(24 + units + read + 2 * z, 32, 2 * z)
            self.lstm = L.Linear(z + act + read + units, 4 * units)
            self.ask = L.Linear(units, heads * self.word)
            self.beta = L.Linear(units, heads)
            self.pi = MLP2(z + units + read, 24, act)

    def unit(self, x):
        norm = F.sqrt(F.sum(x * x, axis=2, keepdims=True))
        return x / F.broadcast_to(norm + 1e-6, x.shape)

    def recall(self, memory, h):
        batch = len(h)
        keys = F.reshape(self.ask(h), (batch, self.heads, self.word))
        beta = F.softplus(self.beta(h)) + 1
        similarity = F.matmul(self.unit(keys), self.unit(memory), transb=True)
        focus = F.softmax(F.broadcast_to(F.expand_dims(beta, 2), similarity.shape) * similarity, axis=2)
        found = F.matmul(focus, memory)
        return F.reshape(found, (batch, -1))

    def write(self, memory, where, what):
        outer = F.expand_dims(what, 1) * where[None, :, None]
        return memory + outer

    def forward(self, obs, last_action, memory, noise):
        xp = self.xp
        batch, steps = obs.shape[:2]
        h = c = xp.zeros((batch, self.units), "float32")
        found = xp.zeros((batch, self.heads * self.word), "float32")
        blank = xp.zeros((batch, self.z), "float32")
        slots = xp.eye(self.slots, dtype="float32")
        trace = xp.zeros(self.slots, "float32")
        memory = chainer.as_variable(memory)
        policy, kls = [], []
        for t in range(steps):
            e = F.relu(self.encoder(obs[:, t]))
            prior = self.prior(h, found)
            post = prior + self.posterior(e, h, found, prior)
            p_mean, p_ln = F.split_axis(prior, 2, axis=1)
            q_mean, q_ln = F.split_axis(post, 2, axis=1)
            scaled = (q_mean - p_mean) * F.exp(-p_ln)
            kl = p_ln - q_ln + (F.exp(2 * (q_ln - p_ln)) + scaled ** 2 - 1) / 2
            kls.append(F.sum(kl, axis=1))
            z = q_mean + F.exp(q_ln) * noise[:, t]
            c, h = F.lstm(c, self.lstm(F.concat([z, last_action[:, t], found, h], axis=1)))
            found = self.recall(memory, h)
            policy.append(self.pi(z, h, found))
            trace = self.decay * trace
            if t > 0:
                trace = trace + np.float32(1 - self.decay) * slots[t - 1]
            memory = self.write(memory, slots[t], F.concat([z, blank], axis=1))
            memory = self.write(memory, trace, F.concat([blank, z], axis=1))
        return F.stack(policy, axis=1), F.stack(kls, axis=1), memory, found


def make(seed=31):
    rng = np.random.RandomState(seed)
    net = Merlin()
    for p in net.params():
        p.array[...] = rng.normal(0, 0.2, p.shape)
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    obs = rng.normal(size=(4, 4, 15)).astype("float32")
    last = np.eye(3, dtype="float32")[rng.integers(0, 3, (4, 4))]
    memory = 0.7 * rng.normal(size=(4, 8, 12)).astype("float32")
    return obs, last, memory, rng.normal(size=(4, 4, 6)).astype("float32")


def load(ported, original):
    def put(link, w, b):
        link.W.array[...] = w.T
        link.b.array[...] = b

    n = lambda a: (a.w.numpy(), a.b.numpy())
    put(ported.encoder, *n(original.embed))
    for ours, theirs in ((ported.prior, original.prior_net), (ported.posterior, original.post_net),
                         (ported.pi, original.policy_net)):
        put(ours.l1, *n(theirs[0]))
        put(ours.l2, *n(theirs[1]))
    w, b = n(original.interface)
    put(ported.ask, w[:, :24], b[:24])
    put(ported.beta, w[:, 24:], b[24:])
    # F.lstm takes its gates a, i, f, o interleaved; the original has i, g, f, o in blocks
    w, b = n(original.core.gates)
    units = ported.units
    order = np.array([units, 0, 2 * units, 3 * units])[None] + np.arange(units)[:, None]
    b = b.copy()
    b[2 * units:3 * units] += 1.0
    put(ported.lstm, w[:, order.ravel()], b[order.ravel()])
