"""The dueling IQN as a Keras functional model."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "tensorflow"


class CosineBasis(layers.Layer):
    """cos(pi * i * tau) for i = 1..n"""

    def __init__(self, n, **kw):
        super().__init__(**kw)
        self.n = n

    def call(self, taus):
        i = ops.arange(1, self.n + 1, dtype="float32")
        return ops.cos(np.pi * i[None, None, :] * taus[:, :, None])


def build(n_actions=6, n_cos=32, hidden=96):
    frames = keras.Input((4, 60, 60), dtype="uint8", name="frames")
    taus = keras.Input((None,), name="taus")

    x = layers.Rescaling(1.0 / 255)(frames)
    x = layers.Permute((2, 3, 1))(x)
    x = layers.Conv2D(16, 8, strides=4, activation="relu", name="conv1")(x)
    x = layers.Conv2D(32, 4, strides=2, activation="relu", name="conv2")(x)
    x = layers.Conv2D(32, 3, activation="relu", name="conv3")(x)
    x = layers.Permute((3, 1, 2))(x)
    psi = layers.Flatten()(x)

    basis = CosineBasis(n_cos, name="cosines")(taus)
    phi = layers.Dense(512, activation="relu", name="phi")(basis)
    h = layers.Multiply()([layers.Reshape((1, 512))(psi), phi])

    hv = layers.Dense(hidden, activation="relu", name="value_hidden")(h)
    ha = layers.Dense(hidden, activation="relu", name="advantage_hidden")(h)
    v = layers.Dense(1, name="value")(hv)
    a = layers.Dense(n_actions, name="advantage")(ha)
    centred = a - ops.mean(a, axis=2, keepdims=True)
    quantiles = v + centred
    q = ops.mean(quantiles, axis=1)
    return keras.Model([frames, taus], [quantiles, q])


def make():
    keras.utils.set_random_seed(5)
    model = build()
    rng = np.random.default_rng(5)
    for w in model.weights:
        if len(w.shape) == 1:
            w.assign(rng.normal(size=w.shape) * 0.1)
    return model


def load(ported, original):
    sd = {k: v.detach().numpy() for k, v in original.state_dict().items()}
    for name, i in (("conv1", 0), ("conv2", 2), ("conv3", 4)):
        kernel = sd[f"torso.{i}.weight"].transpose(2, 3, 1, 0)
        ported.get_layer(name).set_weights([kernel, sd[f"torso.{i}.bias"]])
    for name, key in (("phi", "phi"), ("value_hidden", "value.0"), ("value", "value.2"),
                      ("advantage_hidden", "advantage.0"), ("advantage", "advantage.2")):
        ported.get_layer(name).set_weights([sd[key + ".weight"].T, sd[key + ".bias"]])


def inputs(seed):
    rng = np.random.default_rng(seed)
    frames = rng.integers(0, 256, size=(5, 4, 60, 60)).astype(np.uint8)
    taus = rng.uniform(size=(5, 8)).astype(np.float32)
    return frames, taus
