"""A temporal fusion transformer's core (Lim et al. 2021) in Keras: selection, gating, LSTM."""

import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
D, VARIABLES, STATIC, STEPS, HEADS, QUANTILES = 16, 4, 3, 10, 4, 3


class GLU(layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.linear = layers.Dense(units)
        self.gate = layers.Dense(units, activation="sigmoid")

    def call(self, x):
        return self.linear(x) * self.gate(x)


class GRN(layers.Layer):
    """Gated residual network, with an optional context."""

    def __init__(self, units, size_in, context=False):
        super().__init__()
        self.dense1 = layers.Dense(units)
        self.context = layers.Dense(units, use_bias=False) if context else None
        self.dense2 = layers.Dense(units)
        self.glu = GLU(units)
        self.norm = layers.LayerNormalization()
        self.skip = layers.Dense(units) if size_in != units else None

    def call(self, x, context=None):
        h = self.dense1(x)
        if context is not None:
            h = h + self.context(context)
        h = self.dense2(ops.elu(h))
        residual = x if self.skip is None else self.skip(x)
        return self.norm(residual + self.glu(h))


class VariableSelection(layers.Layer):
    def __init__(self):
        super().__init__()
        self.embed = [layers.Dense(D) for _ in range(VARIABLES)]
        self.single = [GRN(D, D) for _ in range(VARIABLES)]
        self.weighting = GRN(VARIABLES, VARIABLES * D, context=True)

    def call(self, x, context):
        embedded = [dense(x[..., i : i + 1]) for i, dense in enumerate(self.embed)]
        flat = ops.concatenate(embedded, axis=-1)
        weights = ops.softmax(self.weighting(flat, context[:, None, :]), axis=-1)
        processed = ops.stack([grn(e) for grn, e in zip(self.single, embedded)], axis=-1)
        return ops.sum(processed * weights[:, :, None, :], axis=-1), weights


class TFT(keras.Model):
    def __init__(self):
        super().__init__()
        self.static = GRN(D, STATIC)
        self.selection = VariableSelection()
        self.init_h, self.init_c = layers.Dense(D), layers.Dense(D)
        self.lstm = layers.LSTM(D, return_sequences=True)
        self.lstm_glu, self.lstm_norm = GLU(D), layers.LayerNormalization()
        self.enrich = GRN(D, D, context=True)
        self.q, self.k = layers.Dense(D), layers.Dense(D)
        self.v = layers.Dense(D // HEADS)
        self.o = layers.Dense(D, use_bias=False)
        self.attention_glu, self.attention_norm = GLU(D), layers.LayerNormalization()
        self.feed_forward = GRN(D, D)
        self.quantiles = layers.Dense(QUANTILES)

    def attention(self, x):
        """Interpretable: the heads share the values, and are averaged."""
        b, t = x.shape[0], x.shape[1]
        q = ops.reshape(self.q(x), (b, t, HEADS, D // HEADS))
        k = ops.reshape(self.k(x), (b, t, HEADS, D // HEADS))
        scores = ops.einsum("bihd,bjhd->bhij", q, k) / np.sqrt(D // HEADS).astype("float32")
        causal = ops.tril(ops.ones((t, t), dtype="bool"))
        scores = ops.where(causal, scores, -1e9)
        weights = ops.mean(ops.softmax(scores, axis=-1), axis=1)
        return self.o(ops.matmul(weights, self.v(x)))

    def call(self, observed, static):
        context = self.static(static)
        selected, weights = self.selection(observed, context)
        state = [self.init_h(context), self.init_c(context)]
        h = self.lstm(selected, initial_state=state)
        h = self.lstm_norm(selected + self.lstm_glu(h))
        enriched = self.enrich(h, context[:, None, :])
        attended = self.attention_norm(enriched + self.attention_glu(self.attention(enriched)))
        out = self.feed_forward(attended)
        return self.quantiles(out[:, STEPS // 2 :]), weights


def make():
    keras.utils.set_random_seed(6)
    model = TFT()
    model(*inputs(0))
    rng = np.random.default_rng(6)
    for v in model.variables:
        if v.name in ("gamma", "beta", "bias"):
            v.assign_add(rng.normal(size=v.shape) * 0.2)
    return model


def inputs(seed):
    rng = np.random.default_rng(seed)
    observed = rng.normal(size=(4, STEPS, VARIABLES)).astype("float32")
    return observed, rng.normal(size=(4, STATIC)).astype("float32")
