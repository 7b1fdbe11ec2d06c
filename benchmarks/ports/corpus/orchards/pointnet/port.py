"""PointNet, subclassed Keras, points as (batch, points, channels)."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
NUM_POINTS, NUM_CLASSES, NUM_PARTS = 24, 5, 7
EPS = 1e-5


class Block(layers.Layer):
    """Dense on every point (a 1x1 convolution), batch norm, ReLU."""

    def __init__(self, units):
        super().__init__()
        self.dense = layers.Dense(units)
        self.norm = layers.BatchNormalization(epsilon=EPS)

    def call(self, x, training=False):
        return ops.relu(self.norm(self.dense(x), training=training))


class Transform(layers.Layer):
    """Predicts a k x k matrix from the cloud, and applies it to each point."""

    def __init__(self, k):
        super().__init__()
        self.k = k
        self.blocks = [Block(32), Block(64)]
        self.hidden = Block(32)
        self.matrix = layers.Dense(k * k)

    def call(self, x, training=False):
        h = x
        for block in self.blocks:
            h = block(h, training=training)
        h = ops.max(h, axis=1)
        m = self.matrix(self.hidden(h, training=training))
        m = ops.reshape(m, (-1, self.k, self.k))
        m = m + ops.eye(self.k)
        return ops.einsum("bni,bij->bnj", x, m)


class PointNet(keras.Model):
    def __init__(self):
        super().__init__()
        self.align = Transform(3)
        self.lift = Block(16)
        self.align_features = Transform(16)
        self.deep = [Block(48), Block(64)]
        self.cls = [Block(32), layers.Dense(NUM_CLASSES)]
        self.seg = [Block(40), Block(24), layers.Dense(NUM_PARTS)]

    def call(self, cloud, training=False):
        lifted = self.lift(self.align(cloud, training=training), training=training)
        aligned = self.align_features(lifted, training=training)
        h = aligned
        for block in self.deep:
            h = block(h, training=training)
        whole = ops.max(h, axis=1)
        tiled = ops.repeat(whole[:, None, :], NUM_POINTS, axis=1)
        seg = ops.concatenate([tiled, aligned], axis=-1)
        for block in self.seg[:-1]:
            seg = block(seg, training=training)
        seg = self.seg[-1](seg)
        label = self.cls[1](self.cls[0](whole, training=training))
        return ops.log_softmax(label, axis=-1), ops.log_softmax(seg, axis=-1)


def make(seed=7):
    keras.utils.set_random_seed(seed)
    net = PointNet()
    net(np.zeros((1, NUM_POINTS, 3), "float32"))
    rng = np.random.default_rng(seed)
    for v in net.variables:
        if "bias" in v.name or "beta" in v.name or "mean" in v.name:
            v.assign(rng.normal(size=v.shape) * 0.2)
        elif "gamma" in v.name or "variance" in v.name:
            v.assign(rng.uniform(0.5, 1.5, size=v.shape))
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    cloud = rng.normal(size=(4, 3, NUM_POINTS))
    cloud /= np.abs(cloud).max(axis=(1, 2), keepdims=True)
    return (np.ascontiguousarray(cloud.astype("float32").transpose(0, 2, 1)),)


def load(ported, original):
    def n(t):
        return t.detach().numpy()

    def dense(layer, theirs):
        w = n(theirs.weight)
        layer.set_weights([w.reshape(w.shape[0], w.shape[1]).T, n(theirs.bias)])

    def block(ours, theirs):
        dense(ours.dense, theirs[0])
        bn = theirs[1]
        ours.norm.set_weights([n(bn.weight), n(bn.bias), n(bn.running_mean), n(bn.running_var)])

    for ours, theirs in ((ported.align, original.stn), (ported.align_features, original.fstn)):
        block(ours.blocks[0], theirs.points[0])
        block(ours.blocks[1], theirs.points[1])
        block(ours.hidden, theirs.vector[0])
        dense(ours.matrix, theirs.vector[1])
    block(ported.lift, original.first)
    block(ported.deep[0], original.second[0])
    block(ported.deep[1], original.second[1])
    block(ported.cls[0], original.classifier[0])
    dense(ported.cls[1], original.classifier[1])
    block(ported.seg[0], original.segment[0])
    block(ported.seg[1], original.segment[1])
    dense(ported.seg[2], original.segment[2])
