"""DouZero agent in the Keras functional API."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
RANKS, MOVES, ACTIONS, H = 15, 15, 4, 16


class Thermometer(layers.Layer):
    """Card counts to 4 planes per rank, flattened."""

    def call(self, counts):
        levels = ops.arange(1, 5, dtype="float32")
        planes = ops.cast(ops.expand_dims(counts, -1) >= levels, "float32")
        return ops.reshape(planes, tuple(counts.shape[:-1]) + (RANKS * 4,)) if counts.shape[0] else \
            ops.reshape(planes, (-1,) + tuple(counts.shape[1:-1]) + (RANKS * 4,))


class MaskedPolicy(layers.Layer):
    def __init__(self, temperature=0.5, floor=-5.0, **kw):
        super().__init__(**kw)
        self.temperature, self.floor = temperature, floor

    def call(self, values, legal):
        values = ops.where(legal < 0.5, self.floor, values)
        return values, ops.softmax(values / self.temperature, axis=-1)


def build():
    hand = keras.Input((RANKS,), name="hand")
    history = keras.Input((MOVES, RANKS), name="history")
    actions = keras.Input((ACTIONS, RANKS), name="actions")
    legal = keras.Input((ACTIONS,), name="legal")

    encode = Thermometer(name="encode")
    z = layers.Reshape((MOVES // 3, 3 * 60))(encode(history))
    last = layers.LSTM(H, name="lstm")(z)
    state = layers.LayerNormalization(epsilon=1e-5, name="state_norm")(encode(hand))
    context = layers.Concatenate()([last, state])
    bid_logits = layers.Dense(4, name="bid")(context)
    bids = ops.log_softmax(bid_logits, axis=-1)
    rep = layers.RepeatVector(ACTIONS)(context)
    x = layers.Concatenate()([rep, encode(actions)])
    x = layers.Dense(32, activation="relu", name="dense1")(x)
    x = layers.Dense(24, activation="relu", name="dense2")(x)
    h = layers.Dense(24, activation="relu", name="dense3")(x)
    x = layers.Add()([x, h])
    raw = layers.Reshape((ACTIONS,))(layers.Dense(1, name="value")(x))
    values, policy = MaskedPolicy(name="head")(raw, legal)
    return keras.Model([hand, history, actions, legal], [values, policy, bids])


def make():
    model = build()
    rng = np.random.default_rng(3)
    model.set_weights([(rng.normal(size=w.shape) * 0.2 + (1 if "gamma" in v.path else 0)).astype("float32")
                       for v, w in zip(model.weights, model.get_weights())])
    return model


def load(ported, original):
    sd = {k: v.detach().numpy() for k, v in original.state_dict().items()}
    for n in ("dense1", "dense2", "dense3", "value", "bid"):
        ported.get_layer(n).set_weights([sd[n + ".weight"].T, sd[n + ".bias"]])
    ported.get_layer("state_norm").set_weights([sd["state_norm.weight"], sd["state_norm.bias"]])
    ported.get_layer("lstm").set_weights([sd["lstm.weight_ih_l0"].T, sd["lstm.weight_hh_l0"].T,
                                          sd["lstm.bias_ih_l0"] + sd["lstm.bias_hh_l0"]])


def inputs(seed):
    rng = np.random.default_rng(seed)
    hand = rng.integers(0, 5, size=(5, RANKS)).astype("float32")
    history = (rng.integers(0, 5, size=(5, MOVES, RANKS)) * (rng.random((5, MOVES, RANKS)) < 0.4)).astype("float32")
    actions = (rng.integers(0, 5, size=(5, ACTIONS, RANKS)) * (rng.random((5, ACTIONS, RANKS)) < 0.3)).astype("float32")
    legal = (rng.random((5, ACTIONS)) < 0.7).astype("float32")
    legal[:, 0] = 1
    return hand, history, actions, legal
