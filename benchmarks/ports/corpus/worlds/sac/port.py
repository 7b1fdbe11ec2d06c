"""SAC's actor and critics in Keras."""
import math

import keras
import tensorflow as tf
from keras import layers

FRAMEWORK = "tensorflow"
OBS, ACT, HID = 10, 3, 32
LOG_STD_MIN, LOG_STD_MAX, SCALE = -5.0, 2.0, 2.0


class Actor(keras.Model):
    def __init__(self):
        super().__init__()
        self.fc1 = layers.Dense(HID, activation="relu")
        self.fc2 = layers.Dense(HID, activation="relu")
        self.mean = layers.Dense(ACT)
        self.log_std = layers.Dense(ACT)

    def call(self, obs):
        h = self.fc2(self.fc1(obs))
        mean = self.mean(h)
        log_std = tf.clip_by_value(self.log_std(h), LOG_STD_MIN, LOG_STD_MAX)
        std = tf.exp(log_std)
        u = mean + std * tf.random.normal(tf.shape(mean))
        y = tf.tanh(u)
        log_prob = -0.5 * ((u - mean) / std) ** 2 - tf.math.log(std) - 0.5 * math.log(2 * math.pi)
        log_prob -= tf.math.log(SCALE * (1.0 - y**2) + 1e-6)
        log_prob = tf.reduce_sum(log_prob, axis=-1)
        return SCALE * y, log_prob, SCALE * tf.tanh(mean)


class Critic(keras.Model):
    def __init__(self):
        super().__init__()
        self.fc1 = layers.Dense(HID, activation="relu")
        self.fc2 = layers.Dense(HID, activation="relu")
        self.q = layers.Dense(1)

    def call(self, obs, action):
        x = tf.concat([obs, action], axis=-1)
        return tf.squeeze(self.q(self.fc2(self.fc1(x))), -1)


class SAC(keras.Model):
    def __init__(self):
        super().__init__()
        self.actor = Actor()
        self.critic1, self.critic2 = Critic(), Critic()
        self.log_alpha = self.add_weight(shape=(), name="log_alpha")

    def call(self, obs):
        action, log_prob, greedy = self.actor(obs)
        q = tf.minimum(self.critic1(obs, action), self.critic2(obs, action))
        loss = tf.reduce_mean(tf.exp(self.log_alpha) * log_prob - q)
        return {"action": action, "log_prob": log_prob, "greedy": greedy, "q": q, "loss": loss}


def npy(t):
    return t.detach().cpu().numpy()


def dense(layer, linear):
    w = [npy(linear.weight).T]
    if linear.bias is not None:
        w.append(npy(linear.bias))
    layer.set_weights(w)


def make():
    net = SAC()
    net(tf.zeros((1, OBS)))
    return net


def load(net, ref):
    for ours, theirs, names in (
        (net.actor, ref.actor, ("fc1", "fc2", "mean", "log_std")),
        (net.critic1, ref.critic1, ("fc1", "fc2", "q")),
        (net.critic2, ref.critic2, ("fc1", "fc2", "q")),
    ):
        for name in names:
            dense(getattr(ours, name), getattr(theirs, name))
    net.log_alpha.assign(ref.log_alpha.item())
