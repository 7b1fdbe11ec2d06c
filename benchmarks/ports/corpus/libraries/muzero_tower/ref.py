"""MuZero-like tower in Keras: squeeze-and-excite residual blocks, prediction and one dynamics step."""
import keras
import numpy as np
import tensorflow as tf
from keras import layers

FRAMEWORK = "tensorflow"
SIZE, PLANES, CH, BLOCKS, SUPPORT = 6, 4, 12, 2, 10
MOVES = SIZE * SIZE + 1


class Block(layers.Layer):
    def __init__(self, name):
        super().__init__(name=name)
        self.conv1 = layers.Conv2D(CH, 3, padding="same", use_bias=False)
        self.bn1 = layers.BatchNormalization()
        self.conv2 = layers.Conv2D(CH, 3, padding="same", use_bias=False)
        self.bn2 = layers.BatchNormalization()
        self.squeeze = layers.Dense(CH // 2, activation="relu")
        self.excite = layers.Dense(2 * CH)

    def call(self, x):
        y = tf.nn.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        s = self.excite(self.squeeze(tf.reduce_mean(y, axis=[1, 2])))
        gamma, beta = tf.split(s[:, None, None, :], 2, axis=-1)
        y = tf.sigmoid(gamma) * y + beta
        return tf.nn.relu(x + y)


def conv_bn(filters, kernel, name):
    return keras.Sequential(
        [layers.Conv2D(filters, kernel, padding="same"), layers.BatchNormalization(), layers.ReLU()], name=name
    )


def unscale(x, eps=0.01):
    """The inverse of h(x) = sign(x)(sqrt(|x| + 1) - 1) + eps x."""
    root = tf.sqrt(1.0 + 4.0 * eps * (tf.abs(x) + 1.0 + eps)) - 1.0
    return tf.sign(x) * (tf.square(root / (2.0 * eps)) - 1.0)


class Tower(keras.Model):
    def __init__(self):
        super().__init__()
        self.stem = conv_bn(CH, 3, "stem")
        self.blocks = [Block(f"block{i}") for i in range(BLOCKS)]
        self.policy_conv = conv_bn(2, 1, "policy_conv")
        self.policy = layers.Dense(MOVES)
        self.value_conv = conv_bn(1, 1, "value_conv")
        self.value_hidden = layers.Dense(16, activation="relu")
        self.value = layers.Dense(2 * SUPPORT + 1)
        self.dyn = conv_bn(CH, 3, "dynamics")
        self.dyn_block = Block("dyn_block")
        self.reward = layers.Dense(2 * SUPPORT + 1)

    def scalar(self, logits):
        support = tf.range(-SUPPORT, SUPPORT + 1, dtype=tf.float32)
        return unscale(tf.reduce_sum(tf.nn.softmax(logits) * support, axis=-1))

    def normalise(self, h):
        low = tf.reduce_min(h, axis=[1, 2, 3], keepdims=True)
        high = tf.reduce_max(h, axis=[1, 2, 3], keepdims=True)
        return (h - low) / (high - low + 1e-5)

    def represent(self, board):
        x = self.stem(board)
        for block in self.blocks:
            x = block(x)
        return self.normalise(x)

    def predict_from(self, h, legal):
        p = layers.Flatten()(self.policy_conv(h))
        logits = tf.where(legal, self.policy(p), -1e9)
        v = layers.Flatten()(self.value_conv(h))
        return tf.nn.softmax(logits), self.scalar(self.value(self.value_hidden(v)))

    def dynamics(self, h, action):
        plane = tf.one_hot(action, MOVES)[:, :-1]  # a pass is an empty plane
        plane = tf.reshape(plane, (-1, SIZE, SIZE, 1))
        x = self.dyn_block(self.dyn(tf.concat([h, plane], -1)))
        reward = self.scalar(self.reward(tf.reduce_mean(x, axis=[1, 2])))
        return self.normalise(x), reward

    def call(self, board, legal, action):
        h = self.represent(board)
        policy, value = self.predict_from(h, legal)
        h, reward = self.dynamics(h, action)
        _, next_value = self.predict_from(h, legal)
        return policy, value, reward, next_value


def make():
    keras.utils.set_random_seed(4)
    model = Tower()
    model(*[tf.constant(x) for x in inputs(0)])
    g = np.random.default_rng(4)
    for v in model.weights:
        shape = tuple(v.shape)
        if v.path.endswith("gamma") or v.path.endswith("variance"):
            v.assign(g.uniform(0.5, 1.5, shape).astype("float32"))
        elif len(shape) == 1:
            v.assign((0.3 * g.normal(size=shape)).astype("float32"))
        else:
            v.assign((1.5 * g.normal(size=shape) / np.prod(shape[:-1]) ** 0.5).astype("float32"))
    return model


def inputs(seed):
    g = np.random.default_rng(seed)
    owner = g.integers(0, 3, (4, SIZE, SIZE))
    board = np.stack([owner == 1, owner == 2, owner == 0, np.broadcast_to(g.random((4, 1, 1)) < 0.5, owner.shape)], -1)
    legal = np.concatenate([(owner == 0).reshape(4, -1), np.ones((4, 1), bool)], 1)
    action = np.array([g.choice(np.flatnonzero(row)) for row in legal])
    action[0] = MOVES - 1
    return board.astype("float32"), legal, action
