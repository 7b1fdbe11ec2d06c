"""IQN, the Dopamine way: the taus are folded into the batch."""
import math

import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
N_TAUS = 8
N_COS = 16
ACTIONS = 5


def head(width, name):
    return [
        layers.Dense(32, activation="relu", name=f"{name}_hidden", bias_initializer="random_normal"),
        layers.Dense(width, name=f"{name}_out", bias_initializer="random_normal"),
    ]


def make():
    keras.utils.set_random_seed(5)
    frames = keras.Input((16, 16, 4), dtype="uint8", name="frames")
    taus = keras.Input((N_TAUS,), name="taus")

    x = ops.cast(frames, "float32") / 255.0
    x = layers.Conv2D(8, 4, strides=2, activation="relu", name="conv1", bias_initializer="random_normal")(x)
    x = layers.Conv2D(16, 3, strides=2, activation="relu", name="conv2", bias_initializer="random_normal")(x)
    state = layers.Flatten()(x)
    width = state.shape[-1]

    state = ops.repeat(state, N_TAUS, axis=0)
    tau = ops.reshape(taus, (-1, 1))
    pi_i = ops.arange(0, N_COS, dtype="float32") * math.pi
    tau = layers.Dense(width, activation="relu", name="phi", bias_initializer="random_normal")(ops.cos(tau * pi_i))
    mixed = layers.Multiply()([state, tau])

    value, advantage = mixed, mixed
    for layer in head(1, "value"):
        value = layer(value)
    for layer in head(ACTIONS, "advantage"):
        advantage = layer(advantage)
    value = ops.reshape(value, (-1, N_TAUS, 1))
    advantage = ops.reshape(advantage, (-1, N_TAUS, ACTIONS))
    quantiles = value + (advantage - ops.mean(advantage, axis=2, keepdims=True))
    return keras.Model([frames, taus], [quantiles, ops.mean(quantiles, axis=1)])


def load(model, reference):
    w = {k: v.detach().numpy() for k, v in reference.state_dict().items()}
    for ours, theirs in (("conv1", "trunk.0"), ("conv2", "trunk.2")):
        model.get_layer(ours).set_weights([w[theirs + ".weight"].transpose(2, 3, 1, 0), w[theirs + ".bias"]])
    # torch flattens (C, H, W), keras (H, W, C): position i of ours is position order[i] of theirs
    order = np.arange(144).reshape(16, 3, 3).transpose(1, 2, 0).ravel()
    model.get_layer("phi").set_weights([w["phi.weight"].T[:, order], w["phi.bias"][order]])
    for name in ("value", "advantage"):
        model.get_layer(f"{name}_hidden").set_weights([w[f"{name}.0.weight"].T[order], w[f"{name}.0.bias"]])
        model.get_layer(f"{name}_out").set_weights([w[f"{name}.2.weight"].T, w[f"{name}.2.bias"]])


def inputs(seed):
    rng = np.random.default_rng(seed)
    frames = rng.integers(0, 256, size=(4, 4, 16, 16), dtype=np.uint8)
    taus = rng.uniform(size=(4, N_TAUS)).astype(np.float32)
    return np.ascontiguousarray(frames.transpose(0, 2, 3, 1)), taus
