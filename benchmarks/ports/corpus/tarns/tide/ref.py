"""TiDE, Time-series Dense Encoder (Das et al., 2023), with reversible instance norm. Keras subclassing."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "keras"
LOOKBACK, HORIZON, COVS, STATIC, HIDDEN, PROJ, DEC = 12, 6, 4, 3, 16, 2, 4


class ResidualBlock(layers.Layer):
    def __init__(self, hidden, out, norm=True, **kw):
        super().__init__(**kw)
        self.hidden = layers.Dense(hidden, activation="relu")
        self.out = layers.Dense(out)
        self.skip = layers.Dense(out)
        self.norm = layers.LayerNormalization() if norm else None

    def call(self, x):
        h = self.out(self.hidden(x))
        h = h + self.skip(x)
        return h if self.norm is None else self.norm(h)


class TiDE(keras.Model):
    def __init__(self):
        super().__init__()
        self.scale = self.add_weight(shape=(1,), name="affine_scale")
        self.shift = self.add_weight(shape=(1,), name="affine_shift")
        self.feature_proj = ResidualBlock(8, PROJ)
        self.encoder = [ResidualBlock(HIDDEN, HIDDEN), ResidualBlock(HIDDEN, HIDDEN)]
        self.decoder = [ResidualBlock(HIDDEN, HIDDEN), ResidualBlock(HIDDEN, HORIZON * DEC)]
        self.temporal = ResidualBlock(8, 1, norm=False)
        self.global_skip = layers.Dense(HORIZON)

    def call(self, past, covariates, static):
        mean = ops.mean(past, axis=1, keepdims=True)
        std = ops.sqrt(ops.var(past, axis=1, keepdims=True) + 1e-5)
        y = (past - mean) / std * self.scale + self.shift
        cov = self.feature_proj(covariates)
        flat = ops.reshape(cov, (-1, (LOOKBACK + HORIZON) * PROJ))
        h = ops.concatenate([y, flat, static], axis=-1)
        for block in self.encoder:
            h = block(h)
        for block in self.decoder:
            h = block(h)
        d = ops.reshape(h, (-1, HORIZON, DEC))
        d = ops.concatenate([d, cov[:, LOOKBACK:]], axis=-1)
        out = ops.squeeze(self.temporal(d), axis=-1)
        out = out + self.global_skip(y)
        return (out - self.shift) / self.scale * std + mean


def make():
    model = TiDE()
    model(*inputs(0))
    rs = np.random.RandomState(7)
    for w in model.weights:
        fan = w.shape[0] if len(w.shape) > 1 else 12
        v = rs.randn(*w.shape) * 1.2 / fan ** 0.5
        if w.path.endswith(("gamma", "affine_scale")):
            v = 1 + v
        w.assign(v.astype("float32"))
    return model


def inputs(seed):
    rs = np.random.RandomState(seed)
    past = np.cumsum(rs.randn(5, LOOKBACK), axis=1) + 2 * rs.randn(5, 1)
    return (past.astype("float32"), rs.randn(5, LOOKBACK + HORIZON, COVS).astype("float32"),
            rs.randn(5, STATIC).astype("float32"))
