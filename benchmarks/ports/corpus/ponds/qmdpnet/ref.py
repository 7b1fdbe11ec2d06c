"""QMDP-net: Bayes filter and value-iteration planner as one network (TensorFlow)."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
LAYOUT = "NHWC"
N, A, O, OBS, T, K, C = 6, 4, 5, 4, 3, 4, 6
GAMMA = 0.95


def conv(x, w, b=None):
    y = tf.nn.conv2d(x, w, strides=1, padding="SAME")
    return y if b is None else tf.nn.bias_add(y, b)


class QMDPNet(tf.Module):
    def __init__(self, seed=7):
        super().__init__()
        r = np.random.RandomState(seed)
        v = lambda *s: tf.Variable((r.randn(*s) * (1.5 / np.sqrt(np.prod(s[:-1])) if len(s) > 1 else 0.3)).astype("f"))
        self.filter_kernel = tf.Variable(r.randn(3, 3, 1, A).astype("f"))
        self.plan_kernel = tf.Variable(r.randn(3, 3, 1, A).astype("f"))
        self.z_w1, self.z_b1 = v(3, 3, 2, C), v(C)
        self.z_w2, self.z_b2 = v(1, 1, C, O), v(O)
        self.r_w1, self.r_b1 = v(3, 3, 2, C), v(C)
        self.r_w2, self.r_b2 = v(1, 1, C, A), v(A)
        self.o_w1, self.o_b1 = v(OBS, 8), v(8)
        self.o_w2, self.o_b2 = v(8, O), v(O)
        self.p_w, self.p_b = v(A, A), v(A)

    @staticmethod
    def kernel(w):
        flat = tf.reshape(w, [9, 1, A])
        return tf.reshape(tf.nn.softmax(flat, axis=0), [3, 3, 1, A])

    def f_Z(self, m):
        h = tf.nn.relu(conv(m, self.z_w1, self.z_b1))
        z = tf.sigmoid(conv(h, self.z_w2, self.z_b2))
        return z / (tf.reduce_sum(z, axis=3, keepdims=True) + 1e-8)

    def f_R(self, m):
        h = tf.nn.relu(conv(m, self.r_w1, self.r_b1))
        return conv(h, self.r_w2, self.r_b2)

    def f_O(self, o):
        h = tf.tanh(tf.matmul(o, self.o_w1) + self.o_b1)
        return tf.nn.softmax(tf.matmul(h, self.o_w2) + self.o_b2)

    def plan(self, R):
        kern = self.kernel(self.plan_kernel)
        V = tf.zeros_like(R[:, :, :, :1])
        for _ in range(K):
            Q = R + GAMMA * conv(V, kern)
            V = tf.reduce_max(Q, axis=3, keepdims=True)
        return Q

    def __call__(self, grid, belief, obs, act):
        Z = self.f_Z(grid)
        Q = self.plan(self.f_R(grid))
        kern = self.kernel(self.filter_kernel)
        b = belief
        logits = []
        for t in range(T):
            b_all = conv(b[:, :, :, None], kern)
            b_a = tf.reduce_sum(b_all * act[:, t][:, None, None, :], axis=3)
            w_o = self.f_O(obs[:, t])
            Z_o = tf.reduce_sum(Z * w_o[:, None, None, :], axis=3)
            b = b_a * Z_o
            b = b / (tf.reduce_sum(b, axis=[1, 2], keepdims=True) + 1e-8)
            q = tf.reduce_sum(Q * b[:, :, :, None], axis=[1, 2])
            logits.append(tf.matmul(q, self.p_w) + self.p_b)
        return tf.stack(logits, axis=1), b


def make():
    return QMDPNet()


def inputs(seed):
    r = np.random.RandomState(seed)
    b = r.uniform(0, 1, (4, N, N)).astype("f")
    b /= b.sum((1, 2), keepdims=True)
    return (r.randn(4, N, N, 2).astype("f"), b, r.randn(4, T, OBS).astype("f"),
            np.eye(A, dtype="f")[r.randint(0, A, (4, T))])
