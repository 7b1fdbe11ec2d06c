"""Bootstrapped DQN with randomised prior functions (Osband et al., 2018), batched over heads, in TensorFlow."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
OBS, ACTIONS, HEADS, HIDDEN = 9, 4, 5, 20
PRIOR_SCALE, GAMMA, MASK_PROB = 3.0, 0.97, 0.5


class Ensemble(tf.Module):
    """HEADS MLPs of two hidden layers as stacked matrices."""

    def __init__(self, rng, trainable, name):
        super().__init__(name=name)
        sizes = [OBS, HIDDEN, HIDDEN, ACTIONS]
        self.ws, self.bs = [], []
        for i, (a, b) in enumerate(zip(sizes[:-1], sizes[1:])):
            w = rng.normal(size=(HEADS, a, b)) / np.sqrt(a)
            bias = 0.1 * rng.normal(size=(HEADS, 1, b))
            self.ws.append(tf.Variable(w.astype("float32"), trainable=trainable, name=f"w{i}"))
            self.bs.append(tf.Variable(bias.astype("float32"), trainable=trainable, name=f"b{i}"))

    def __call__(self, x):
        x = tf.tile(x[None], [HEADS, 1, 1])
        for i, (w, b) in enumerate(zip(self.ws, self.bs)):
            x = tf.matmul(x, w) + b
            if i < len(self.ws) - 1:
                x = tf.nn.relu(x)
        return tf.transpose(x, [1, 0, 2])  # [batch, head, action]


class BootDQN(tf.Module):
    def __init__(self, seed):
        super().__init__()
        rng = np.random.default_rng(seed)
        self.online = Ensemble(rng, True, "online")
        self.target = Ensemble(rng, False, "target")
        self.prior = Ensemble(rng, False, "prior")

    def q(self, net, obs):
        return net(obs) + PRIOR_SCALE * tf.stop_gradient(self.prior(obs))

    def __call__(self, obs, action, reward, done, next_obs):
        q = self.q(self.online, obs)
        chosen = tf.reduce_sum(q * tf.one_hot(action, ACTIONS)[:, None, :], axis=-1)
        best = tf.argmax(self.q(self.online, next_obs), axis=-1)
        q_next = self.q(self.target, next_obs)
        bootstrap = tf.gather(q_next, best, batch_dims=2)
        goal = reward[:, None] + GAMMA * (1.0 - done[:, None]) * bootstrap
        td = chosen - tf.stop_gradient(goal)
        huber = tf.where(tf.abs(td) < 1.0, 0.5 * td**2, tf.abs(td) - 0.5)
        mask = tf.cast(tf.random.uniform(tf.shape(td)) < MASK_PROB, tf.float32)
        loss = tf.reduce_sum(mask * huber, axis=0) / tf.maximum(tf.reduce_sum(mask, axis=0), 1.0)
        spread = tf.math.reduce_std(q, axis=1)
        return {"q": q, "td": td, "loss": loss, "spread": spread}


def make():
    return BootDQN(5)


def inputs(seed):
    rng = np.random.default_rng(seed)
    return {
        "obs": rng.normal(size=(8, OBS)).astype("float32"),
        "action": rng.integers(0, ACTIONS, size=8).astype("int32"),
        "reward": rng.normal(size=8).astype("float32"),
        "done": np.array([0, 1, 0, 0, 1, 0, 0, 0], "float32"),
        "next_obs": rng.normal(size=(8, OBS)).astype("float32"),
    }
