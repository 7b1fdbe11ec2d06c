"""IMPALA's deep network (Espeholt et al. 2018) in Keras 3: residual conv, LSTM, last action and reward."""
import keras
import numpy as np
import tensorflow as tf
from keras import layers

FRAMEWORK = "tensorflow"
ACTIONS, CELLS = 6, 24


class Residual(layers.Layer):
    def __init__(self, depth):
        super().__init__()
        self.conv0 = layers.Conv2D(depth, 3, padding="same")
        self.conv1 = layers.Conv2D(depth, 3, padding="same")

    def call(self, x):
        y = self.conv0(tf.nn.relu(x))
        y = self.conv1(tf.nn.relu(y))
        return x + y


class Stack(layers.Layer):
    def __init__(self, depth):
        super().__init__()
        self.conv = layers.Conv2D(depth, 3, padding="same")
        self.pool = layers.MaxPooling2D(3, strides=2, padding="same")
        self.block0 = Residual(depth)
        self.block1 = Residual(depth)

    def call(self, x):
        x = self.pool(self.conv(x))
        return self.block1(self.block0(x))


class ImpalaDeep(keras.Model):
    def __init__(self, num_actions=ACTIONS, depths=(4, 8)):
        super().__init__()
        self.num_actions = num_actions
        self.stacks = [Stack(depth) for depth in depths]
        self.fc = layers.Dense(32, activation="relu")
        self.core = layers.LSTMCell(CELLS)
        self.policy = layers.Dense(num_actions)
        self.baseline = layers.Dense(1)

    def torso(self, frame, last_action, reward):
        x = tf.cast(frame, tf.float32) / 255.0
        for stack in self.stacks:
            x = stack(x)
        x = tf.nn.relu(x)
        x = tf.reshape(x, [tf.shape(x)[0], -1])
        x = self.fc(x)
        clipped = tf.clip_by_value(reward, -1, 1)[:, None]
        return tf.concat([x, clipped, tf.one_hot(last_action, self.num_actions)], axis=-1)

    def call(self, frames, last_action, reward, done, h0, c0):
        steps, batch = frames.shape[:2]
        flat = tf.reshape(frames, [-1, *frames.shape[2:]])
        torso = self.torso(flat, tf.reshape(last_action, [-1]), tf.reshape(reward, [-1]))
        torso = tf.reshape(torso, [steps, batch, -1])
        state = [h0, c0]
        outputs = []
        for t in range(steps):
            keep = (1.0 - done[t])[:, None]
            state = [s * keep for s in state]
            output, state = self.core(torso[t], state)
            outputs.append(output)
        core = tf.stack(outputs)
        logits = self.policy(core)
        baseline = tf.squeeze(self.baseline(core), -1)
        action = tf.random.categorical(tf.reshape(logits, [-1, self.num_actions]), 1)
        action = tf.reshape(action, [steps, batch])
        return {"logits": logits, "baseline": baseline, "action": action, "h": state[0], "c": state[1]}


def make():
    keras.utils.set_random_seed(3)
    model = ImpalaDeep()
    model(**{k: tf.constant(v) for k, v in inputs(0).items()})
    rng = np.random.default_rng(3)
    for weight in model.weights:
        if weight.path.endswith("bias"):
            weight.assign(weight.numpy() + rng.normal(size=weight.shape, scale=0.1).astype("float32"))
    head = model.policy.kernel
    head.assign(head.numpy() * 4)
    return model


def inputs(seed):
    rng = np.random.default_rng(seed)
    t, b = 4, 5
    return {
        "frames": rng.integers(0, 256, (t, b, 16, 16, 3)).astype("uint8"),
        "last_action": rng.integers(0, ACTIONS, (t, b)),
        "reward": rng.normal(scale=2, size=(t, b)).astype("float32"),
        "done": (rng.random((t, b)) < 0.3).astype("float32"),
        "h0": rng.normal(scale=0.5, size=(b, CELLS)).astype("float32"),
        "c0": rng.normal(scale=0.5, size=(b, CELLS)).astype("float32"),
    }
