"""SARL in Keras: the actions as one more axis."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
HUMANS, DT, GAMMA = 4, 0.25, 0.9
ACTIONS = np.array([[0.0, 0.0], [0.8, 0.0], [0.0, 0.8], [-0.5, 0.5]], "float32")
NA = len(ACTIONS)


def to_frame(x, y, cos, sin):
    return x * cos + y * sin, y * cos - x * sin


def agent_centric(robot, humans):
    """robot (b, a, 1, 8), humans (b, 1, h, 5) -> (b, a, h, 12)"""
    px, py, vx, vy, radius, gx, gy, vpref = ops.split(robot, 8, axis=-1)
    hx, hy, hvx, hvy, hr = ops.split(humans, 5, axis=-1)
    heading = ops.arctan2(gy - py, gx - px)
    cos, sin = ops.cos(heading), ops.sin(heading)
    dist = ops.sqrt(ops.square(gx - px) + ops.square(gy - py))
    own_v = to_frame(vx, vy, cos, sin)
    rel = to_frame(hx - px, hy - py, cos, sin)
    rel_v = to_frame(hvx, hvy, cos, sin)
    gap = ops.sqrt(ops.square(hx - px) + ops.square(hy - py))
    parts = [dist, vpref, *own_v, radius, *rel, *rel_v, hr, gap, radius + hr]
    shape = gap.shape
    return ops.concatenate([ops.broadcast_to(p, shape) for p in parts], axis=-1)


def mlp(*units, last=None, name):
    stack = [layers.Dense(u, activation="relu") for u in units[:-1]]
    return keras.Sequential(stack + [layers.Dense(units[-1], activation=last)], name=name)


class ValueNet(layers.Layer):
    def __init__(self):
        super().__init__()
        self.mlp1 = mlp(16, 12, last="relu", name="mlp1")
        self.mlp2 = mlp(12, 8, name="mlp2")
        self.attention = mlp(12, 1, name="attention")
        self.mlp3 = mlp(16, 8, 1, name="mlp3")

    def call(self, state, mask):
        own = state[:, :, 0, :5]
        m = mask[:, None, :, None]
        e = self.mlp1(state)
        f = self.mlp2(e)
        mean = ops.sum(e * m, axis=2, keepdims=True) / ops.sum(m, axis=2, keepdims=True)
        mean = ops.broadcast_to(mean, e.shape)
        scores = self.attention(ops.concatenate([e, mean], axis=-1))
        w = ops.exp(scores) * m
        w = w / ops.sum(w, axis=2, keepdims=True)
        crowd = ops.sum(w * f, axis=2)
        return self.mlp3(ops.concatenate([own, crowd], axis=-1)), ops.squeeze(w, axis=-1)


class SARL(keras.Model):
    def __init__(self):
        super().__init__()
        self.value = ValueNet()

    def call(self, robot, humans, mask):
        b = robot.shape[0]
        vel = ops.broadcast_to(ACTIONS, (b, NA, 2))
        here = ops.broadcast_to(robot[:, None], (b, NA, 8))
        nxt = ops.concatenate([here[..., :2] + DT * vel, vel, here[..., 4:]], axis=-1)
        crowd = ops.concatenate([humans[..., :2] + DT * humans[..., 2:4], humans[..., 2:]], axis=-1)
        joint = agent_centric(nxt[:, :, None], crowd[:, None])
        v, weights = self.value(joint, mask)
        discount = ops.power(GAMMA, DT * robot[:, 7:8])
        return ops.squeeze(v, axis=-1) * discount, weights


def make():
    m = SARL()
    m(*[ops.convert_to_tensor(x) for x in inputs(0)])
    r = np.random.RandomState(33)
    for w in m.weights:
        w.assign((0.3 * r.randn(*w.shape)).astype("float32"))
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    robot = np.concatenate([r.randn(5, 2) * 2, r.randn(5, 2) * 0.5, 0.3 + 0.1 * r.rand(5, 1), r.randn(5, 2) * 4,
                            0.7 + 0.6 * r.rand(5, 1)], axis=1).astype("float32")
    humans = np.concatenate([r.randn(5, HUMANS, 2) * 3, r.randn(5, HUMANS, 2) * 0.7, 0.2 + 0.2 * r.rand(5, HUMANS, 1)],
                            axis=2).astype("float32")
    mask = np.ones((5, HUMANS), "float32")
    mask[1, 3:] = 0
    mask[3, 2:] = 0
    return robot, humans, mask


def load(ported, original):
    for name in ("mlp1", "mlp2", "attention", "mlp3"):
        for dst, src in zip(getattr(ported.value, name).layers, getattr(original.value, name)):
            dst.kernel.assign(src.W.array.T)
            dst.bias.assign(src.b.array)
