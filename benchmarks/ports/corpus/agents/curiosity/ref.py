"""Two exploration bonuses: random network distillation and the intrinsic curiosity module."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
SIDE, ACTIONS, FEATURES = 12, 4, 16


def bias():
    return keras.initializers.RandomUniform(-0.2, 0.2)


def rnd_network(extra, name):
    stack = [
        layers.Conv2D(6, 4, strides=2, bias_initializer=bias()),
        layers.LeakyReLU(),
        layers.Conv2D(8, 3, bias_initializer=bias()),
        layers.LeakyReLU(),
        layers.Flatten(),
    ]
    for _ in range(extra):
        stack.append(layers.Dense(24, activation="relu", bias_initializer=bias()))
    stack.append(layers.Dense(FEATURES, bias_initializer=bias()))
    return keras.Sequential(stack, name=name)


class Curiosity(keras.Model):
    def __init__(self):
        super().__init__()
        self.target = rnd_network(0, "target")
        self.predictor = rnd_network(1, "predictor")
        self.encoder = keras.Sequential(
            [
                layers.Conv2D(6, 3, strides=2, padding="same", activation="elu", bias_initializer=bias()),
                layers.Conv2D(5, 3, strides=2, padding="same", activation="elu", bias_initializer=bias()),
                layers.Flatten(),
            ],
            name="encoder",
        )
        self.inverse_hidden = layers.Dense(24, activation="relu", bias_initializer=bias())
        self.inverse_logits = layers.Dense(ACTIONS, bias_initializer=bias())
        self.forward_hidden = layers.Dense(24, activation="relu", bias_initializer=bias())
        self.forward_out = layers.Dense(3 * 3 * 5, bias_initializer=bias())
        self.mean = self.add_weight(shape=(SIDE, SIDE, 1), initializer=keras.initializers.RandomUniform(90, 160), trainable=False)
        self.var = self.add_weight(shape=(SIDE, SIDE, 1), initializer=keras.initializers.RandomUniform(300, 900), trainable=False)

    def rnd(self, next_frames):
        newest = next_frames[..., -1:]
        x = ops.clip((newest - self.mean) / ops.sqrt(self.var), -5.0, 5.0)
        error = self.target(x) - self.predictor(x)
        return ops.mean(ops.square(error), axis=-1)

    def icm(self, frames, actions, next_frames):
        phi, phi_next = self.encoder(frames / 255.0), self.encoder(next_frames / 255.0)
        logits = self.inverse_logits(self.inverse_hidden(ops.concatenate([phi, phi_next], axis=1)))
        known = ops.concatenate([phi, ops.one_hot(actions, ACTIONS)], axis=1)
        guess = self.forward_out(self.forward_hidden(known))
        surprise = 0.5 * ops.sum(ops.square(guess - phi_next), axis=1)
        return surprise, logits

    def call(self, frames, actions, next_frames):
        bonus = self.rnd(next_frames)
        surprise, logits = self.icm(frames, actions, next_frames)
        return {"rnd": bonus, "icm": surprise, "inverse": ops.log_softmax(logits, axis=-1)}


def make():
    keras.utils.set_random_seed(30)
    model = Curiosity()
    model(*inputs(0))
    return model


def inputs(seed):
    rng = np.random.default_rng(seed)
    frames = rng.integers(0, 256, size=(4, SIDE, SIDE, 3)).astype(np.float32)
    following = rng.integers(0, 256, size=(4, SIDE, SIDE, 1)).astype(np.float32)
    actions = rng.integers(0, ACTIONS, size=4)
    return frames, actions, np.concatenate([frames[..., 1:], following], axis=-1)
