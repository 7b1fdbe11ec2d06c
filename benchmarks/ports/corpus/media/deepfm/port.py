"""DeepFM: one embedding table with field offsets, FM by the square trick, a deep tower; in plain TensorFlow."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
FIELDS, E = (11, 7, 23, 5, 13), 8


class TFDeepFM(tf.Module):
    def __init__(self):
        super().__init__()
        self.w = {}
        offsets = np.concatenate([[0], np.cumsum(FIELDS)[:-1]])
        self.offsets = tf.constant(offsets, tf.int64)

    def norm(self, x, name):
        w = self.w
        eps = 1e-5
        return tf.nn.batch_normalization(x, w[name + "_running_mean"], w[name + "_running_var"],
                                         w[name + "_bias"], w[name + "_weight"], eps)

    def dense(self, x, name):
        return tf.matmul(x, self.w[name + "_weight"], transpose_b=True) + self.w[name + "_bias"]

    def __call__(self, sparse, dense):
        idx = sparse + self.offsets
        v = tf.nn.embedding_lookup(self.w["embedding_weight"], idx)
        first = tf.reduce_sum(tf.nn.embedding_lookup(self.w["linear_weight"], idx), axis=1)
        first = first + self.dense(dense, "dense_linear")
        square_of_sum = tf.square(tf.reduce_sum(v, axis=1))
        sum_of_square = tf.reduce_sum(tf.square(v), axis=1)
        inter = square_of_sum - sum_of_square
        fm = 0.5 * tf.reduce_sum(inter, axis=1, keepdims=True)
        flat = tf.reshape(v, (-1, len(FIELDS) * E))
        h = tf.concat([flat, dense], axis=1)
        h = tf.nn.relu(self.norm(self.dense(h, "mlp_0"), "mlp_1"))
        h = tf.nn.relu(self.norm(self.dense(h, "mlp_3"), "mlp_4"))
        return tf.squeeze(tf.sigmoid(first + fm + self.dense(h, "mlp_6")), axis=1)


def make():
    return TFDeepFM()


def load(net, ref):
    w = {k: v.numpy() for k, v in ref.state_dict().items() if k != "offsets"}
    net.w = {k.replace(".", "_"): tf.Variable(v) for k, v in w.items() if "num_batches" not in k}
