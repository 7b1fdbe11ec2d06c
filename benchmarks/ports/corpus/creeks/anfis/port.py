"""Keras port of the ANFIS cart-pole controller."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
D, R, T = 4, 5, 4
GRAVITY, M_CART, M_POLE, LENGTH, FORCE, DT = 9.8, 1.0, 0.3, 0.5, 6.0, 0.1
TOTAL, POLE_ML = M_CART + M_POLE, M_POLE * LENGTH


class Bells(layers.Layer):
    def build(self, shape):
        self.a = self.add_weight(shape=(R, D), name="a")
        self.b = self.add_weight(shape=(R, D), name="b")
        self.c = self.add_weight(shape=(R, D), name="c")

    def call(self, x):
        z = ops.abs((x[:, None, :] - self.c) / self.a) + 1e-6
        return 1.0 / (1.0 + ops.power(z, 2.0 * self.b))


class Consequent(layers.Layer):
    def build(self, shape):
        self.p = self.add_weight(shape=(R, D), name="p")
        self.r = self.add_weight(shape=(R,), name="r")

    def call(self, x, strength):
        rules = ops.einsum("bd,rd->br", x, self.p) + self.r
        return ops.sum(rules * strength, axis=1, keepdims=True)


class Anfis(keras.Model):
    def __init__(self):
        super().__init__()
        self.bells = Bells()
        self.cons = Consequent()
        self.log_q = self.add_weight(shape=(D,), initializer="zeros", name="log_q")

    def policy(self, err):
        w = ops.prod(self.bells(err), axis=-1)
        w = w / (ops.sum(w, axis=-1, keepdims=True) + 1e-8)
        return FORCE * ops.tanh(self.cons(err, w)), w

    def plant(self, s, u):
        x, dx, th, dth = [s[:, i:i + 1] for i in range(4)]
        cos, sin = ops.cos(th), ops.sin(th)
        temp = (u + POLE_ML * ops.square(dth) * sin) / TOTAL
        ddth = (GRAVITY * sin - cos * temp) / (LENGTH * (4.0 / 3.0 - M_POLE * ops.square(cos) / TOTAL))
        ddx = temp - POLE_ML * ddth * cos / TOTAL
        dx = dx + DT * ddx
        dth = dth + DT * ddth
        x = x + DT * dx
        th = th + DT * dth
        return ops.concatenate([x, dx, th, dth], axis=1)

    def call(self, s, goals):
        q = ops.exp(self.log_q)
        states, actions, costs = [], [], []
        for t in range(T):
            goal = goals[:, t]
            err = s - goal
            u, w = self.policy(err)
            s = self.plant(s, u)
            states.append(s)
            actions.append(u)
            d = s - goal
            costs.append(ops.sum(q * ops.square(d), axis=1, keepdims=True) + 0.01 * ops.square(u))
        cost = sum(costs)
        return ops.stack(states, axis=1), ops.concatenate(actions, axis=1), w, cost


def make():
    m = Anfis()
    m(*inputs(0))
    r = np.random.RandomState(91)
    for w in m.weights:
        a = r.randn(*w.shape)
        if w.name == "a":
            a = 1.0 + np.abs(a)
        elif w.name == "b":
            a = 0.8 + 0.3 * np.abs(a)
        elif w.name != "c":
            a = 0.5 * a
        w.assign(a.astype("float32"))
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    return (0.7 * r.randn(5, D)).astype("float32"), (0.4 * r.randn(5, T, D)).astype("float32")


def load(ported, original):
    for n in "abc":
        getattr(ported.bells, n).assign(getattr(original.bells, n).array)
    ported.cons.p.assign(original.cons.p.array)
    ported.cons.r.assign(original.cons.r.array)
    ported.log_q.assign(original.log_q.array)
