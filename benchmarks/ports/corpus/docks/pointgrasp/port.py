"""The grasp critic in Keras: the functional API, points last as they come."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "keras"
POINTS, FEAT = 14, 12


def cross(a, b):
    a1, a2, a3 = ops.split(a, 3, axis=-1)
    b1, b2, b3 = ops.split(b, 3, axis=-1)
    return ops.concatenate([a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, a1 * b2 - a2 * b1], axis=-1)


def rotate(quat, v):
    xyz, w = quat[:, None, :3], quat[:, None, 3:]
    t = 2.0 * cross(xyz, v)
    return v + w * t + cross(xyz, t)


def shared_mlp(x, n, name):
    x = layers.Dense(n, name=name)(x)
    x = layers.BatchNormalization(epsilon=1e-5, name=name + "_bn")(x)
    return layers.LeakyReLU(negative_slope=0.2)(x)


def tnet(x):
    h = shared_mlp(x, 8, "tnet1")
    h = shared_mlp(h, 12, "tnet2")
    h = layers.GlobalMaxPooling1D()(h)
    h = layers.Dense(9, name="tnet_fc")(h)
    return layers.Reshape((3, 3))(h) + np.eye(3, dtype="float32")


def build():
    points, colours, pose = keras.Input((POINTS, 3)), keras.Input((POINTS, 2)), keras.Input((7,))
    position, quat = pose[:, :3], pose[:, 3:]
    quat = quat / ops.norm(quat, axis=-1, keepdims=True)
    conjugate = quat * np.array([-1, -1, -1, 1], "float32")
    local = rotate(conjugate, points - position[:, None])
    radius = ops.norm(local, axis=-1, keepdims=True)
    local = local / (ops.max(radius, axis=1, keepdims=True) + 1e-6)

    transform = tnet(local)
    x = ops.einsum("bij,bnj->bni", transform, local)
    x = ops.concatenate([x, colours], axis=-1)
    x = shared_mlp(x, 8, "mlp1")
    x = shared_mlp(x, FEAT, "mlp2")
    gate = layers.Dense(FEAT, activation="sigmoid", name="gate")(ops.mean(x, axis=1))
    x = x * gate[:, None]
    mean = ops.mean(x, axis=1)
    pooled = ops.concatenate([ops.max(x, axis=1), mean, position], axis=-1)
    h = layers.Dense(10, activation="softplus", name="fc1")(pooled)
    out = layers.Dense(2, name="fc2")(h)
    near = ops.exp(-4.0 * ops.square(radius[..., 0]))
    q = out[:, 0] + ops.sum(near, axis=1)
    spread = ops.sqrt(ops.sum(ops.square(x - mean[:, None]), axis=1) / (POINTS - 1))
    return keras.Model([points, colours, pose], [q, ops.exp(0.5 * out[:, 1]), spread])


def make():
    r = np.random.default_rng(20)
    m = build()
    for w in m.weights:
        w.assign(r.normal(size=w.shape) * 0.4 if "var" not in w.name else r.uniform(0.1, 0.5, size=w.shape))
    return m


def inputs(seed):
    r = np.random.default_rng(seed)
    f = lambda *s: r.normal(size=s).astype("float32")
    return f(5, POINTS, 3), f(5, POINTS, 2), f(5, 7)


def load(m, o):
    n = lambda t: t.detach().numpy()
    for name, s in (("tnet1", o.tnet.mlp1), ("tnet2", o.tnet.mlp2), ("mlp1", o.mlp1), ("mlp2", o.mlp2)):
        m.get_layer(name).set_weights([n(s.conv.weight)[:, :, 0].T, n(s.conv.bias)])
        b = s.bn
        m.get_layer(name + "_bn").set_weights([n(b.weight), n(b.bias), n(b.running_mean), n(b.running_var)])
    for name, l in (("tnet_fc", o.tnet.fc), ("gate", o.gate), ("fc1", o.fc1), ("fc2", o.fc2)):
        m.get_layer(name).set_weights([n(l.weight).T, n(l.bias)])
