"""Keras port of the Backprop-KF. Covariance update in Joseph form, Cholesky for the innovation terms."""
import math

import keras
import numpy as np
import tensorflow as tf
from keras import layers

FRAMEWORK = "tensorflow"


class KalmanLayer(layers.Layer):
    def __init__(self, nx, nz, nu, dt, **kw):
        super().__init__(**kw)
        self.nx, self.nz, self.nu, self.dt = nx, nz, nu, dt

    def build(self, _=None):
        def w(name, *shape):
            return self.add_weight(name=name, shape=shape, initializer="random_normal")
        self.drift = w("drift", self.nx, self.nx)
        self.ctrl = w("ctrl", self.nx, self.nu)
        self.meas = w("meas", self.nz, self.nx)
        self.log_q = w("log_q", self.nx)
        self.mu0 = w("mu0", self.nx)
        self.log_p0 = w("log_p0", self.nx)
        self.built = True

    def call(self, z, r, u, valid):
        bs = tf.shape(z)[0]
        eye = tf.eye(self.nx)
        A = eye + self.dt * self.drift
        C = self.meas
        Q = tf.linalg.diag(tf.exp(self.log_q))
        x = tf.tile(self.mu0[None], [bs, 1])
        P = tf.tile(tf.linalg.diag(tf.exp(self.log_p0))[None], [bs, 1, 1])
        xs, ps, total = [], [], 0.0
        for k in range(z.shape[1]):
            x = tf.einsum("ij,bj->bi", A, x) + self.dt * tf.einsum("ij,bj->bi", self.ctrl, u[:, k])
            P = tf.einsum("ij,bjk,lk->bil", A, P, A) + Q
            R = tf.linalg.diag(r[:, k])
            innov = z[:, k] - tf.einsum("ij,bj->bi", C, x)
            PCt = tf.einsum("bij,kj->bik", P, C)
            chol = tf.linalg.cholesky(tf.einsum("ki,bij->bkj", C, PCt) + R)
            gain = tf.linalg.matrix_transpose(tf.linalg.cholesky_solve(chol, tf.linalg.matrix_transpose(PCt)))
            gain *= valid[:, k, None, None]
            x = x + tf.linalg.matvec(gain, innov)
            ikc = eye - tf.einsum("bik,kj->bij", gain, C)
            P = ikc @ P @ tf.linalg.matrix_transpose(ikc) + gain @ R @ tf.linalg.matrix_transpose(gain)
            white = tf.linalg.triangular_solve(chol, innov[..., None])[..., 0]
            logdet = 2.0 * tf.reduce_sum(tf.math.log(tf.linalg.diag_part(chol)), -1)
            step = 0.5 * (tf.reduce_sum(white ** 2, -1) + logdet + self.nz * math.log(2 * math.pi))
            total += step * valid[:, k]
            xs.append(x)
            ps.append(tf.linalg.diag_part(P))
        n_valid = tf.maximum(tf.reduce_sum(valid, axis=1), 1.0)
        return {"mean": tf.stack(xs, 1), "var": tf.stack(ps, 1), "nll": total / n_valid}


class BackpropKF(keras.Model):
    def __init__(self, hidden=32, nx=4, nz=3, nu=2, dt=0.1):
        super().__init__()
        self.fc1 = layers.Dense(hidden)
        self.norm = layers.LayerNormalization(epsilon=1e-5)
        self.fc2 = layers.Dense(hidden, activation="tanh")
        self.z_head = layers.Dense(nz)
        self.r_head = layers.Dense(nz, activation="softplus")
        self.kf = KalmanLayer(nx, nz, nu, dt)

    def call(self, obs, u, valid):
        h = tf.nn.relu(self.norm(self.fc1(obs)))
        h = h + self.fc2(h)
        return self.kf(self.z_head(h), self.r_head(h) + 1e-2, u, valid)


def make():
    keras.utils.set_random_seed(11)
    model = BackpropKF()
    model(tf.zeros((2, 3, 8)), tf.zeros((2, 3, 2)), tf.ones((2, 3)))
    return model


def load(model, reference):
    sd = {k: v.detach().numpy() for k, v in reference.state_dict().items()}
    for layer, name in [(model.fc1, "fc1"), (model.fc2, "fc2"), (model.z_head, "z"), (model.r_head, "r")]:
        layer.set_weights([sd[f"sensor.{name}.weight"].T, sd[f"sensor.{name}.bias"]])
    model.norm.set_weights([sd["sensor.norm.weight"], sd["sensor.norm.bias"]])
    kf = model.kf
    for var, name in [(kf.drift, "F_"), (kf.ctrl, "B"), (kf.meas, "H"),
                      (kf.log_q, "log_q"), (kf.mu0, "mu0"), (kf.log_p0, "log_p0")]:
        var.assign(sd[name])
