"""PPO's Atari actor-critic in Keras 3, channels last."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
LAYOUT = "NHWC"


class KerasPPO(keras.Model):
    def __init__(self, actions=6):
        super().__init__()
        self.conv1 = layers.Conv2D(16, 8, strides=4, activation="relu")
        self.conv2 = layers.Conv2D(32, 4, strides=2, activation="relu", padding="valid")
        self.conv3 = layers.Conv2D(32, 3, activation="relu")
        self.dense = layers.Dense(64)
        self.actor = layers.Dense(actions)
        self.critic = layers.Dense(1)

    def call(self, obs):
        x = obs / 255.0
        x = self.conv1(x)
        x = self.conv2(x)
        x = self.conv3(x)
        x = ops.transpose(x, (0, 3, 1, 2))
        x = ops.reshape(x, (-1, 32 * 2 * 2))
        pre = self.dense(x)
        hidden = ops.relu(pre)
        log_probs = ops.log_softmax(self.actor(hidden), axis=-1)
        entropy = -ops.sum(ops.exp(log_probs) * log_probs, axis=-1)
        value = self.critic(hidden)
        return log_probs, ops.squeeze(value, -1), entropy


def make():
    model = KerasPPO()
    model(np.zeros((1, 44, 44, 4), "float32"))
    return model


def load(dst, src):
    n = src.network
    for k, c in ((dst.conv1, n[0]), (dst.conv2, n[2]), (dst.conv3, n[4])):
        k.set_weights([c.weight.detach().numpy().transpose(2, 3, 1, 0), c.bias.detach().numpy()])
    for k, c in ((dst.dense, n[7]), (dst.actor, src.actor), (dst.critic, src.critic)):
        k.set_weights([c.weight.detach().numpy().T, c.bias.detach().numpy()])
