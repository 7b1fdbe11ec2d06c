"""ANFIS (Takagi-Sugeno, generalised bells) controller rolled out on a cart-pole."""
import numpy as np
import parity  # noqa: F401  (lets chainer load)
import chainer
import chainer.functions as F

FRAMEWORK = "chainer"
D, R, T = 4, 5, 4
GRAVITY, M_CART, M_POLE, LENGTH, FORCE, DT = 9.8, 1.0, 0.3, 0.5, 6.0, 0.1


class Bells(chainer.Link):
    def __init__(self, rng):
        super().__init__()
        with self.init_scope():
            self.a = chainer.Parameter((1.0 + rng.rand(R, D)).astype("float32"))
            self.b = chainer.Parameter((0.8 + 0.6 * rng.rand(R, D)).astype("float32"))
            self.c = chainer.Parameter(rng.randn(R, D).astype("float32"))

    def forward(self, x):
        shape = (x.shape[0], R, D)
        x = F.broadcast_to(F.expand_dims(x, 1), shape)
        z = F.absolute((x - F.broadcast_to(self.c, shape)) / F.broadcast_to(self.a, shape)) + 1e-6
        return 1.0 / (1.0 + z ** F.broadcast_to(2.0 * self.b, shape))


class Consequent(chainer.Link):
    def __init__(self, rng):
        super().__init__()
        with self.init_scope():
            self.p = chainer.Parameter((0.6 * rng.randn(R, D)).astype("float32"))
            self.r = chainer.Parameter((0.4 * rng.randn(R)).astype("float32"))

    def forward(self, x, strength):
        rules = F.matmul(x, self.p, transb=True)
        rules = rules + F.broadcast_to(self.r, rules.shape)
        return F.sum(rules * strength, axis=1, keepdims=True)


class Anfis(chainer.Chain):
    def __init__(self, seed=81):
        super().__init__()
        rng = np.random.RandomState(seed)
        with self.init_scope():
            self.bells = Bells(rng)
            self.cons = Consequent(rng)
            self.log_q = chainer.Parameter((0.3 * rng.randn(D)).astype("float32"))

    def policy(self, err):
        mu = self.bells(err)
        w = F.prod(mu, axis=2)
        w = w / F.broadcast_to(F.sum(w, axis=1, keepdims=True) + 1e-8, w.shape)
        return FORCE * F.tanh(self.cons(err, w)), w

    def plant(self, s, u):
        x, dx, th, dth = F.split_axis(s, 4, axis=1)
        cos, sin = F.cos(th), F.sin(th)
        total = M_CART + M_POLE
        temp = (u + M_POLE * LENGTH * dth ** 2 * sin) / total
        ddth = (GRAVITY * sin - cos * temp) / (LENGTH * (4.0 / 3.0 - M_POLE * cos ** 2 / total))
        ddx = temp - M_POLE * LENGTH * ddth * cos / total
        dx = dx + DT * ddx
        x = x + DT * dx
        dth = dth + DT * ddth
        th = th + DT * dth
        return F.concat([x, dx, th, dth], axis=1)

    def forward(self, s, goals):
        q = F.exp(self.log_q)
        states, actions, cost = [], [], 0.0
        for t in range(T):
            err = s - goals[:, t]
            u, w = self.policy(err)
            s = self.plant(s, u)
            states.append(s)
            actions.append(u)
            d = s - goals[:, t]
            cost = cost + F.sum(F.broadcast_to(q, d.shape) * d ** 2, axis=1, keepdims=True) + 0.01 * u ** 2
        return F.stack(states, axis=1), F.concat(actions, axis=1), w, cost


def make():
    return Anfis()


def inputs(seed):
    r = np.random.RandomState(seed)
    return (0.7 * r.randn(5, D)).astype("float32"), (0.4 * r.randn(5, T, D)).astype("float32")
