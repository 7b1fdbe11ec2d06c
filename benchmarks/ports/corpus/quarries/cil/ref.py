"""Conditional imitation learning for driving: command-branched policy, Keras functional API."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "tensorflow"
COMMANDS = ("follow", "left", "right", "straight")


def conv_block(x, filters, kernel, strides, name):
    x = layers.Conv2D(filters, kernel, strides=strides, padding="same", use_bias=False, name=name)(x)
    x = layers.BatchNormalization(name=name + "_bn")(x)
    x = layers.ReLU()(x)
    return layers.Dropout(0.2)(x)


def build():
    image = keras.Input((32, 48, 3), name="image")
    speed = keras.Input((1,), name="speed")
    command = keras.Input((4,), name="command")

    x = conv_block(image, 12, 5, 2, "conv1")
    x = conv_block(x, 16, 3, 2, "conv2")
    x = conv_block(x, 24, 3, 2, "conv3")
    x = layers.Flatten(name="flatten")(x)
    perception = layers.Dense(64, activation="relu", name="img_fc")(x)

    s = layers.Dense(16, activation="relu", name="speed_fc1")(speed)
    s = layers.Dense(16, activation="relu", name="speed_fc2")(s)
    j = layers.Concatenate(name="join")([perception, s])
    j = layers.Dense(64, activation="relu", name="join_fc")(j)

    branches = []
    for c in COMMANDS:
        b = layers.Dense(24, activation="relu", name=c + "_fc")(j)
        steer = layers.Dense(1, activation="tanh", name=c + "_steer")(b)
        pedals = layers.Dense(2, activation="sigmoid", name=c + "_pedals")(b)
        branches.append(layers.Concatenate()([steer, pedals]))
    stacked = ops.stack(branches, axis=1)
    control = ops.sum(stacked * command[:, :, None], axis=1)

    v = layers.Dense(24, activation="relu", name="pred_fc")(perception)
    v = layers.Dense(1, name="pred_speed")(v)
    return keras.Model([image, speed, command], [control, v])


def make():
    keras.utils.set_random_seed(61)
    model = build()
    rng = np.random.default_rng(61)
    for w in model.weights:
        leaf = w.path.rsplit("/", 1)[-1]
        if leaf in ("bias", "beta"):
            w.assign(0.15 * rng.normal(size=w.shape))
        elif leaf == "moving_mean":
            w.assign(0.3 * rng.normal(size=w.shape))
        elif leaf == "gamma":
            w.assign(rng.uniform(0.7, 1.3, size=w.shape))
        elif leaf == "moving_variance":
            w.assign(rng.uniform(0.2, 0.8, size=w.shape))
    return model


def inputs(seed):
    rng = np.random.default_rng(seed)
    B = 6
    image = rng.uniform(size=(B, 32, 48, 3))
    image[:, :14] = 0.5 * image[:, :14] + 0.5        # bright sky
    speed = rng.uniform(0, 1.2, size=(B, 1))
    command = np.eye(4)[np.array([0, 1, 2, 3, 2, 1])]
    return image.astype(np.float32), speed.astype(np.float32), command.astype(np.float32)
