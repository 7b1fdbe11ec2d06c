"""NerveNet: a walker's body as a graph, gated message passing, a Gaussian torque per joint. Raw TensorFlow."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
NODES, OBS, ROOT_OBS, HID, STEPS = 7, 5, 8, 20, 3
# node 0 is the torso; (from, to) of the two kinds of edges
PARENT_TO_CHILD = np.array([(0, 1), (1, 2), (0, 3), (3, 4), (0, 5), (5, 6)])
CHILD_TO_PARENT = np.array([(1, 0), (2, 1), (3, 0), (4, 3), (5, 0), (6, 5), (2, 4), (4, 2)])


class NerveNet(tf.Module):
    def __init__(self, seed):
        super().__init__()
        rng = np.random.default_rng(seed)

        def dense(n_in, n_out):
            w = tf.Variable(rng.normal(0, 1.2 / np.sqrt(n_in), (n_in, n_out)).astype("float32"))
            return w, tf.Variable(rng.normal(0, 0.2, n_out).astype("float32"))

        self.root_in, self.joint_in = dense(ROOT_OBS, HID), dense(OBS, HID)
        self.down, self.up = dense(HID, HID), dense(HID, HID)
        self.gates = dense(2 * HID, 2 * HID)
        self.candidate = dense(2 * HID, HID)
        self.out1, self.out2 = dense(HID, HID), dense(HID, 2)
        self.critic = dense(2 * HID, 1)

    @staticmethod
    def affine(x, layer):
        return tf.tensordot(x, layer[0], 1) + layer[1]

    def pass_messages(self, h, edges, layer):
        source = tf.gather(h, edges[:, 0], axis=1)
        message = tf.nn.tanh(self.affine(source, layer))
        by_edge = tf.transpose(message, [1, 0, 2])
        return tf.transpose(tf.math.unsorted_segment_sum(by_edge, edges[:, 1], NODES), [1, 0, 2])

    def gru(self, h, m):
        gates = tf.sigmoid(self.affine(tf.concat([m, h], -1), self.gates))
        reset, update = tf.split(gates, 2, axis=-1)
        proposal = tf.tanh(self.affine(tf.concat([m, reset * h], -1), self.candidate))
        return update * h + (1.0 - update) * proposal

    def __call__(self, root, joints, taken):
        torso = tf.tanh(self.affine(root, self.root_in))[:, tf.newaxis]
        limbs = tf.tanh(self.affine(joints, self.joint_in))
        h = first = tf.concat([torso, limbs], axis=1)
        for _ in range(STEPS):
            m = self.pass_messages(h, PARENT_TO_CHILD, self.down)
            m += self.pass_messages(h, CHILD_TO_PARENT, self.up)
            h = self.gru(h, m)

        y = self.affine(tf.nn.relu(self.affine(h[:, 1:], self.out1)), self.out2)
        mean = tf.tanh(y[..., 0])
        std = tf.nn.softplus(y[..., 1]) + 0.1
        logp = -0.5 * tf.square((taken - mean) / std) - tf.math.log(std) - 0.5 * np.log(2 * np.pi)
        body = tf.concat([tf.reduce_mean(h, axis=1), h[:, 0] - first[:, 0]], axis=-1)
        value = self.affine(body, self.critic)[:, 0]
        return {"mean": mean, "std": std, "log_prob": tf.reduce_sum(logp, axis=1), "value": value}


def make(seed=19):
    return NerveNet(seed)


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(6, ROOT_OBS)).astype("float32")
    joints = rng.normal(size=(6, NODES - 1, OBS)).astype("float32")
    return root, joints, rng.uniform(-1, 1, size=(6, NODES - 1)).astype("float32")
