"""CRNN text recogniser in Keras: convolutions, a masked bidirectional GRU and greedy CTC decoding."""

import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"

HEIGHT, WIDTH = 8, 32
SYMBOLS = 9
BLANK = SYMBOLS
UNITS = 14


def greedy_decode(log_probs, mask):
    """Best path with repeats and blanks removed; -1 fills what is left on the right."""
    best = ops.argmax(log_probs, axis=-1)
    best = ops.where(mask, best, BLANK)
    before = ops.concatenate([ops.full_like(best[:, :1], -1), best[:, :-1]], axis=1)
    keep = ops.logical_and(best != before, best != BLANK)
    place = ops.cumsum(ops.cast(keep, "int32"), axis=1) - 1
    length = best.shape[1]
    spots = ops.one_hot(ops.where(keep, place, -1), length, dtype="int32")
    text = ops.sum(spots * (ops.cast(best, "int32") + 1)[:, :, None], axis=1) - 1
    return text


class ConvStage(layers.Layer):
    def __init__(self, filters, pool, **kwargs):
        super().__init__(**kwargs)
        self.conv = layers.Conv2D(filters, 3, padding="same", bias_initializer="random_normal")
        self.act = layers.LeakyReLU(negative_slope=0.1)
        self.pool = layers.MaxPooling2D(pool)

    def call(self, x):
        return self.pool(self.act(self.conv(x)))


class CRNN(keras.Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.stages = [ConvStage(8, (2, 2)), ConvStage(12, (2, 1))]
        self.rnns = [
            layers.Bidirectional(
                layers.GRU(UNITS, return_sequences=True, bias_initializer="random_normal")
            )
            for _ in range(2)
        ]
        self.classifier = layers.Dense(SYMBOLS + 1, bias_initializer="random_normal")

    def call(self, images, widths):
        x = images
        for stage in self.stages:
            x = stage(x)
        x = ops.transpose(x, (0, 2, 1, 3))
        x = ops.reshape(x, (-1, x.shape[1], x.shape[2] * x.shape[3]))
        steps = (ops.cast(widths, "int32") + 1) // 2
        mask = ops.arange(x.shape[1], dtype="int32")[None, :] < steps[:, None]
        for rnn in self.rnns:
            x = rnn(x, mask=mask)
            x = x * ops.cast(mask, "float32")[:, :, None]
        log_probs = ops.log_softmax(self.classifier(x), axis=-1)
        log_probs = ops.where(mask[:, :, None], log_probs, 0.0)
        return log_probs, greedy_decode(log_probs, mask)


def make(seed=0):
    keras.utils.set_random_seed(seed)
    model = CRNN()
    model(np.zeros((1, HEIGHT, WIDTH, 1), np.float32), np.full((1,), WIDTH, np.int64))
    rng = np.random.default_rng(seed)
    for rnn in model.rnns:
        for layer in (rnn.forward_layer, rnn.backward_layer):
            layer.cell.bias.assign(rng.normal(0, 0.2, layer.cell.bias.shape))
            layer.cell.kernel.assign(layer.cell.kernel * 4)
    model.classifier.kernel.assign(model.classifier.kernel * 5)
    # Untrained, a few classes would win everywhere: level the classes on noise, the blank a bit above.
    model.classifier.bias.assign(np.zeros(SYMBOLS + 1))
    noise = rng.normal(size=(16, HEIGHT, WIDTH, 1)).astype(np.float32)
    log_probs, _ = model(noise, np.full((16,), WIDTH, np.int64))
    level = np.asarray(log_probs).mean(axis=(0, 1))
    model.classifier.bias.assign(0.3 * np.eye(SYMBOLS + 1)[BLANK] - level)
    return model


def load(model, reference):
    pass


def inputs(seed):
    rng = np.random.default_rng(seed + 60)
    images = rng.normal(size=(6, HEIGHT, WIDTH, 1)).astype(np.float32)
    return images, np.array([32, 32, 21, 32, 32, 14], dtype=np.int64)
