"""AIRL: a discriminator with a reward net, a shaping potential and the policy's log-probability."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
STATE, ACTIONS, GAMMA, SMOOTH = 11, 5, 0.97, 0.1


class Airl(keras.Model):
    def __init__(self):
        super().__init__()
        self.normalise = layers.BatchNormalization()
        self.reward_net = keras.Sequential([
            layers.Dense(32), layers.LeakyReLU(), layers.Dense(32), layers.LeakyReLU(), layers.Dense(1),
        ])
        self.potential = keras.Sequential([
            layers.Dense(24, activation="tanh"), layers.Dense(24, activation="tanh"), layers.Dense(1),
        ])
        self.policy = keras.Sequential([
            layers.Dense(32, activation="swish"), layers.Dropout(0.1), layers.Dense(ACTIONS),
        ])

    def call(self, batch, training=False):
        state, action, next_state, done, expert = batch
        s = self.normalise(state, training=training)
        s_next = self.normalise(next_state, training=training)
        one_hot = ops.one_hot(action, ACTIONS)
        g = self.reward_net(ops.concatenate([s, one_hot], axis=-1))[:, 0]
        h, h_next = self.potential(s)[:, 0], self.potential(s_next)[:, 0]
        f = g + GAMMA * (1.0 - done) * h_next - h

        log_probs = ops.log_softmax(self.policy(s, training=training), axis=-1)
        log_pi = ops.sum(log_probs * one_hot, axis=-1)
        logits = f - log_pi
        discriminator = ops.sigmoid(logits)

        labels = expert * (1.0 - SMOOTH) + 0.5 * SMOOTH
        loss = ops.relu(logits) - logits * labels + ops.log1p(ops.exp(-ops.abs(logits)))
        entropy = -ops.sum(ops.exp(log_probs) * log_probs, axis=-1)
        return {
            "d": discriminator,
            "g": g,
            "imitation_reward": f - log_pi + 0.01 * entropy,
            "loss": ops.mean(loss),
            "accuracy_margin": (2.0 * expert - 1.0) * logits,
        }


def make(seed=29):
    net = Airl()
    net([ops.convert_to_tensor(a) for a in inputs(0)])
    rng = np.random.default_rng(seed)
    for w in net.weights:
        if "seed" in w.path:
            continue
        if w.path.endswith("gamma") or w.path.endswith("variance"):
            w.assign(rng.uniform(0.1, 1.4, w.shape))
        elif len(w.shape) == 1:
            w.assign(rng.normal(0, 0.3, w.shape))
        else:
            w.assign(rng.normal(0, 1.1 / np.sqrt(w.shape[0]), w.shape))
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    state = rng.normal(size=(8, STATE)).astype("float32")
    action = rng.integers(0, ACTIONS, size=8).astype("int32")
    next_state = (state + 0.5 * rng.normal(size=(8, STATE))).astype("float32")
    done = np.array([0, 0, 1, 0, 0, 1, 0, 0], "float32")
    expert = np.array([1, 1, 1, 1, 0, 0, 0, 0], "float32")
    return state, action, next_state, done, expert
