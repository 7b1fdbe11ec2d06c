"""DGCNN in plain TensorFlow; points last but one: (B, N, C)."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
NEIGHBOURS = 5


class Block(tf.Module):
    """Pointwise linear map, batch norm (inference) and leaky ReLU."""

    def __init__(self, cin, cout, rng):
        super().__init__()
        self.kernel = tf.Variable(rng.normal(0, 0.3, (cin, cout)).astype("float32"))
        self.gamma = tf.Variable(tf.ones(cout))
        self.beta = tf.Variable(tf.zeros(cout))
        self.mean = tf.Variable(tf.zeros(cout), trainable=False)
        self.variance = tf.Variable(tf.ones(cout), trainable=False)

    def __call__(self, x):
        x = tf.tensordot(x, self.kernel, axes=1)
        x = tf.nn.batch_normalization(x, self.mean, self.variance, self.beta, self.gamma, 1e-5)
        return tf.nn.leaky_relu(x, alpha=0.2)


def nearest(x):
    difference = x[:, :, None, :] - x[:, None, :, :]
    distance = tf.reduce_sum(tf.square(difference), axis=-1)
    return tf.math.top_k(-distance, k=NEIGHBOURS).indices


class EdgeConv(tf.Module):
    def __init__(self, cin, cout, rng):
        super().__init__()
        self.block = Block(2 * cin, cout, rng)

    def __call__(self, x):
        graph = nearest(x)
        around = tf.gather(x, graph, batch_dims=1)
        here = tf.repeat(x[:, :, None, :], NEIGHBOURS, axis=2)
        edges = tf.concat([around - here, here], axis=-1)
        return tf.reduce_max(self.block(edges), axis=2)


class PointClassifier(tf.Module):
    def __init__(self, seed, classes=6):
        super().__init__()
        rng = np.random.default_rng(seed)
        self.convs = [EdgeConv(3, 16, rng), EdgeConv(16, 16, rng), EdgeConv(16, 24, rng)]
        self.embed = Block(56, 32, rng)
        self.hidden = Block(64, 20, rng)
        self.w = tf.Variable(rng.normal(0, 0.3, (20, classes)).astype("float32"))
        self.b = tf.Variable(tf.zeros(classes))

    def __call__(self, cloud):
        x, features = cloud, []
        for conv in self.convs:
            x = conv(x)
            features.append(x)
        x = self.embed(tf.concat(features, axis=-1))
        pooled = tf.concat([tf.reduce_max(x, axis=1), tf.reduce_mean(x, axis=1)], axis=-1)
        return self.hidden(pooled) @ self.w + self.b


def make(seed=1):
    return PointClassifier(seed)


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    cloud = rng.normal(size=(4, 3, 24)) * rng.uniform(0.4, 1.6, size=(4, 3, 1))
    return cloud.astype("float32").transpose(0, 2, 1)


def load(ported, original):
    def block(target, linear, norm):
        weight = linear.weight.detach().numpy()
        target.kernel.assign(weight.reshape(weight.shape[:2]).T)
        target.gamma.assign(norm.weight.detach().numpy())
        target.beta.assign(norm.bias.detach().numpy())
        target.mean.assign(norm.running_mean.numpy())
        target.variance.assign(norm.running_var.numpy())

    for conv, source in zip(ported.convs, (original.edge1, original.edge2, original.edge3)):
        block(conv.block, source[0], source[1])
    block(ported.embed, original.embed[0], original.embed[1])
    block(ported.hidden, original.fc1, original.bn)
    ported.w.assign(original.fc2.weight.detach().numpy().T)
    ported.b.assign(original.fc2.bias.detach().numpy())
