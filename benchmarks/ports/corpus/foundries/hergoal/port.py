"""The HER agent rewritten for Keras 3 (subclassed)."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
OBS_DIM, GOAL_DIM, ACTION_DIM = 10, 3, 4
ACTION_SCALE = 2.0
DISCOUNT = 0.98


class Whiten(layers.Layer):
    """Standardises by accumulated sums, as the HER workers do."""

    def __init__(self, floor=0.01, limit=5.0, **kw):
        super().__init__(**kw)
        self.floor, self.limit = floor, limit

    def build(self, shape):
        self.s = self.add_weight(shape=(shape[-1],), initializer="zeros", trainable=False, name="sum")
        self.ss = self.add_weight(shape=(shape[-1],), initializer="ones", trainable=False, name="sumsq")
        self.n = self.add_weight(shape=(1,), initializer="ones", trainable=False, name="count")

    def call(self, x):
        mu = self.s / self.n
        second = self.ss / self.n
        sigma = ops.sqrt(ops.maximum(second - ops.square(mu), self.floor**2))
        return ops.clip((x - mu) / sigma, -self.limit, self.limit)


def tower(width, out, name):
    stack = [layers.Dense(width, activation="relu") for _ in range(3)]
    return keras.Sequential(stack + [layers.Dense(out)], name=name)


class Agent(keras.Model):
    def __init__(self, width=48):
        super().__init__()
        self.obs_whiten = Whiten()
        self.goal_whiten = Whiten()
        self.actor_net = tower(width, ACTION_DIM, "actor")
        self.critic_net = tower(width, 1, "critic")

    def q_value(self, state, action):
        action = action / ACTION_SCALE
        return self.critic_net(ops.concatenate([state, action], axis=-1))

    def call(self, data):
        obs, achieved, desired, action = data
        delta = desired - achieved
        delta = ops.clip(delta, -200.0, 200.0)
        obs = self.obs_whiten(ops.clip(obs, -200.0, 200.0))
        state = ops.concatenate([obs, self.goal_whiten(delta)], axis=-1)

        squashed = ops.tanh(self.actor_net(state))
        policy = ACTION_SCALE * squashed
        q_policy = self.q_value(state, policy)
        q_taken = self.q_value(state, action)

        far = ops.sqrt(ops.sum(ops.square(achieved - desired), axis=-1, keepdims=True)) > 0.9
        reward = -ops.cast(far, "float32")
        backup = reward + DISCOUNT * q_policy
        backup = ops.minimum(ops.maximum(backup, -1.0 / (1.0 - DISCOUNT)), 0.0)
        regulariser = ops.mean(ops.square(squashed))
        return {
            "pi": policy,
            "q_pi": q_policy,
            "q_u": q_taken,
            "target": backup,
            "td": q_taken - backup,
            "pi_loss": regulariser - ops.mean(q_policy),
        }


def make(seed=5):
    keras.utils.set_random_seed(seed)
    agent = Agent()
    agent([ops.convert_to_tensor(a) for a in inputs(0)])
    rng = np.random.default_rng(seed)
    for w in agent.weights:
        if w.path.endswith("count"):
            w.assign([300.0])
        elif w.path.endswith("sumsq"):
            w.assign(300 * rng.uniform(1.5, 3.0, w.shape))
        else:
            w.assign(rng.normal(0, 0.2, w.shape) * (300 if w.path.endswith("sum") else 1))
    return agent


def inputs(seed=0):
    r = np.random.default_rng(seed)
    o = r.normal(0.3, 1.1, size=(6, OBS_DIM))
    achieved = r.normal(size=(6, GOAL_DIM))
    desired = achieved + r.normal(size=(6, GOAL_DIM)) * 0.7
    action = r.uniform(-ACTION_SCALE, ACTION_SCALE, size=(6, ACTION_DIM))
    return tuple(a.astype("float32") for a in (o, achieved, desired, action))


def load(ported, original):
    for mine, theirs in ((ported.obs_whiten, original.o_stats), (ported.goal_whiten, original.g_stats)):
        mine.s.assign(theirs.total.numpy())
        mine.ss.assign(theirs.total_sq.numpy())
        mine.n.assign(theirs.count.numpy())
    for mine, theirs in ((ported.actor_net, original.pi), (ported.critic_net, original.q)):
        for dense, linear in zip(mine.layers, list(theirs)[::2]):
            dense.set_weights([linear.weight.detach().numpy().T, linear.bias.detach().numpy()])
