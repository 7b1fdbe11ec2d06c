"""Feudal option-critic on images: manager goals, option values, terminations, intra-option policies."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
OPTIONS, ACTIONS, GOAL = 4, 5, 12


@keras.saving.register_keras_serializable("feudal")
class IntraOption(layers.Layer):
    """A linear softmax policy for each option."""

    def build(self, shape):
        self.kernel = self.add_weight(shape=(OPTIONS, shape[-1], ACTIONS), initializer="glorot_normal", name="kernel")
        self.bias = self.add_weight(shape=(OPTIONS, ACTIONS), initializer="random_normal", name="bias")

    def call(self, x):
        return ops.softmax(ops.einsum("bf,ofa->boa", x, self.kernel) + self.bias)


class Unit(layers.Layer):
    def call(self, x):
        return x / ops.maximum(ops.norm(x, axis=-1, keepdims=True), 1e-6)


def encoder(x):
    x = layers.Rescaling(1 / 255.0)(x)
    x = layers.Conv2D(8, 4, strides=2, padding="same", activation="relu", name="c1")(x)
    x = layers.BatchNormalization(name="bn")(x)
    x = layers.Conv2D(12, 3, strides=2, padding="valid", activation="relu", name="c2")(x)
    x = layers.MaxPooling2D(2, strides=1)(x)
    x = layers.Flatten()(x)
    return layers.Dense(32, activation="silu", name="embed")(x)


def make():
    keras.utils.set_random_seed(4)
    image = keras.Input((20, 20, 3), name="image")
    previous = keras.Input((GOAL,), name="previous_goal")
    option = keras.Input((OPTIONS,), name="option")
    z = encoder(image)
    manager = layers.LayerNormalization(epsilon=1e-3, name="manager_norm")(layers.Dense(GOAL, name="manager")(z))
    goal = Unit()(manager)
    pooled = layers.Lambda(lambda g: 0.9 * g[0] + 0.1 * g[1])([goal, previous])
    w = layers.Dense(16, use_bias=False, name="phi")(pooled)
    worker = layers.Multiply()([layers.Dense(16, activation="tanh", name="worker")(z), w])
    joined = layers.Concatenate()([z, worker])
    q_omega = layers.Dense(OPTIONS, name="q_omega")(joined)
    beta = layers.Dense(OPTIONS, activation="sigmoid", name="beta")(joined)
    pi = IntraOption(name="pi")(joined)
    beta_w = ops.sum(beta * option, axis=-1)
    q_w = ops.sum(q_omega * option, axis=-1)
    v = ops.max(q_omega, axis=-1)
    arrival = (1.0 - beta_w) * q_w + beta_w * v
    similarity = ops.sum(goal * Unit()(previous), axis=-1)
    net = keras.Model([image, previous, option], [q_omega, beta, pi, arrival, similarity])
    rng = np.random.default_rng(4)
    bn = net.get_layer("bn")
    bn.set_weights([rng.uniform(0.6, 1.4, 8), rng.normal(size=8) * 0.2, rng.normal(size=8) * 0.1, rng.uniform(0.01, 0.06, 8)])
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    image = rng.integers(0, 256, (4, 20, 20, 3)).astype("float32")
    option = np.eye(OPTIONS, dtype="float32")[rng.integers(0, OPTIONS, 4)]
    return image, rng.normal(size=(4, GOAL)).astype("float32"), option
