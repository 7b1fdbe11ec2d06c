"""GCNII (Chen et al., 2020): deep graph convolution, initial residual, identity mapping. TensorFlow, raw variables."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
NODES, FEAT, HID, CLASSES, LAYERS, ALPHA, LAMDA = 7, 6, 12, 4, 4, 0.2, 0.5


def init_params(seed):
    rs = np.random.RandomState(seed)

    def var(name, *shape):
        return tf.Variable((rs.randn(*shape) * 1.1 / shape[0] ** 0.5).astype("float32"), name=name)

    params = {"w_in": var("w_in", FEAT, HID), "b_in": var("b_in", HID)}
    for l in range(1, LAYERS + 1):
        params[f"w{l}"] = var(f"w{l}", HID, HID)
    params["w_out"], params["b_out"] = var("w_out", HID, CLASSES), var("b_out", CLASSES)
    return params


def normalize(adj):
    a = adj + tf.eye(NODES)
    deg = tf.reduce_sum(a, axis=-1)
    d = tf.math.rsqrt(deg)
    return a * d[:, :, None] * d[:, None, :]


def forward(params, x, adj):
    a = normalize(adj)
    h = tf.nn.relu(tf.matmul(x, params["w_in"]) + params["b_in"])
    h0 = h
    for l in range(1, LAYERS + 1):
        theta = tf.math.log(LAMDA / l + 1.0)
        hi = tf.matmul(a, h)
        support = (1.0 - ALPHA) * hi + ALPHA * h0
        out = theta * tf.matmul(support, params[f"w{l}"]) + (1.0 - theta) * support
        h = tf.nn.relu(out)
    logits = tf.matmul(h, params["w_out"]) + params["b_out"]
    return tf.nn.log_softmax(logits, axis=-1)


class GCNII:
    def __init__(self, seed):
        self.params = init_params(seed)

    def __call__(self, x, adj):
        return forward(self.params, x, adj)


def make():
    return GCNII(9)


def inputs(seed):
    rs = np.random.RandomState(seed)
    x = rs.randn(4, NODES, FEAT).astype("float32")
    upper = np.triu(rs.rand(4, NODES, NODES) < 0.4, 1) | np.eye(NODES, k=1, dtype=bool)
    adj = (upper | upper.transpose(0, 2, 1)).astype("float32")
    return x, adj
