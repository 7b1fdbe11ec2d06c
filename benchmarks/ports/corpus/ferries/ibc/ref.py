"""Implicit behaviour cloning: conv-maxpool encoder, energy net, derivative-free optimiser. Keras functional."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
LAYOUT = "NHWC"
IMG, N, ACT, ITERS, HID = 16, 8, 2, 3, 16
SIGMA, SHRINK = 0.33, 0.5


def conv_maxpool(image):
    x = layers.Conv2D(8, 3, padding="same", activation="relu", name="conv1")(image)
    x = layers.MaxPooling2D(2)(x)
    x = layers.Conv2D(12, 3, padding="same", activation="relu", name="conv2")(x)
    x = layers.Conv2D(16, 3, strides=2, padding="same", name="conv3")(x)
    x = layers.LeakyReLU()(x)
    return layers.GlobalAveragePooling2D()(x)


class EnergyMLP(layers.Layer):
    """pre-activation residual blocks, as MLPResNetPreActivation"""

    def __init__(self, **kw):
        super().__init__(**kw)
        self.inp = layers.Dense(HID)
        self.blocks = [(layers.LayerNormalization(), layers.Dense(HID),
                        layers.LayerNormalization(), layers.Dense(HID)) for _ in range(2)]
        self.flat = [l for b in self.blocks for l in b]
        self.energy = layers.Dense(1)

    def call(self, feat, actions):
        n = actions.shape[1]
        obs = ops.repeat(ops.expand_dims(feat, 1), n, axis=1)
        x = self.inp(ops.concatenate([obs, actions], axis=-1))
        for ln1, d1, ln2, d2 in self.blocks:
            h = d1(ops.relu(ln1(x)))
            h = d2(ops.relu(ln2(h)))
            x = x + h
        return ops.squeeze(self.energy(x), -1)


def build():
    image = keras.Input((IMG, IMG, 3), name="image")
    candidates = keras.Input((N, ACT), name="candidates")
    noise = keras.Input((ITERS, N, ACT), name="noise")
    feat = conv_maxpool(image)
    energy = EnergyMLP(name="energy_net")
    actions, sigma = candidates, SIGMA
    for k in range(ITERS):
        e = energy(feat, actions)
        _, idx = ops.top_k(-e, N // 2)
        elites = ops.take_along_axis(actions, ops.expand_dims(idx, -1), axis=1)
        elites = ops.concatenate([elites, elites], axis=1)
        actions = ops.clip(elites + sigma * noise[:, k], -1.0, 1.0)
        sigma = sigma * SHRINK
    e = energy(feat, actions)
    probs = ops.softmax(-e, axis=-1)
    action = ops.sum(ops.expand_dims(probs, -1) * actions, axis=1)
    return keras.Model([image, candidates, noise], [action, e, probs])


def make():
    keras.utils.set_random_seed(4)
    model = build()
    rng = np.random.RandomState(4)
    for w in model.weights:
        s = w.shape
        if w.name == "gamma":
            v = rng.uniform(0.5, 1.5, s)
        elif len(s) == 1:
            v = 0.3 * rng.randn(*s)
        else:
            v = rng.randn(*s) * 1.4 / np.sqrt(np.prod(s[:-1]))
        w.assign(v.astype(np.float32))
    return model


def inputs(seed):
    rng = np.random.RandomState(seed)
    return (rng.rand(4, IMG, IMG, 3).astype(np.float32),
            rng.uniform(-1, 1, (4, N, ACT)).astype(np.float32),
            rng.randn(4, ITERS, N, ACT).astype(np.float32))
