"""MuZero on a small board (Keras, channels last): representation, dynamics, prediction, unrolled."""
import keras
import numpy as np
import tensorflow as tf
from keras import layers

FRAMEWORK = "tensorflow"
SIDE, PLANES, CH, ACTIONS, SUPPORT, EPS = 6, 3, 8, 5, 4, 0.01


class ResBlock(layers.Layer):
    def __init__(self, ch):
        super().__init__()
        self.conv1, self.bn1 = layers.Conv2D(ch, 3, padding="same", use_bias=False), layers.BatchNormalization()
        self.conv2, self.bn2 = layers.Conv2D(ch, 3, padding="same", use_bias=False), layers.BatchNormalization()

    def call(self, x):
        y = tf.nn.relu(self.bn1(self.conv1(x), training=False))
        y = self.bn2(self.conv2(y), training=False)
        return tf.nn.relu(x + y)


def head(ch, out):
    return keras.Sequential([layers.Conv2D(ch, 1, activation="relu"), layers.Flatten(),
                             layers.Dense(16, activation="relu"), layers.Dense(out)])


def normalize(state):
    low = tf.reduce_min(state, axis=[1, 2], keepdims=True)
    high = tf.reduce_max(state, axis=[1, 2], keepdims=True)
    return (state - low) / (high - low + 1e-5)


def support_to_scalar(logits):
    probs = tf.nn.softmax(logits, axis=1)
    x = tf.reduce_sum(probs * tf.range(-SUPPORT, SUPPORT + 1, dtype=tf.float32), axis=1)
    root = (tf.sqrt(1 + 4 * EPS * (tf.abs(x) + 1 + EPS)) - 1) / (2 * EPS)
    return tf.sign(x) * (root ** 2 - 1)


class MuZero(keras.Model):
    def __init__(self):
        super().__init__()
        self.rep_conv, self.rep_bn = layers.Conv2D(CH, 3, padding="same", use_bias=False), layers.BatchNormalization()
        self.rep_block = ResBlock(CH)
        self.dyn_conv, self.dyn_bn = layers.Conv2D(CH, 3, padding="same", use_bias=False), layers.BatchNormalization()
        self.dyn_block = ResBlock(CH)
        self.reward_head = head(2, 2 * SUPPORT + 1)
        self.pred_block = ResBlock(CH)
        self.value_head, self.policy_head = head(1, 2 * SUPPORT + 1), head(2, ACTIONS)

    def represent(self, board):
        x = tf.nn.relu(self.rep_bn(self.rep_conv(board), training=False))
        return normalize(self.rep_block(x))

    def dynamics(self, state, action):
        plane = tf.ones_like(state[..., :1]) * tf.cast(action, tf.float32)[:, None, None, None] / ACTIONS
        x = tf.concat([state, plane], axis=-1)
        x = self.dyn_bn(self.dyn_conv(x), training=False) + state
        x = self.dyn_block(tf.nn.relu(x))
        return normalize(x), self.reward_head(x)

    def predict_heads(self, state):
        x = self.pred_block(state)
        return tf.nn.softmax(self.policy_head(x)), support_to_scalar(self.value_head(x))

    def call(self, board, actions):
        state = self.represent(board)
        policy, value = self.predict_heads(state)
        policies, values, rewards = [policy], [value], []
        for k in range(actions.shape[1]):
            state, reward = self.dynamics(state, actions[:, k])
            policy, value = self.predict_heads(state)
            policies.append(policy)
            values.append(value)
            rewards.append(support_to_scalar(reward))
        return tf.stack(policies, 1), tf.stack(values, 1), tf.stack(rewards, 1)


def make():
    keras.utils.set_random_seed(31)
    net = MuZero()
    net(tf.zeros((1, SIDE, SIDE, PLANES)), tf.zeros((1, 3), tf.int32))
    g = np.random.default_rng(1)
    for w in net.weights:
        if w.name in ("bias", "beta", "moving_mean"):
            w.assign(g.normal(0, 0.2, w.shape))
        elif w.name in ("gamma", "moving_variance"):
            w.assign(g.uniform(0.5, 1.5, w.shape))
    return net


def inputs(seed):
    g = np.random.default_rng(seed)
    return (g.random((3, SIDE, SIDE, PLANES)).astype("float32"), g.integers(0, ACTIONS, (3, 3)).astype("int32"))
