"""USFA in Chainer, for the old actor fleet. Policies run one after another, the GRU is written out."""
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"


class Psi(chainer.Chain):
    def __init__(self, n_actions, dim):
        super().__init__()
        self.shape = (n_actions, dim)
        with self.init_scope():
            self.l_obs = L.Linear(10, 32)
            self.bn = L.BatchNormalization(32, eps=1e-5)
            self.l_z = L.Linear(dim, 32, nobias=True)
            self.l_mid = L.Linear(32, 32)
            self.l_out = L.Linear(32, n_actions * dim)

    def __call__(self, obs, z):
        gate = F.sigmoid(self.l_z(z))
        h = F.relu(self.bn(self.l_obs(obs))) * gate
        h = F.softplus(self.l_mid(h))
        return F.reshape(self.l_out(h), (-1,) + self.shape)


class Usfa(chainer.Chain):
    def __init__(self, n_policies=3, n_actions=4, dim=8, goal=3, obs=10, units=12):
        super().__init__()
        self.n, self.units = n_policies, units
        with self.init_scope():
            self.psi = Psi(n_actions, dim)
            self.phi1 = L.Linear(2 * obs, 24)
            self.phi2 = L.Linear(24, dim)
            self.task = L.Linear(goal, dim)
            self.tasks = chainer.Parameter(chainer.initializers.Normal(1), (n_policies, dim))
            self.wx = L.Linear(obs, 3 * units)
            self.wh = L.Linear(units, 3 * units)
            self.context = L.Linear(units, dim)

    def encode(self, history):
        batch, steps, _ = history.shape
        h = chainer.Variable(np.zeros((batch, self.units), dtype=history.dtype))
        for t in range(steps):
            xr, xz, xn = F.split_axis(self.wx(history[:, t]), 3, axis=1)
            hr, hz, hn = F.split_axis(self.wh(h), 3, axis=1)
            r, z = F.sigmoid(xr + hr), F.sigmoid(xz + hz)
            h = F.linear_interpolate(z, h, F.tanh(xn + r * hn))
        return h

    def all_psi(self, obs, w):
        batch = obs.shape[0]
        zs = [F.broadcast_to(self.tasks[k][None], w.shape) for k in range(self.n)] + [w]
        return F.stack([self.psi(obs, z) for z in zs], axis=1)

    @staticmethod
    def q(psi, w):
        w = F.broadcast_to(F.reshape(w, (w.shape[0], 1, 1, -1)), psi.shape)
        return F.sum(psi * w, axis=3)

    def __call__(self, obs, next_obs, achieved, desired, history):
        w = F.normalize(self.task(desired), eps=1e-12, axis=1)
        w = w + 0.1 * F.tanh(self.context(self.encode(history)))
        q = self.q(self.all_psi(obs, w), w)
        gpi = F.max(q, axis=1)
        phi = F.tanh(self.phi2(F.elu(self.phi1(F.concat([obs, next_obs - obs], axis=1)))))
        distance = F.sqrt(F.sum(F.square(achieved - desired), axis=1))
        failed = (distance.array > 1.5).astype(distance.dtype)
        reward = F.sum(phi * w, axis=1) - failed
        next_psi = self.all_psi(next_obs, w)
        best = F.argmax(F.max(self.q(next_psi, w), axis=1), axis=1)
        onehot = np.eye(4, dtype=distance.dtype)[best.array]
        chosen = F.sum(next_psi[:, self.n] * F.broadcast_to(onehot[:, :, None], next_psi[:, self.n].shape), axis=1)
        target = phi + 0.95 * F.broadcast_to(failed[:, None], chosen.shape) * chosen
        soft = 0.5 * F.logsumexp(q / 0.5, axis=(1, 2))
        return gpi, reward, target, soft


def make():
    np.random.seed(3)
    return Usfa()


def load(port, ref):
    n = lambda t: t.detach().numpy().copy()

    def lin(mine, theirs):
        mine.W.array[...] = n(theirs.weight)
        if theirs.bias is not None:
            mine.b.array[...] = n(theirs.bias)

    s = ref.successor
    for mine, theirs in ((port.psi.l_obs, s.obs_in), (port.psi.l_z, s.policy_in), (port.psi.l_mid, s.mid),
                         (port.psi.l_out, s.psi), (port.phi1, ref.phi1), (port.phi2, ref.phi2),
                         (port.task, ref.task), (port.context, ref.context)):
        lin(mine, theirs)
    port.tasks.array[...] = n(ref.tasks)
    bn = port.psi.bn
    bn.gamma.array[...], bn.beta.array[...] = n(s.bn.weight), n(s.bn.bias)
    bn.avg_mean[...], bn.avg_var[...] = n(s.bn.running_mean), n(s.bn.running_var)
    g = ref.gru
    port.wx.W.array[...], port.wx.b.array[...] = n(g.weight_ih_l0), n(g.bias_ih_l0)
    port.wh.W.array[...], port.wh.b.array[...] = n(g.weight_hh_l0), n(g.bias_hh_l0)
