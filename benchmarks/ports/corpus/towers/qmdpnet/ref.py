"""QMDP-net (Karkus et al. 2017): learned Bayes filter and value iteration, grid navigation."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
LAYOUT = "NHWC"
G, A, Z, K, T, C = 6, 5, 7, 4, 3, 8
GAMMA = 0.95


class ConvLayer(tf.Module):
    def __init__(self, rng, k, cin, cout, act):
        super().__init__()
        self.w = tf.Variable((rng.randn(k, k, cin, cout) / np.sqrt(k * k * cin) * 1.3).astype("float32"))
        self.b = tf.Variable((rng.randn(cout) * 0.2).astype("float32"))
        self.act = act

    def __call__(self, x):
        return self.act(tf.nn.conv2d(x, self.w, 1, "SAME") + self.b)


class FcLayer(tf.Module):
    def __init__(self, rng, nin, nout):
        super().__init__()
        self.w = tf.Variable((rng.randn(nin, nout) / np.sqrt(nin) * 1.3).astype("float32"))
        self.b = tf.Variable((rng.randn(nout) * 0.2).astype("float32"))

    def __call__(self, x):
        return tf.matmul(x, self.w) + self.b


class PlannerNet(tf.Module):
    def __init__(self, rng):
        super().__init__()
        self.f_r1 = ConvLayer(rng, 3, 2, C, tf.nn.relu)
        self.f_r2 = ConvLayer(rng, 1, C, A, tf.identity)
        self.kernel = tf.Variable(rng.randn(9, A).astype("float32"))

    def transition(self):
        return tf.reshape(tf.nn.softmax(self.kernel, axis=0), [3, 3, 1, A])

    def value_iteration(self, env):
        R = self.f_r2(self.f_r1(env))
        kernel = self.transition()
        V = tf.zeros_like(env[:, :, :, :1])
        Q = R
        for _ in range(K):
            Q = GAMMA * tf.nn.conv2d(V, kernel, 1, "SAME") + R
            V = tf.reduce_max(Q, axis=3, keepdims=True)
        return Q, V


class FilterNet(tf.Module):
    def __init__(self, rng):
        super().__init__()
        self.kernel = tf.Variable(rng.randn(9, A).astype("float32"))
        self.f_z1 = ConvLayer(rng, 3, 1, C, tf.nn.tanh)
        self.f_z2 = ConvLayer(rng, 1, C, Z, tf.sigmoid)
        self.f_o = FcLayer(rng, 4, Z)

    def obs_model(self, walls):
        return self.f_z2(self.f_z1(walls))

    def step(self, Z_map, b, action, obs):
        kernel = tf.reshape(tf.nn.softmax(self.kernel, axis=0), [3, 3, 1, A])
        b_prime = tf.nn.conv2d(b, kernel, 1, "SAME")
        b_a = tf.reduce_sum(b_prime * action[:, None, None, :], axis=3, keepdims=True)
        w_o = tf.nn.softmax(self.f_o(obs))
        like = tf.reduce_sum(Z_map * w_o[:, None, None, :], axis=3, keepdims=True)
        b_next = b_a * like
        norm = tf.reduce_sum(b_next, axis=[1, 2, 3], keepdims=True)
        return b_next / (norm + 1e-8)


class QMDPNet(tf.Module):
    def __init__(self):
        super().__init__()
        rng = np.random.RandomState(4)
        self.planner = PlannerNet(rng)
        self.filter = FilterNet(rng)
        self.f_pi = FcLayer(rng, A, A)

    def __call__(self, env, b0, actions, obs):
        Q, V = self.planner.value_iteration(env)
        Z_map = self.filter.obs_model(env[:, :, :, 0:1])
        b = b0
        outs = []
        for t in range(T):
            b = self.filter.step(Z_map, b, actions[:, t], obs[:, t])
            q = tf.reduce_sum(Q * b, axis=[1, 2])
            outs.append(self.f_pi(q))
        return tf.stack(outs, axis=1), b, V


def make():
    return QMDPNet()


def inputs(seed):
    r = np.random.RandomState(seed)
    env = np.zeros((4, G, G, 2), "float32")
    env[..., 0] = r.rand(4, G, G) < 0.3
    for i in range(4):
        env[i, r.randint(G), r.randint(G), 1] = 1
    env += 0.05 * r.randn(4, G, G, 2).astype("float32")
    b0 = r.rand(4, G, G, 1).astype("float32") ** 3
    b0 /= b0.sum((1, 2, 3), keepdims=True)
    actions = np.eye(A, dtype="float32")[r.randint(0, A, (4, T))]
    obs = r.randn(4, T, 4).astype("float32")
    return env, b0, actions, obs
