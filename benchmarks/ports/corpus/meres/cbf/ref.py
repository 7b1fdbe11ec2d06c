"""Neural controller behind a high-order control-barrier-function safety filter (double integrator)."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
OBST, STEPS, ROUNDS, DT, UMAX = 3, 3, 2, 0.1, 3.0


class Policy(keras.Model):
    def __init__(self):
        super().__init__()
        self.fc1 = layers.Dense(16, activation="tanh", name="fc1")
        self.norm = layers.LayerNormalization(epsilon=1e-3, name="norm")
        self.fc2 = layers.Dense(16, activation=lambda x: ops.gelu(x, approximate=False), name="fc2")
        self.control = layers.Dense(2, name="control")
        self.rates = layers.Dense(2, activation="softplus", name="rates")
        self.obstacle_fc = layers.Dense(8, activation="relu", name="obstacle_fc")

    def features(self, state, goal, obstacles):
        pos, vel = state[:, :2], state[:, 2:]
        rel = obstacles[:, :, :2] - pos[:, None, :]
        o = self.obstacle_fc(ops.concatenate([rel, obstacles[:, :, 2:]], axis=-1))
        pooled = ops.max(o, axis=1)
        x = ops.concatenate([goal - pos, vel, pooled], axis=-1)
        return self.fc2(self.norm(self.fc1(x)))

    def safety_filter(self, u, state, obstacles, rates):
        pos, vel = state[:, :2], state[:, 2:]
        diff = pos[:, None, :] - obstacles[:, :, :2]
        radius = obstacles[:, :, 2]
        h = ops.sum(ops.square(diff), -1) - ops.square(radius)
        hdot = 2.0 * ops.sum(diff * vel[:, None, :], -1)
        a1, a2 = rates[:, :1], rates[:, 1:]
        lie = 2.0 * ops.sum(ops.square(vel), -1, keepdims=True)
        bound = -(lie + (a1 + a2) * hdot + a1 * a2 * h)
        A = 2.0 * diff
        for _ in range(ROUNDS):
            for k in range(OBST):
                row = A[:, k]
                gap = bound[:, k:k + 1] - ops.sum(row * u, -1, keepdims=True)
                step = ops.relu(gap) / (ops.sum(ops.square(row), -1, keepdims=True) + 1e-2)
                u = u + step * row
        return UMAX * ops.tanh(u / UMAX), h

    def call(self, state, goal, obstacles):
        us, hs = [], []
        for _ in range(STEPS):
            f = self.features(state, goal, obstacles)
            nominal = self.control(f) + 0.8 * (goal - state[:, :2]) - 0.5 * state[:, 2:]
            u, h = self.safety_filter(nominal, state, obstacles, self.rates(f))
            pos = state[:, :2] + DT * state[:, 2:] + 0.5 * DT ** 2 * u
            vel = state[:, 2:] + DT * u
            state = ops.concatenate([pos, vel], axis=-1)
            us.append(u)
            hs.append(h)
        return ops.stack(us, axis=1), ops.stack(hs, axis=1), state


def make():
    keras.utils.set_random_seed(0)
    m = Policy()
    m(*[ops.convert_to_tensor(a) for a in inputs(0)])
    rng = np.random.default_rng(1)
    for v in m.weights:
        r = rng.normal(size=v.shape)
        v.assign((r * 1.3 / np.sqrt(v.shape[0]) if len(v.shape) > 1 else 1 + 0.3 * r if "gamma" in v.path else 0.3 * r).astype("float32"))
    return m


def inputs(seed):
    rng = np.random.default_rng(seed)
    obstacles = np.concatenate([rng.uniform(-1.5, 1.5, size=(6, OBST, 2)), rng.uniform(0.4, 0.9, size=(6, OBST, 1))], -1)
    return (rng.normal(size=(6, 4)).astype("float32"), rng.uniform(-2, 2, size=(6, 2)).astype("float32"),
            obstacles.astype("float32"))
