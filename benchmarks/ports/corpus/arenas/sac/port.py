"""SAC's actor in Keras, its Q networks in TensorFlow."""
import keras
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
OBS, ACT = 7, 3
LOG_STD_MAX, LOG_STD_MIN = 2, -5
HIGH = np.array([2.0, 1.0, 0.5], "float32")
LOW = np.array([-2.0, -0.5, -0.5], "float32")


class QNet(tf.Module):
    def load(self, ref):
        self.params = [(tf.Variable(l.weight.detach().numpy().T), tf.Variable(l.bias.detach().numpy()))
                       for l in (ref.fc1, ref.fc2, ref.fc3)]

    def __call__(self, x, a):
        h = tf.concat([x, a], axis=1)
        for i, (w, b) in enumerate(self.params):
            h = tf.matmul(h, w) + b
            if i < 2:
                h = tf.nn.relu(h)
        return h


class KerasActor(keras.Model):
    def __init__(self):
        super().__init__()
        self.fc1 = keras.layers.Dense(64, activation="relu")
        self.fc2 = keras.layers.Dense(64, activation="relu")
        self.fc_mean = keras.layers.Dense(ACT)
        self.fc_logstd = keras.layers.Dense(ACT)
        self.scale, self.shift = tf.constant((HIGH - LOW) / 2.0), tf.constant((HIGH + LOW) / 2.0)
        self(np.zeros((1, OBS), "float32"))

    def load(self, ref):
        for name in ("fc1", "fc2", "fc_mean", "fc_logstd"):
            lin = getattr(ref, name)
            getattr(self, name).set_weights([lin.weight.detach().numpy().T, lin.bias.detach().numpy()])

    def call(self, x):
        h = self.fc2(self.fc1(x))
        mean, log_std = self.fc_mean(h), self.fc_logstd(h)
        log_std = LOG_STD_MIN + 0.5 * (LOG_STD_MAX - LOG_STD_MIN) * (tf.tanh(log_std) + 1.0)
        std = tf.exp(log_std)
        noise = tf.random.normal(tf.shape(mean))
        pre = mean + std * noise
        squashed = tf.tanh(pre)
        log_prob = -0.5 * tf.square((pre - mean) / std) - log_std - 0.5 * np.log(2 * np.pi)
        log_prob -= tf.math.log(self.scale * (1.0 - squashed**2) + 1e-6)
        log_prob = tf.reduce_sum(log_prob, axis=1, keepdims=True)
        return squashed * self.scale + self.shift, log_prob, tf.tanh(mean) * self.scale + self.shift


class TFLoss(tf.Module):
    def __init__(self):
        super().__init__()
        self.actor = KerasActor()
        self.q1, self.q2 = QNet(), QNet()

    def __call__(self, obs):
        a, lp, mean = self.actor(obs)
        q = tf.minimum(self.q1(obs, a), self.q2(obs, a))
        return a, lp, mean, 0.2 * lp - q


def make():
    return TFLoss()


def load(net, ref):
    net.actor.load(ref.actor)
    net.q1.load(ref.qf1)
    net.q2.load(ref.qf2)
