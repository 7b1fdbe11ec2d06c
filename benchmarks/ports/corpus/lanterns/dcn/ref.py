"""Click-through model: embeddings, DCN-v2 cross layers, FM term and a deep tower (Keras functional)."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "keras"
SIZES = [6, 11, 4, 9, 7]
OFFSETS = np.array([0, 6, 17, 21, 30], "int32")
DIM = 5


class FactorizationMachine(layers.Layer):
    """second-order interactions of [batch, fields, dim]"""

    def call(self, v):
        square_of_sum = ops.square(ops.sum(v, axis=1))
        sum_of_squares = ops.sum(ops.square(v), axis=1)
        return 0.5 * ops.sum(square_of_sum - sum_of_squares, axis=-1, keepdims=True)


class AddOffsets(layers.Layer):
    def call(self, ids):
        return ids + OFFSETS


def make_model(numeric=6, cross=3, tower=(24, 12)):
    num_in = keras.Input((numeric,), name="numeric")
    cat_in = keras.Input((len(SIZES),), dtype="int32", name="categorical")
    ids = AddOffsets()(cat_in)
    vectors = layers.Embedding(sum(SIZES), DIM, name="embedding")(ids)
    first = layers.Embedding(sum(SIZES), 1, name="linear_embedding")(ids)
    dense = layers.BatchNormalization(epsilon=1e-3, name="numeric_bn")(num_in)
    x0 = layers.Concatenate()([dense, layers.Flatten()(vectors)])

    x = x0
    for i in range(cross):
        xw = layers.Dense(x0.shape[-1], name=f"cross{i}")(x)
        x = layers.Add()([layers.Multiply()([x0, xw]), x])

    deep = x0
    for i, units in enumerate(tower):
        deep = layers.Dense(units, name=f"deep{i}")(deep)
        deep = layers.BatchNormalization(epsilon=1e-3, name=f"deep{i}_bn")(deep)
        deep = layers.ReLU()(deep)

    joint = layers.Dense(1, name="head")(layers.Concatenate()([x, deep]))
    fm = FactorizationMachine()(vectors)
    wide = layers.Dense(1, use_bias=False, name="wide")(dense)
    wide = layers.Add()([wide, ops.sum(first, axis=1)])
    logit = layers.Add()([joint, fm, wide])
    return keras.Model([num_in, cat_in], layers.Activation("sigmoid", name="ctr")(logit))


def make(seed=0):
    model = make_model()
    rng = np.random.default_rng(seed)
    for w in model.weights:
        noise = rng.normal(size=w.shape)
        if w.name == "kernel":
            w.assign(noise / np.sqrt(w.shape[0]))
        elif w.name == "embeddings":
            w.assign(0.4 * noise)
        elif w.name == "gamma":
            w.assign(1 + 0.2 * noise)
        elif w.name == "moving_variance":
            w.assign(rng.uniform(0.5, 1.5, size=w.shape))
        else:
            w.assign(0.2 * noise)
    return model


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    numeric = rng.normal(size=(8, 6)).astype("float32")
    return numeric, np.stack([rng.integers(0, n, size=8) for n in SIZES], axis=1).astype("int32")
