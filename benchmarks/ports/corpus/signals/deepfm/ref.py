"""DeepFM (Guo et al. 2017) in Keras: linear part, factorisation machine, deep part."""

import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
FIELDS = (11, 7, 5, 13)
DENSE, K = 4, 6


class CrossLayer(layers.Layer):
    """A low-rank cross layer (DCN-V2) with two experts."""

    def __init__(self, rank=4, **kwargs):
        super().__init__(**kwargs)
        self.rank = rank

    def build(self, shape):
        width = shape[-1]
        self.u = self.add_weight(shape=(2, self.rank, width), initializer="glorot_normal", name="u")
        self.v = self.add_weight(shape=(2, width, self.rank), initializer="glorot_normal", name="v")
        self.c = self.add_weight(shape=(2, self.rank, self.rank), initializer="glorot_normal", name="c")
        self.bias = self.add_weight(shape=(width,), initializer="random_normal", name="bias")
        self.gate = layers.Dense(2)

    def call(self, x0, x):
        low = ops.tanh(ops.einsum("bw,ewr->ber", x, self.v))
        low = ops.tanh(ops.einsum("ber,ers->bes", low, self.c))
        cross = ops.einsum("ber,erw->bew", low, self.u) + self.bias
        cross = ops.expand_dims(x0, 1) * cross
        gates = ops.softmax(self.gate(x), axis=-1)
        return x + ops.einsum("bew,be->bw", cross, gates)


@keras.saving.register_keras_serializable()
class DeepFM(keras.Model):
    def __init__(self):
        super().__init__()
        normal = keras.initializers.RandomNormal(stddev=0.3)
        self.embeddings = [layers.Embedding(n, K, embeddings_initializer=normal) for n in FIELDS]
        self.linears = [layers.Embedding(n, 1, embeddings_initializer=normal) for n in FIELDS]
        self.dense_linear = layers.Dense(1)
        self.dense_factors = self.add_weight(shape=(DENSE, K), initializer=normal, name="factors")
        self.cross = CrossLayer()
        self.hidden = [layers.Dense(24, use_bias=False), layers.Dense(16, use_bias=False)]
        self.norms = [layers.BatchNormalization(), layers.BatchNormalization()]
        self.dropout = layers.Dropout(0.2)
        self.out = layers.Dense(1)

    def call(self, categories, numbers, training=False):
        linear = self.dense_linear(ops.log1p(ops.relu(numbers)))
        factors = []
        for i, (embedding, weight) in enumerate(zip(self.embeddings, self.linears)):
            linear = linear + weight(categories[:, i])
            factors.append(embedding(categories[:, i]))
        logged = ops.log1p(ops.relu(numbers))
        dense = ops.expand_dims(logged, -1) * self.dense_factors
        stacked = ops.concatenate([ops.stack(factors, axis=1), dense], axis=1)
        square_of_sum = ops.square(ops.sum(stacked, axis=1))
        sum_of_square = ops.sum(ops.square(stacked), axis=1)
        fm = 0.5 * ops.sum(square_of_sum - sum_of_square, axis=1, keepdims=True)
        flat = ops.reshape(stacked, (-1, (len(FIELDS) + DENSE) * K))
        x = self.cross(flat, flat)
        for dense, norm in zip(self.hidden, self.norms):
            x = ops.leaky_relu(norm(dense(x), training=training), negative_slope=0.1)
            x = self.dropout(x, training=training)
        return ops.sigmoid(linear + fm + self.out(x))


def make():
    keras.utils.set_random_seed(3)
    model = DeepFM()
    model(*inputs(0))
    rng = np.random.default_rng(3)
    for norm in model.norms:
        n = norm.gamma.shape[0]
        norm.set_weights(
            [rng.uniform(0.5, 1.5, n), rng.normal(size=n) * 0.2, rng.normal(size=n) * 0.1,
             rng.uniform(0.05, 0.4, n)]
        )
    for layer in (model.dense_linear, model.out, model.cross.gate):
        layer.bias.assign(rng.normal(size=layer.bias.shape) * 0.2)
    return model


def inputs(seed):
    rng = np.random.default_rng(seed)
    categories = np.stack([rng.integers(0, n, 16) for n in FIELDS], axis=1)
    return categories, (rng.normal(size=(16, DENSE)) * 2 + 1).astype("float32")
