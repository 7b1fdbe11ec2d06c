"""USFA + GPI in Chainer."""
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"


class TwoLayer(chainer.Chain):
    def __init__(self, n_in, n_hidden, n_out, final_elu=False):
        super().__init__()
        self.final_elu = final_elu
        with self.init_scope():
            self.l1 = L.Linear(n_in, n_hidden)
            self.l2 = L.Linear(n_hidden, n_out)

    def forward(self, x):
        y = self.l2(F.elu(self.l1(x)))
        return F.elu(y) if self.final_elu else y


class SuccessorFeatureAgent(chainer.Chain):
    n_actions, dim, gamma, spread = 6, 4, 0.95, 0.3

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed = L.Linear(14, 40)
            self.ln = L.LayerNormalization(40, eps=1e-5)
            self.state = TwoLayer(40, 40, 32, final_elu=True)
            self.goal = TwoLayer(4, 24, 32, final_elu=True)
            self.head = TwoLayer(64, 48, self.n_actions * self.dim)
            self.phi = TwoLayer(86, 32, 4)

    def observe(self, x):
        return F.tanh(self.ln(self.embed(x)))

    def successor(self, feat, z):
        b, n, d = z.shape
        s = F.repeat(self.state(feat), n, axis=0)
        g = self.goal(F.reshape(z, (b * n, d)))
        y = self.head(F.concat((s, g), axis=1))
        return F.reshape(y, (b, n, self.n_actions, self.dim))

    def forward(self, obs, action, next_obs, w, noise):
        b, n = len(obs), noise.shape[1] + 1
        z = np.concatenate((w[:, None], w[:, None] + self.spread * noise), axis=1)
        x, x_next = self.observe(obs), self.observe(next_obs)
        sf, sf_next = self.successor(x, z), self.successor(x_next, z)

        w_full = np.broadcast_to(w[:, None, None], sf.shape)
        q = F.sum(sf * w_full, axis=3)
        gpi = F.max(q, axis=1)

        z_full = np.broadcast_to(z[:, :, None], sf.shape)
        own = F.sum(sf_next * z_full, axis=3)
        greedy = np.eye(self.n_actions, dtype=np.float32)[own.array.argmax(axis=2)]
        boot = F.sum(sf_next * np.broadcast_to(greedy[..., None], sf.shape), axis=2)

        chosen = np.eye(self.n_actions, dtype=np.float32)[action]
        phi = self.phi(F.concat((x, chosen, x_next), axis=1))
        target = F.broadcast_to(phi[:, None], boot.shape) + self.gamma * boot
        taken = F.sum(sf * np.broadcast_to(chosen[:, None, :, None], sf.shape), axis=2)
        error = F.mean((target - taken) ** 2, axis=(1, 2))
        return gpi, phi, target, error


def make():
    model = SuccessorFeatureAgent()
    rng = np.random.RandomState(17)
    for _, p in sorted(model.namedparams()):
        if p.array.ndim == 1:
            p.array += 0.1 * rng.randn(*p.shape).astype(np.float32)
        else:
            p.array[...] = rng.randn(*p.shape) / np.sqrt(p.shape[1])
    return model


def load(ported, original):
    def lin(link, mod):
        link.W.array[...] = mod.weight.detach().numpy()
        link.b.array[...] = mod.bias.detach().numpy()

    lin(ported.embed, original.inp)
    ported.ln.gamma.array[...] = original.inp_norm.weight.detach().numpy()
    ported.ln.beta.array[...] = original.inp_norm.bias.detach().numpy()
    for mine, theirs in ((ported.state, original.state_net), (ported.goal, original.task_net),
                         (ported.head, original.sf_head), (ported.phi, original.cumulant)):
        lin(mine.l1, theirs[0])
        lin(mine.l2, theirs[2])


def inputs(seed):
    rng = np.random.default_rng(seed)
    obs = rng.normal(size=(6, 14)).astype(np.float32)
    nxt = (0.8 * obs + 0.4 * rng.normal(size=(6, 14))).astype(np.float32)
    action = rng.integers(0, 6, size=6)
    w = rng.normal(size=(6, 4)).astype(np.float32)
    noise = rng.normal(size=(6, 5, 4)).astype(np.float32)
    return obs, action, nxt, w, noise
