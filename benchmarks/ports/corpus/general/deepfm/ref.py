"""DeepFM click model as a tf.Module: linear part, factorisation machine and a deep tower."""

import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"

VOCABS = (12, 30, 7)
TAGS = 15
FACTORS = 6
DENSE = 4
TOWER = (24, 12)


class Table(tf.Module):
    """Embedding table; row 0 stands for every id that the vocabulary does not hold."""

    def __init__(self, rows, width, random, name):
        super().__init__(name=name)
        self.rows = rows
        self.weight = tf.Variable(0.4 * random.normal((rows, width)), name="weight")

    def __call__(self, ids):
        ids = tf.where(ids < self.rows, ids, tf.zeros_like(ids))
        return tf.nn.embedding_lookup(self.weight, ids)


class TagPool(tf.Module):
    """Mean of the embeddings of a row's tags; -1 fills the places of tags that are not there."""

    def __init__(self, rows, width, random, name):
        super().__init__(name=name)
        self.weight = tf.Variable(0.4 * random.normal((rows, width)), name="weight")

    def __call__(self, tags):
        there = tf.cast(tags >= 0, tf.float32)[..., None]
        vectors = tf.gather(self.weight, tf.maximum(tags, 0)) * there
        count = tf.reduce_sum(there, axis=1)
        return tf.reduce_sum(vectors, axis=1) / tf.maximum(count, 1.0)


class Dense(tf.Module):
    def __init__(self, n_in, n_out, random, activation=None):
        super().__init__()
        self.w = tf.Variable(random.normal((n_in, n_out)) * (2.0 / n_in) ** 0.5, name="w")
        self.b = tf.Variable(0.1 * random.normal((n_out,)), name="b")
        self.activation = activation

    def __call__(self, x):
        y = tf.matmul(x, self.w) + self.b
        return y if self.activation is None else self.activation(y)


def fm_interaction(vectors):
    """Sum over all pairs of fields of the products of their vectors."""
    square_of_sum = tf.square(tf.reduce_sum(vectors, axis=1))
    sum_of_square = tf.reduce_sum(tf.square(vectors), axis=1)
    return 0.5 * tf.reduce_sum(square_of_sum - sum_of_square, axis=1, keepdims=True)


class DeepFM(tf.Module):
    def __init__(self, seed):
        super().__init__()
        random = tf.random.Generator.from_seed(seed)
        self.first = [Table(v, 1, random, f"first_{i}") for i, v in enumerate(VOCABS)]
        self.tables = [Table(v, FACTORS, random, f"table_{i}") for i, v in enumerate(VOCABS)]
        self.tag_first = TagPool(TAGS, 1, random, "tag_first")
        self.tags = TagPool(TAGS, FACTORS, random, "tags")
        self.dense_first = Dense(DENSE, 1, random)
        self.dense_factor = Dense(DENSE, FACTORS, random)
        width = FACTORS * (len(VOCABS) + 2)
        self.tower = []
        for units in TOWER:
            self.tower.append(Dense(width, units, random, tf.nn.relu))
            width = units
        self.out = Dense(width, 1, random)

    def __call__(self, ids, tags, numbers):
        numbers = tf.math.log1p(tf.nn.relu(numbers))
        linear = [table(ids[:, i]) for i, table in enumerate(self.first)]
        linear += [self.tag_first(tags), self.dense_first(numbers)]
        fields = [table(ids[:, i]) for i, table in enumerate(self.tables)]
        fields += [self.tags(tags), self.dense_factor(numbers)]
        vectors = tf.stack(fields, axis=1)
        deep = tf.concat(fields, axis=1)
        for layer in self.tower:
            deep = layer(deep)
        logit = tf.add_n(linear) + fm_interaction(vectors) + self.out(deep)
        return tf.squeeze(tf.sigmoid(logit), axis=1), tf.squeeze(logit, axis=1)


def make(seed=0):
    return DeepFM(seed)


def load(model, reference):
    pass


def inputs(seed):
    rng = np.random.default_rng(seed + 20)
    ids = np.stack([rng.integers(0, v, size=12) for v in VOCABS], axis=1)
    ids[3, 1], ids[8, 2] = 55, 9
    tags = np.full((12, 5), -1)
    for row in tags:
        count = rng.integers(0, 6)
        row[:count] = rng.integers(0, TAGS, size=count)
    numbers = 3 * rng.normal(size=(12, DENSE))
    return ids.astype(np.int64), tags.astype(np.int64), numbers.astype(np.float32)
