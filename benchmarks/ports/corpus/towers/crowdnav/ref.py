"""SARL crowd navigation (Chen et al. 2019): one-step lookahead over actions with an attention value network."""
import numpy as np
import parity  # noqa: F401
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
HUMANS, DT, GAMMA = 4, 0.25, 0.9
ACTIONS = np.array([[0.0, 0.0], [0.8, 0.0], [0.0, 0.8], [-0.5, 0.5]], "float32")
# robot: px py vx vy radius gx gy vpref   human: px py vx vy radius


class MLP(chainer.ChainList):
    def __init__(self, sizes, last_relu=False):
        super().__init__(*[L.Linear(i, o) for i, o in zip(sizes, sizes[1:])])
        self.last_relu = last_relu

    def forward(self, x):
        n = len(self)
        for i in range(n):
            x = self[i](x)
            if i < n - 1 or self.last_relu:
                x = F.relu(x)
        return x


def col(x, i):
    return x[:, i:i + 1]


def rotate(robot, human):
    """Robot-centred frame, the x axis to the goal.  robot (n, 8), human (n, 5)."""
    dx, dy = col(robot, 5) - col(robot, 0), col(robot, 6) - col(robot, 1)
    rot = F.arctan2(dy, dx)
    c, s = F.cos(rot), F.sin(rot)
    dg = F.sqrt(dx * dx + dy * dy)
    vx = col(robot, 2) * c + col(robot, 3) * s
    vy = col(robot, 3) * c - col(robot, 2) * s
    px, py = col(human, 0) - col(robot, 0), col(human, 1) - col(robot, 1)
    px1 = px * c + py * s
    py1 = py * c - px * s
    vx1 = col(human, 2) * c + col(human, 3) * s
    vy1 = col(human, 3) * c - col(human, 2) * s
    da = F.sqrt(px * px + py * py)
    r = col(robot, 4)
    r1 = col(human, 4)
    return F.concat([dg, col(robot, 7), vx, vy, r, px1, py1, vx1, vy1, r1, da, r + r1], axis=1)


class ValueNetwork(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.mlp1 = MLP((12, 16, 12), last_relu=True)
            self.mlp2 = MLP((12, 12, 8))
            self.attention = MLP((24, 12, 1))
            self.mlp3 = MLP((5 + 8, 16, 8, 1))

    def forward(self, state, mask):
        n = state.shape[0]
        self_state = state[:, 0, :5]
        h1 = self.mlp1(F.reshape(state, (n * HUMANS, 12)))
        h2 = self.mlp2(h1)
        e = F.reshape(h1, (n, HUMANS, 12))
        count = mask.sum(1, keepdims=True)
        glob = F.sum(e * F.broadcast_to(mask[:, :, None], e.shape), axis=1) / np.tile(count, (1, 12))
        glob = F.broadcast_to(F.expand_dims(glob, 1), e.shape)
        att = F.concat([h1, F.reshape(glob, (n * HUMANS, 12))], axis=1)
        scores = F.reshape(self.attention(att), (n, HUMANS))
        scores_exp = F.exp(scores) * mask
        total = F.broadcast_to(F.sum(scores_exp, axis=1, keepdims=True), scores_exp.shape)
        weights = scores_exp / total
        feats = F.reshape(h2, (n, HUMANS, 8))
        crowd = F.sum(F.broadcast_to(F.expand_dims(weights, 2), feats.shape) * feats, axis=1)
        return self.mlp3(F.concat([self_state, crowd], axis=1)), weights


class SARL(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.value = ValueNetwork()

    def forward(self, robot, humans, mask):
        b = robot.shape[0]
        moved = np.concatenate([humans[:, :, :2] + DT * humans[:, :, 2:4], humans[:, :, 2:]], axis=2)
        moved = moved.reshape(b * HUMANS, 5)
        discount = GAMMA ** (DT * robot[:, 7:8])
        values, weights = [], []
        for action in ACTIONS:
            vel = np.broadcast_to(action, (b, 2))
            nxt = np.concatenate([robot[:, :2] + DT * vel, vel, robot[:, 4:]], axis=1)
            joint = rotate(chainer.Variable(np.repeat(nxt, HUMANS, axis=0)), chainer.Variable(moved))
            v, w = self.value(F.reshape(joint, (b, HUMANS, 12)), mask)
            values.append(v * discount)
            weights.append(w)
        return F.concat(values, axis=1), F.stack(weights, axis=1)


def make():
    m = SARL()
    r = np.random.RandomState(23)
    for path, p in sorted(m.namedparams()):
        p.array[...] = r.randn(*p.shape) * (p.shape[1] ** -0.5 * 1.2 if p.ndim > 1 else 0.2)
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
