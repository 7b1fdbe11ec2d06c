"""Quadrotor agent in Chainer: rotation matrices instead of the vector form."""
import numpy as np
import parity  # noqa: F401
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
STEPS, DT, MASS, GRAVITY = 2, 0.05, 0.8, 9.81
ARM, KAPPA = 0.17, 0.016
CUTS = [3, 6, 10]
d = ARM / np.sqrt(2.0)
MIXER = np.array([[1, 1, 1, 1], [d, -d, -d, d], [-d, d, -d, d], [KAPPA, KAPPA, -KAPPA, -KAPPA]], "f")
UP = np.array([0, 0, 1], "f")


def col(x):
    return x[:, None]


def cross(a, b):
    a1, a2, a3 = a[:, 0], a[:, 1], a[:, 2]
    b1, b2, b3 = b[:, 0], b[:, 1], b[:, 2]
    return F.stack([a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, a1 * b2 - a2 * b1], axis=1)


def rotation(q):
    """[B, 4] (w, x, y, z) -> [B, 3, 3], not assuming a unit quaternion."""
    w, x, y, z = [q[:, i] for i in range(4)]
    one = np.ones(q.shape[0], "f")
    rows = [one - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
            2 * (x * y + w * z), one - 2 * (x * x + z * z), 2 * (y * z - w * x),
            2 * (x * z - w * y), 2 * (y * z + w * x), one - 2 * (x * x + y * y)]
    return F.reshape(F.stack(rows, axis=1), (-1, 3, 3))


def apply(R, v, transpose=False):
    return F.matmul(R, v[:, :, None], transa=transpose)[:, :, 0]


def omega(q, w):
    """Quaternion product q * (0, w)."""
    qw, x, y, z = [q[:, i] for i in range(4)]
    a, b, c = w[:, 0], w[:, 1], w[:, 2]
    return F.stack([-x * a - y * b - z * c, qw * a + y * c - z * b, qw * b - x * c + z * a, qw * c + x * b - y * a], axis=1)


class Sim(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.inertia = chainer.Parameter(np.random.uniform(0.01, 0.02, 3).astype("f"))
            self.drag = chainer.Parameter(np.random.uniform(0.1, 0.4, 3).astype("f"))

    def derivative(self, y, thrust, torque):
        p, v, q, w = F.split_axis(y, CUTS, axis=1)
        R = rotation(q)
        J = F.broadcast_to(self.inertia, w.shape)
        lift = F.broadcast_to(thrust, w.shape) * UP / MASS
        drag = F.broadcast_to(self.drag, w.shape) * apply(R, v, transpose=True)
        acc = apply(R, lift - drag) - GRAVITY * UP
        wdot = (torque - cross(w, J * w)) / J
        return F.concat([v, acc, 0.5 * omega(q, w), wdot], axis=1)

    def forward(self, x, rotors):
        wrench = F.matmul(rotors, MIXER, transb=True)
        thrust, torque = wrench[:, :1], 0.1 * wrench[:, 1:]
        k1 = self.derivative(x, thrust, torque)
        k2 = self.derivative(x + 0.5 * DT * k1, thrust, torque)
        k3 = self.derivative(x + 0.5 * DT * k2, thrust, torque)
        k4 = self.derivative(x + DT * k3, thrust, torque)
        x = x + DT / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        pv, q, w = F.split_axis(x, [6, 10], axis=1)
        return F.concat([pv, F.normalize(q, eps=0.0), w], axis=1)


class Agent(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(13, 24)
            self.l2 = L.Linear(24, 16)
            self.rotors = L.Linear(16, 4)
            self.value = L.Linear(16, 1)
            self.sim = Sim()

    def forward(self, state, goal):
        x = chainer.as_variable(state)
        states, costs = [], []
        for i in range(STEPS):
            p, v, q, w = F.split_axis(x, CUTS, axis=1)
            q = F.where(np.broadcast_to(q.array[:, :1] < 0, q.shape), -q, q)
            error = goal[:, i] - p
            h = F.tanh(self.l1(F.concat([error, v, q, w], axis=1)))
            h = self.l2(h)
            h = h * F.sigmoid(h)
            rotors = 2.0 + 1.5 * F.tanh(self.rotors(h))
            x = self.sim(x, rotors)
            tilt = 1.0 - rotation(q)[:, 2, 2]
            cost = F.sum(error ** 2, axis=1) + 0.1 * F.sum(v ** 2, axis=1)
            cost = cost + 0.5 * tilt + 0.01 * F.sum((rotors - 2.0) ** 2, axis=1)
            costs.append(cost + 0.2 * self.value(h)[:, 0])
            states.append(x)
        return F.stack(states, axis=1), F.stack(costs, axis=1)


def make():
    np.random.seed(12)
    m = Agent()
    for name, p in sorted(m.namedparams()):
        if "sim" not in name:
            p.array[...] = np.random.normal(size=p.shape) * 0.3
    return m


def load(ported, original):
    sd = {k: v.detach().numpy() for k, v in original.state_dict().items()}
    for link, n in ((ported.l1, "body.0"), (ported.l2, "body.2"), (ported.rotors, "rotors"), (ported.value, "value")):
        link.W.array[...] = sd[n + ".weight"]
        link.b.array[...] = sd[n + ".bias"]
    ported.sim.inertia.array[...] = sd["sim.inertia"]
    ported.sim.drag.array[...] = sd["sim.drag"]


def inputs(seed):
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(6, 4))
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    s = np.concatenate([rng.normal(size=(6, 6)), q, rng.normal(size=(6, 3)) * 2], -1)
    return s.astype("float32"), rng.normal(size=(6, STEPS, 3)).astype("float32")
