"""Keras 3 port of the PointNet pose regressor: channels last, Dense as the shared MLP, vector form of the rotation."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"


class SharedMLP(layers.Layer):
    def __init__(self, units, activation="relu", **kw):
        super().__init__(**kw)
        self.dense = layers.Dense(units)
        self.bn = layers.BatchNormalization(epsilon=1e-5)
        self.act = keras.activations.get(activation)

    def call(self, x):
        return self.act(self.bn(self.dense(x), training=False))


def pool(x, mask):
    return ops.max(ops.where(mask[..., None] > 0, x, -1e9), axis=1)


def cross(a, b):
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    return ops.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-1)


def rotate(q, v):
    """v' = v + 2 w (u x v) + 2 u x (u x v), q = (w, u)."""
    w, u = q[:, None, :1], q[:, None, 1:]
    u = ops.broadcast_to(u, ops.shape(v))
    t = 2.0 * cross(u, v)
    return v + w * t + cross(u, t)


class PointNetPose(keras.Model):
    def __init__(self):
        super().__init__()
        self.t1, self.t2 = SharedMLP(16), SharedMLP(32)
        self.t_fc = layers.Dense(9)
        self.m1, self.m2 = SharedMLP(16), SharedMLP(32)
        self.m3 = SharedMLP(32, activation="linear")
        self.seg1 = SharedMLP(24)
        self.seg2 = layers.Dense(1)
        self.h1 = layers.Dense(24)
        self.h_rot = layers.Dense(4)
        self.h_trans = layers.Dense(3)

    def call(self, pts, mask):
        n = pts.shape[1]
        tmat = ops.reshape(self.t_fc(pool(self.t2(self.t1(pts)), mask)), (-1, 3, 3)) + ops.eye(3)
        aligned = ops.einsum("bnc,bcd->bnd", pts, tmat)
        local = self.m1(aligned)
        glob = pool(self.m3(self.m2(local)), mask)
        tiled = ops.repeat(glob[:, None, :], n, axis=1)
        seg = self.seg2(self.seg1(ops.concatenate([local, tiled], axis=-1)))[..., 0]
        seg = seg - 1e9 * (1.0 - mask)
        e = ops.exp(seg - ops.max(seg, axis=-1, keepdims=True))
        weights = e / ops.sum(e, axis=-1, keepdims=True)
        h = ops.leaky_relu(self.h1(glob), negative_slope=0.2)
        quat = self.h_rot(h) + ops.convert_to_tensor([[1.0, 0.0, 0.0, 0.0]])
        quat = quat / ops.sqrt(ops.sum(ops.square(quat), axis=-1, keepdims=True))
        trans = self.h_trans(h)
        moved = rotate(quat, pts) + trans[:, None, :]
        centre = ops.einsum("bn,bnc->bc", weights, moved)
        return {"quat": quat, "trans": trans, "weights": weights, "moved": moved, "centre": centre}


def make():
    keras.utils.set_random_seed(4)
    net = PointNetPose()
    net(np.zeros((2, 12, 3), np.float32), np.ones((2, 12), np.float32))
    return net


def load(model, reference):
    def arr(t):
        return t.detach().numpy()

    def shared(dst, src):
        conv, bn = src
        dst.dense.set_weights([arr(conv.weight)[:, :, 0].T, arr(conv.bias)])
        dst.bn.set_weights([arr(bn.weight), arr(bn.bias), arr(bn.running_mean), arr(bn.running_var)])

    shared(model.t1, reference.tnet.c1)
    shared(model.t2, reference.tnet.c2)
    for name in ("m1", "m2", "m3", "seg1"):
        shared(getattr(model, name), getattr(reference, name))
    model.t_fc.set_weights([arr(reference.tnet.fc.weight).T, arr(reference.tnet.fc.bias)])
    model.seg2.set_weights([arr(reference.seg2.weight)[:, :, 0].T, arr(reference.seg2.bias)])
    model.h1.set_weights([arr(reference.head[0].weight).T, arr(reference.head[0].bias)])
    W, b = arr(reference.head[2].weight), arr(reference.head[2].bias)
    model.h_rot.set_weights([W[:4].T, b[:4]])
    model.h_trans.set_weights([W[4:].T, b[4:]])
