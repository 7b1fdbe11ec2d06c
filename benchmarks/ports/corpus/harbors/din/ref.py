"""A click model: Deep Interest attention over the history, a DCN-v2 cross tower and a deep tower."""

import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
USERS, ITEMS, HISTORY, DENSE, EMB = 20, 50, 8, 6, 8


@keras.saving.register_keras_serializable()
class Interest(layers.Layer):
    """Weights of past items for the target by an MLP; not normalised, as in the paper."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.hidden = layers.Dense(16, name="hidden")
        self.act = layers.PReLU(shared_axes=[1], name="act")
        self.score = layers.Dense(1, name="score")

    def build(self, shape):
        self.hidden.build((None, HISTORY, 4 * EMB))
        self.act.build((None, HISTORY, 16))
        self.score.build((None, HISTORY, 16))

    def call(self, past, target, valid):
        target = ops.broadcast_to(target[:, None], ops.shape(past))
        pairs = ops.concatenate([past, target, past - target, past * target], axis=-1)
        weight = self.score(self.act(self.hidden(pairs)))
        weight = ops.where(valid[..., None], weight, 0.0)
        return ops.sum(weight * past, axis=1)


def build():
    user, target = keras.Input((), dtype="int32"), keras.Input((), dtype="int32")
    history, dense = keras.Input((HISTORY,), dtype="int32"), keras.Input((DENSE,))
    items = layers.Embedding(ITEMS, EMB, name="items")
    wanted = items(target)
    interest = Interest(name="interest")(items(history), wanted, history > 0)
    counts = ops.log1p(ops.relu(dense))
    x0 = ops.concatenate([layers.Embedding(USERS, EMB, name="users")(user), interest, wanted, counts], axis=-1)

    cross = x0
    for i in range(3):
        cross = x0 * layers.Dense(x0.shape[-1], name=f"cross{i}")(cross) + cross
    deep = x0
    for i, width in enumerate((32, 16)):
        deep = layers.Dense(width, name=f"deep{i}")(deep)
        deep = layers.BatchNormalization(name=f"bn{i}")(deep)
        deep = layers.Activation("relu")(deep)
    logit = layers.Dense(1, name="logit")(ops.concatenate([cross, deep], axis=-1))
    return keras.Model([user, history, target, dense], ops.sigmoid(logit[:, 0]))


def make(seed=0):
    net, rng = build(), np.random.default_rng(seed)
    for w in net.weights:
        noise = rng.normal(size=w.shape)
        if w.name == "moving_variance":
            w.assign(0.5 + abs(noise))
        elif w.name in ("embeddings", "kernel"):
            w.assign(noise * (0.7 if w.name == "embeddings" else 0.7 * w.shape[0] ** -0.5))
        else:
            w.assign((w.name == "gamma") + 0.2 * noise)
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    history = rng.integers(1, ITEMS, (6, HISTORY))
    history[np.arange(HISTORY) >= np.array([8, 3, 5, 1, 8, 6])[:, None]] = 0
    user, target = rng.integers(0, USERS, 6), rng.integers(1, ITEMS, 6)
    dense = rng.normal(2, 3, (6, DENSE)).astype("float32")
    return user.astype("int32"), history.astype("int32"), target.astype("int32"), dense
