"""IQL's losses in Keras 3."""
import math
import numpy as np
import keras
from keras import ops

FRAMEWORK = "tensorflow"
S, A, H = 11, 3, 32


class KerasIQL(keras.Model):
    def __init__(self, tau=0.8, beta=3.0):
        super().__init__()
        self.beta = beta
        self.tau = tau
        L = keras.layers

        def mlp(o):
            return keras.Sequential([L.Dense(H, "relu"), L.Dense(H, "relu"), L.Dense(o)])

        self.q1, self.q2, self.mean = mlp(1), mlp(1), mlp(A)
        self.v0, self.vn, self.v1 = L.Dense(H), L.LayerNormalization(epsilon=1e-5), L.Dense(1)
        self.log_std = self.add_weight(shape=(A,), name="log_std")

    def value(self, s):
        v = self.v1(ops.relu(self.vn(self.v0(s))))
        return ops.squeeze(v, -1)

    def call(self, s, a, r, done, s2):
        sa = ops.concatenate([s, a], 1)
        q1, q2 = ops.squeeze(self.q1(sa), -1), ops.squeeze(self.q2(sa), -1)
        q = ops.minimum(q1, q2)
        v = self.value(s)
        u = q - v
        w = ops.abs(self.tau - ops.cast(u < 0, "float32"))
        v_loss = w * ops.square(u)
        target = r + (1.0 - done) * 0.99 * self.value(s2)
        q_loss = 0.5 * (ops.square(q1 - target) + ops.square(q2 - target))
        weight = ops.minimum(ops.exp(self.beta * u), 100.0)
        mean = ops.tanh(self.mean(s))
        log_std = ops.clip(self.log_std, -20.0, 2.0)
        z = (a - mean) * ops.exp(-log_std)
        ll = -0.5 * ops.square(z) - log_std - 0.5 * math.log(2 * math.pi)
        ll = ops.sum(ll, -1)
        return {"v": v, "v_loss": v_loss, "q_loss": q_loss, "pi_loss": -(weight * ll), "mean": mean}


def make():
    net = KerasIQL()
    z = lambda *s: np.zeros(s, "float32")
    net(z(1, S), z(1, A), z(1), z(1), z(1, S))
    return net


def load(net, ref):
    n = lambda t: t.detach().numpy()
    for nm in ("q1", "q2", "mean"):
        for d, s in zip(getattr(net, nm).layers, (0, 2, 4)):
            t = getattr(ref, nm)[s]
            d.set_weights([n(t.weight).T, n(t.bias)])
    net.v0.set_weights([n(ref.v[0].weight).T, n(ref.v[0].bias)])
    net.vn.set_weights([n(ref.v[1].weight), n(ref.v[1].bias)])
    net.v1.set_weights([n(ref.v[3].weight).T, n(ref.v[3].bias)])
    net.log_std.assign(n(ref.log_std))
