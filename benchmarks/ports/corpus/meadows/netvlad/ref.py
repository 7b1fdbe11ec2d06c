"""NetVLAD place retrieval (Arandjelovic et al. 2016) in Keras: descriptors of queries and a gallery, ranked."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
SIDE, CLUSTERS, DIM = 24, 6, 16


class NetVLAD(layers.Layer):
    def __init__(self, clusters, **kwargs):
        super().__init__(**kwargs)
        self.clusters = clusters
        self.assign = layers.Conv2D(clusters, 1, name="assign")

    def build(self, shape):
        self.centroids = self.add_weight(
            shape=(self.clusters, shape[-1]), initializer="random_normal", name="centroids"
        )
        self.assign.build(shape)

    def call(self, x):
        x = ops.normalize(x, axis=-1)
        soft = ops.softmax(self.assign(x), axis=-1)
        soft = ops.reshape(soft, (-1, x.shape[1] * x.shape[2], self.clusters))
        local = ops.reshape(x, (-1, x.shape[1] * x.shape[2], x.shape[3]))
        total = ops.sum(soft, axis=1)[..., None]
        vlad = ops.einsum("bnk,bnd->bkd", soft, local) - total * self.centroids
        vlad = ops.normalize(vlad, axis=-1)
        vlad = ops.reshape(vlad, (-1, self.clusters * x.shape[3]))
        return ops.normalize(vlad, axis=-1)


class ContextGating(layers.Layer):
    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.gate = layers.Dense(units, use_bias=False)
        self.norm = layers.BatchNormalization()

    def call(self, x):
        return x * ops.sigmoid(self.norm(self.gate(x)))


def build_tower():
    image = keras.Input((SIDE, SIDE, 3))
    x = layers.Conv2D(12, 3, padding="same", activation="relu")(image)
    x = layers.MaxPooling2D(2)(x)
    x = layers.Conv2D(DIM, 3, padding="same")(x)
    x = layers.BatchNormalization()(x)
    x = layers.Activation("elu")(x)
    x = layers.MaxPooling2D(2)(x)
    x = NetVLAD(CLUSTERS)(x)
    x = layers.Dense(20)(x)
    x = ContextGating(20)(x)
    x = layers.UnitNormalization()(x)
    return keras.Model(image, x, name="tower")


def build():
    queries = keras.Input((SIDE, SIDE, 3), name="queries")
    gallery = keras.Input((SIDE, SIDE, 3), name="gallery")
    tower = build_tower()
    q, g = tower(queries), tower(gallery)
    similarity = ops.matmul(q, ops.transpose(g)) / 0.1
    return keras.Model([queries, gallery], [q, ops.softmax(similarity, axis=-1)])


def make(seed=0):
    keras.utils.set_random_seed(seed)
    net = build()
    rng = np.random.default_rng(seed)
    for v in net.weights:
        if v.path.endswith(("gamma", "moving_variance")):
            v.assign(rng.uniform(0.6, 1.4, v.shape))
        elif v.path.endswith(("beta", "moving_mean", "bias")):
            v.assign(rng.normal(0, 0.2, v.shape))
        elif "centroids" in v.path:
            v.assign(rng.normal(0, 0.15, v.shape))
        elif "assign" in v.path:
            v.assign(rng.normal(0, 5.0, v.shape))
        else:
            v.assign(rng.normal(0, (2 / np.prod(v.shape[:-1])) ** 0.5, v.shape))
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    places = rng.normal(size=(5, 6, 6, 3)) + 1.5 * rng.normal(size=(5, 1, 1, 3))
    places = places.repeat(4, 1).repeat(4, 2)
    views = [places + 0.4 * rng.normal(size=places.shape) for _ in range(2)]
    return tuple(v.astype("float32") for v in views)
