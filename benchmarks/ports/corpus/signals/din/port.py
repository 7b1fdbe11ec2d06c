"""Deep interest network in Keras; the histories' mask is made of the padding."""

import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
MODE = "train"
ITEMS, CATEGORIES, USERS, K = 40, 8, 12, 8


class Dice(layers.Layer):
    def build(self, shape):
        self.alpha = self.add_weight(shape=(shape[-1],), initializer="zeros", name="alpha")
        self.bn = layers.BatchNormalization(
            axis=-1, center=False, scale=False, epsilon=1e-8, momentum=0.9
        )

    def call(self, x, training=None):
        gate = ops.sigmoid(self.bn(x, training=training))
        return x * (self.alpha + gate * (1.0 - self.alpha))


class AttentionUnit(layers.Layer):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(16)
        self.dice = Dice()
        self.score = layers.Dense(1, use_bias=True)

    def call(self, inputs, mask=None, training=None):
        query, keys = inputs
        queries = ops.repeat(query[:, None, :], keys.shape[1], axis=1)
        x = ops.concatenate([queries, keys, queries - keys, queries * keys], axis=-1)
        logits = self.score(self.dice(self.dense(x), training=training))[..., 0]
        logits = logits * (keys.shape[-1] ** -0.5)
        logits = ops.where(mask, logits, ops.full_like(logits, -1e30))
        weights = ops.exp(logits - ops.max(logits, axis=1, keepdims=True))
        weights = weights / ops.sum(weights, axis=1, keepdims=True)
        return ops.sum(weights[..., None] * keys, axis=1)


class DIN(keras.Model):
    def __init__(self):
        super().__init__()
        self.user_table = layers.Embedding(USERS, K)
        self.item_table = layers.Embedding(ITEMS, K)
        self.category_table = layers.Embedding(CATEGORIES, K)
        self.attention = AttentionUnit()
        self.bn = layers.BatchNormalization(epsilon=1e-5, momentum=0.9)
        self.dense1, self.dice1 = layers.Dense(32), Dice()
        self.dense2, self.dice2 = layers.Dense(16), Dice()
        self.logit = layers.Dense(1)

    def call(self, user, item, category, history, history_category, length, training=None):
        target = ops.concatenate(
            [self.item_table(item), self.category_table(category)], axis=-1
        )
        past = ops.concatenate(
            [self.item_table(history), self.category_table(history_category)], axis=-1
        )
        mask = ops.not_equal(history, 0)
        interest = self.attention([target, past], mask=mask, training=training)
        counted = ops.cast(mask, past.dtype)
        average = ops.einsum("bt,btd->bd", counted, past)
        average = average / ops.sum(counted, axis=1, keepdims=True)
        x = ops.concatenate([self.user_table(user), target, interest, target * average], axis=1)
        x = self.bn(x, training=training)
        x = self.dice1(self.dense1(x), training=training)
        x = self.dice2(self.dense2(x), training=training)
        return ops.reshape(ops.sigmoid(self.logit(x)), (-1,))


def make():
    model = DIN()
    zeros = np.ones(2, "int64")
    model(zeros, zeros, zeros, np.ones((2, 9), "int64"), np.ones((2, 9), "int64"), zeros)
    return model


def load(port, reference):
    s = {k: v.detach().numpy() for k, v in reference.state_dict().items()}

    def dense(layer, key):
        layer.set_weights([s[key + ".weight"].T, s[key + ".bias"]])

    def dice(layer, key):
        layer.alpha.assign(s[key + ".alpha"])
        layer.bn.moving_mean.assign(s[key + ".bn.running_mean"])
        layer.bn.moving_variance.assign(s[key + ".bn.running_var"])

    port.user_table.set_weights([s["user.weight"]])
    port.item_table.set_weights([s["item.weight"]])
    port.category_table.set_weights([s["category.weight"]])
    dense(port.attention.dense, "attention.fc1")
    dice(port.attention.dice, "attention.dice")
    dense(port.attention.score, "attention.fc2")
    port.bn.set_weights([s["norm." + k] for k in ("weight", "bias", "running_mean", "running_var")])
    dense(port.dense1, "fc1")
    dice(port.dice1, "dice1")
    dense(port.dense2, "fc2")
    dice(port.dice2, "dice2")
    dense(port.logit, "out")
