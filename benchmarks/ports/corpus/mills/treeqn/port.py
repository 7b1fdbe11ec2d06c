"""TreeQN as a tf.Module."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"


class Affine(tf.Module):
    def __init__(self, n_in, n_out, name=None):
        super().__init__(name=name)
        self.kernel = tf.Variable(tf.random.normal([n_in, n_out], stddev=n_in ** -0.5), name="kernel")
        self.bias = tf.Variable(tf.random.normal([n_out], stddev=0.1), name="bias")

    def __call__(self, x):
        return tf.linalg.matmul(x, self.kernel) + self.bias


class TreePlanner(tf.Module):
    def __init__(self, n_obs=20, dim=32, n_actions=4, depth=2, discount=0.97, lmbda=0.8):
        super().__init__(name="tree")
        self.dim, self.n_actions, self.depth = dim, n_actions, depth
        self.discount, self.lmbda = discount, lmbda
        self.enc_a, self.enc_b = Affine(n_obs, 64, "enc_a"), Affine(64, dim, "enc_b")
        self.shared = Affine(dim, dim, "shared")
        self.act_kernel = tf.Variable(tf.random.normal([n_actions, dim, dim], stddev=0.2), name="act_kernel")
        self.act_bias = tf.Variable(tf.random.normal([n_actions, dim], stddev=0.1), name="act_bias")
        self.rew_a, self.rew_b = Affine(dim, 32, "rew_a"), Affine(32, n_actions, "rew_b")
        self.val = Affine(dim, 1, "val")

    def predict_reward(self, z):
        return self.rew_b(tf.nn.relu(self.rew_a(z)))

    def step(self, z):
        z = z + tf.tanh(self.shared(z))
        children = []
        for a in range(self.n_actions):
            move = tf.matmul(z, self.act_kernel[a]) + self.act_bias[a]
            children.append(z + tf.tanh(move))
        children = tf.stack(children, axis=1)
        children = tf.math.l2_normalize(children, axis=-1, epsilon=1e-24)
        return tf.reshape(children, [-1, self.dim])

    def q_values(self, z, depth):
        """Q of every node in z, by recursion down to `depth` more levels."""
        reward = self.predict_reward(z)
        child = self.step(z)
        v = tf.reshape(self.val(child), [-1, self.n_actions])
        if depth > 1:
            below, _ = self.q_values(child, depth - 1)
            weights = tf.nn.softmax(below, axis=-1)
            soft_max = tf.reduce_sum(weights * below, axis=-1)
            soft_max = tf.reshape(soft_max, [-1, self.n_actions])
            v = (1. - self.lmbda) * v + self.lmbda * soft_max
        return reward + self.discount * v, reward

    def __call__(self, obs):
        z = tf.tanh(self.enc_b(tf.nn.relu(self.enc_a(obs))))
        z = tf.math.l2_normalize(z, axis=-1, epsilon=1e-24)
        q, reward = self.q_values(z, self.depth)
        return q, reward, tf.nn.log_softmax(q)


def make(seed=1):
    tf.random.set_seed(seed)
    return TreePlanner()


def inputs(seed=0):
    return (np.random.default_rng(seed).normal(size=(5, 20)).astype(np.float32),)


def load(ported, original):
    def put(affine, linear):
        affine.kernel.assign(linear.weight.detach().numpy().T)
        affine.bias.assign(linear.bias.detach().numpy())

    put(ported.enc_a, original.encoder[0])
    put(ported.enc_b, original.encoder[2])
    put(ported.shared, original.env)
    put(ported.rew_a, original.reward[0])
    put(ported.rew_b, original.reward[2])
    put(ported.val, original.value)
    ported.act_kernel.assign(original.action_w.detach().numpy())
    ported.act_bias.assign(original.action_b.detach().numpy())
