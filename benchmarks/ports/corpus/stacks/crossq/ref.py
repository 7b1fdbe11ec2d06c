"""CrossQ (SAC without target nets, batch norm in the critics): one learner step's quantities."""
import keras
import numpy as np
import tensorflow as tf
from keras import layers

FRAMEWORK = "tensorflow"
OBS, ACT, HID, GAMMA = 8, 3, 24, 0.97
LOW = np.array([-2.0, -1.0, 0.0], "float32")
HIGH = np.array([2.0, 0.5, 3.0], "float32")
LOG_STD_MIN, LOG_STD_MAX = -5.0, 2.0


def critic():
    return keras.Sequential([
        layers.BatchNormalization(momentum=0.99),
        layers.Dense(HID), layers.BatchNormalization(momentum=0.99), layers.ReLU(),
        layers.Dense(HID), layers.BatchNormalization(momentum=0.99), layers.ReLU(),
        layers.Dense(1)])


class CrossQ(keras.Model):
    def __init__(self):
        super().__init__()
        self.torso = keras.Sequential([layers.Dense(HID, "relu"), layers.Dense(HID, "relu")])
        self.mean, self.log_std = layers.Dense(ACT), layers.Dense(ACT)
        self.critic_a, self.critic_b = critic(), critic()
        self.log_alpha = self.add_weight(shape=(), initializer=keras.initializers.Constant(-0.7), name="log_alpha")
        self.action_scale, self.action_bias = (HIGH - LOW) / 2, (HIGH + LOW) / 2

    def policy(self, obs, noise):
        x = self.torso(obs)
        mean, log_std = self.mean(x), tf.tanh(self.log_std(x))
        log_std = LOG_STD_MIN + 0.5 * (LOG_STD_MAX - LOG_STD_MIN) * (log_std + 1)
        u = mean + tf.exp(log_std) * noise
        y = tf.tanh(u)
        log_prob = -0.5 * tf.square(noise) - log_std - 0.5 * np.log(2 * np.pi)
        log_prob -= tf.math.log(self.action_scale * (1 - y ** 2) + 1e-6)
        return y * self.action_scale + self.action_bias, tf.reduce_sum(log_prob, axis=1)

    def q(self, obs, action):
        x = tf.concat([obs, action], axis=1)
        return self.critic_a(x, training=False)[:, 0], self.critic_b(x, training=False)[:, 0]

    def call(self, obs, action, reward, done, next_obs, noise):
        alpha = tf.exp(self.log_alpha)
        next_action, next_logp = self.policy(next_obs, noise)
        q_next = tf.minimum(*self.q(next_obs, next_action))
        target = reward + GAMMA * (1 - done) * (q_next - alpha * next_logp)
        qa, qb = self.q(obs, action)
        critic_loss = tf.reduce_mean((qa - target) ** 2) + tf.reduce_mean((qb - target) ** 2)
        pi_action, logp = self.policy(obs, noise)
        actor_loss = tf.reduce_mean(alpha * logp - tf.minimum(*self.q(obs, pi_action)))
        return {"action": pi_action, "logp": logp, "critic_loss": critic_loss, "actor_loss": actor_loss}


def make():
    keras.utils.set_random_seed(2)
    net = CrossQ()
    one = lambda n: tf.zeros((1, n))
    net(one(OBS), one(ACT), tf.zeros(1), tf.zeros(1), one(OBS), one(ACT))
    g = np.random.default_rng(7)
    for w in net.weights:
        if w.name in ("bias", "beta", "moving_mean"):
            w.assign(g.normal(0, 0.2, w.shape))
        elif w.name == "gamma":
            w.assign(g.uniform(0.6, 1.4, w.shape))
        elif w.name == "moving_variance":
            w.assign(g.uniform(0.02, 0.2, w.shape))
    return net


def inputs(seed):
    g = np.random.default_rng(seed)
    n = lambda *s: g.normal(size=s).astype("float32")
    done = np.array([0, 1, 0, 0, 1, 0], "float32")
    return n(6, OBS), g.uniform(LOW, HIGH, (6, ACT)).astype("float32"), n(6), done, n(6, OBS), n(6, ACT)
