"""The set-transformer critic in Keras 3, heads as an axis."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"


class MAB(layers.Layer):
    def __init__(self, dim, heads):
        super().__init__()
        self.dim = dim
        self.heads = heads
        self.query = layers.Dense(dim)
        self.key = layers.Dense(dim)
        self.value = layers.Dense(dim)
        self.norm0 = layers.LayerNormalization(epsilon=1e-5)
        self.norm1 = layers.LayerNormalization(epsilon=1e-5)
        self.out = layers.Dense(dim, activation="relu")

    def split(self, x):
        x = ops.reshape(x, (ops.shape(x)[0], ops.shape(x)[1], self.heads, self.dim // self.heads))
        return ops.transpose(x, (0, 2, 1, 3))

    def call(self, q, k, keep=None):
        query = self.split(self.query(q))
        key = self.split(self.key(k))
        value = self.split(self.value(k))
        logits = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2)))
        logits = logits / ops.sqrt(float(self.dim))
        if keep is not None:
            logits = ops.where(keep[:, None, None, :] > 0, logits, -1e9)
        weights = ops.softmax(logits, axis=-1)
        x = query + ops.matmul(weights, value)
        x = ops.transpose(x, (0, 2, 1, 3))
        x = ops.reshape(x, (ops.shape(x)[0], ops.shape(x)[1], self.dim))
        x = self.norm0(x)
        x = x + self.out(x)
        return self.norm1(x)


class ISAB(layers.Layer):
    def __init__(self, dim, heads, inducing):
        super().__init__()
        self.points = self.add_weight(shape=(1, inducing, dim), name="points")
        self.mab0 = MAB(dim, heads)
        self.mab1 = MAB(dim, heads)

    def call(self, x, mask):
        points = ops.tile(self.points, (ops.shape(x)[0], 1, 1))
        h = self.mab0(points, x, keep=mask)
        return self.mab1(x, h)


class PMA(layers.Layer):
    def __init__(self, dim, heads, seeds):
        super().__init__()
        self.seeds = self.add_weight(shape=(1, seeds, dim), name="seeds")
        self.mab = MAB(dim, heads)

    def call(self, x, mask):
        seeds = ops.tile(self.seeds, (ops.shape(x)[0], 1, 1))
        return self.mab(seeds, x, keep=mask)


class Critic(keras.Model):
    def __init__(self, dim=16, heads=4):
        super().__init__()
        self.enc0 = ISAB(dim, heads, 3)
        self.enc1 = ISAB(dim, heads, 3)
        self.pool = PMA(dim, heads, 2)
        self.hidden = layers.Dense(24, activation="relu")
        self.value = layers.Dense(1)

    def call(self, objects, present, action):
        x = self.enc0(objects, present)
        x = self.enc1(x, present)
        x = self.pool(x, present)
        x = ops.reshape(x, (ops.shape(x)[0], -1))
        x = self.hidden(ops.concatenate([x, action], axis=-1))
        return self.value(x)[:, 0]


def make():
    keras.utils.set_random_seed(0)
    model = Critic()
    model(np.zeros((1, 7, 5), "float32"), np.ones((1, 7), "float32"), np.zeros((1, 2), "float32"))
    return model


def _np(tensor):
    return tensor.detach().numpy()


def _dense(layer, linear):
    layer.set_weights([_np(linear.weight).T, _np(linear.bias)])


def _mab(layer, mab):
    _dense(layer.query, mab.fc_q)
    _dense(layer.key, mab.fc_k)
    _dense(layer.value, mab.fc_v)
    _dense(layer.out, mab.fc_o)
    layer.norm0.set_weights([_np(mab.ln0.weight), _np(mab.ln0.bias)])
    layer.norm1.set_weights([_np(mab.ln1.weight), _np(mab.ln1.bias)])


def load(model, reference):
    for layer, isab in ((model.enc0, reference.isab0), (model.enc1, reference.isab1)):
        layer.points.assign(_np(isab.I))
        _mab(layer.mab0, isab.mab0)
        _mab(layer.mab1, isab.mab1)
    model.pool.seeds.assign(_np(reference.pma.S))
    _mab(model.pool.mab, reference.pma.mab)
    _dense(model.hidden, reference.fc)
    _dense(model.value, reference.q)
