"""LQR layer: an encoder predicts the stage cost, a Riccati sweep with linear terms gives a tracking controller."""
import keras
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
NX, NU, H = 4, 2, 6


class LQRPolicy(keras.Model):
    def __init__(self):
        super().__init__()
        self.h1 = keras.layers.Dense(32, activation="tanh", bias_initializer="random_normal")
        self.h2 = keras.layers.Dense(32, activation="elu", bias_initializer="random_normal")
        self.cost = keras.layers.Dense(2 * NX + NU, bias_initializer=keras.initializers.RandomNormal(stddev=0.4))
        init = lambda: keras.initializers.RandomNormal(stddev=0.35)
        self.A = self.add_weight(name="A", shape=(NX, NX), initializer=init())
        self.B = self.add_weight(name="B", shape=(NX, NU), initializer=init())
        self.c = self.add_weight(name="c", shape=(NX,), initializer=init())

    def call(self, x0, goal, ctx):
        h = self.h2(self.h1(tf.concat([x0, goal, ctx], axis=-1)))
        raw = tf.nn.softplus(self.cost(h))
        q, r, qf = tf.split(raw, [NX, NU, NX], axis=-1)
        r = r + 0.05
        A, B = tf.eye(NX) + 0.5 * self.A, self.B
        Q, R = tf.linalg.diag(q), tf.linalg.diag(r)
        # backward sweep, V(x) = 1/2 x'Vx + v'x
        V, v = tf.linalg.diag(qf), -qf * goal
        Ks, ks = [], []
        for _ in range(H):
            w = tf.linalg.matvec(V, self.c) + v
            Quu = R + tf.transpose(B) @ V @ B
            Qux = tf.transpose(B) @ V @ A
            Qu = tf.linalg.matvec(B, w, transpose_a=True)
            K = -tf.linalg.solve(Quu, Qux)
            k = -tf.linalg.solve(Quu, Qu[..., None])[..., 0]
            v = -q * goal + tf.linalg.matvec(A, w, transpose_a=True) + tf.linalg.matvec(Qux, k, transpose_a=True)
            V = Q + tf.transpose(A) @ V @ A + tf.linalg.matmul(Qux, K, transpose_a=True)
            Ks.insert(0, K)
            ks.insert(0, k)
        # closed loop with actuator limits
        x, J, xs, us = x0, 0.0, [x0], []
        for K, k in zip(Ks, ks):
            u = tf.clip_by_value(tf.linalg.matvec(K, x) + k, -1.0, 1.0)
            J += 0.5 * tf.reduce_sum(q * (x - goal) ** 2, -1) + 0.5 * tf.reduce_sum(r * u ** 2, -1)
            x = tf.linalg.matvec(A, x) + tf.linalg.matvec(B, u) + self.c
            xs.append(x)
            us.append(u)
        J += 0.5 * tf.reduce_sum(qf * (x - goal) ** 2, -1)
        return tf.stack(us, axis=1), tf.stack(xs, axis=1), J


def make():
    keras.utils.set_random_seed(5)
    m = LQRPolicy()
    m(tf.zeros((2, NX)), tf.zeros((2, NX)), tf.zeros((2, 6)))
    return m


def inputs(seed):
    g = np.random.default_rng(100 + seed)
    return (g.normal(0, 0.6, (6, NX)).astype(np.float32), g.normal(0, 0.6, (6, NX)).astype(np.float32),
            g.normal(size=(6, 6)).astype(np.float32))
