"""Monte-Carlo dropout (Gal; Kendall and Gal): a heteroscedastic regressor with dropout at test time, in Keras 3."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
FEATURES, HIDDEN, PASSES, RATE = 8, 32, 6, 0.2


def dense(units, activation=None):
    return layers.Dense(
        units, activation=activation, bias_initializer=keras.initializers.RandomNormal(stddev=0.2)
    )


class Regressor(keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden1 = dense(HIDDEN, "silu")
        self.drop1 = layers.Dropout(RATE, seed=1)
        self.hidden2 = dense(HIDDEN, "silu")
        self.drop2 = layers.Dropout(RATE, seed=2)
        self.mean = dense(1)
        self.log_variance = dense(1)

    def once(self, x):
        h = self.drop1(self.hidden1(x), training=True)
        h = self.drop2(self.hidden2(h), training=True)
        return self.mean(h)[:, 0], self.log_variance(h)[:, 0]

    def call(self, x, y):
        draws = [self.once(x) for _ in range(PASSES)]
        means = ops.stack([mean for mean, _ in draws])
        variances = ops.exp(ops.stack([log_variance for _, log_variance in draws]))
        prediction = ops.mean(means, axis=0)
        epistemic = ops.var(means, axis=0)
        aleatoric = ops.mean(variances, axis=0)
        total = epistemic + aleatoric
        nll = 0.5 * (ops.log(2 * np.pi * variances) + ops.square(y - means) / variances)
        score = ops.logsumexp(-nll, axis=0) - np.log(PASSES)
        return prediction, epistemic, aleatoric, total, score


def make():
    keras.utils.set_random_seed(6)
    model = Regressor()
    model(np.zeros((1, FEATURES), "float32"), np.zeros(1, "float32"))
    return model


def inputs(seed):
    rng = np.random.default_rng(seed)
    return {
        "x": rng.normal(size=(10, FEATURES)).astype("float32"),
        "y": rng.normal(size=10).astype("float32"),
    }
