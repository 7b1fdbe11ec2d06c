"""TD3+BC update quantities in TensorFlow; critics as one batched pair of networks."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"


class PolicyNet(tf.keras.Model):
    def __init__(self, limit):
        super().__init__()
        self.hidden = [tf.keras.layers.Dense(32, activation="relu") for _ in range(2)]
        self.head = tf.keras.layers.Dense(3, activation="tanh")
        self.limit = limit

    def call(self, x):
        for layer in self.hidden:
            x = layer(x)
        return self.head(x) * self.limit


class TwinQ(tf.Module):
    """Both critics at once: kernels are (2, in, out)."""

    def __init__(self):
        super().__init__()
        sizes = [(11, 32), (32, 32), (32, 1)]
        self.kernels = [tf.Variable(tf.random.normal((2, *s), stddev=0.1)) for s in sizes]
        self.biases = [tf.Variable(tf.zeros((2, 1, s[1]))) for s in sizes]

    def __call__(self, obs, act):
        x = tf.concat([obs, act], axis=1)
        x = tf.einsum("bi,kio->kbo", x, self.kernels[0]) + self.biases[0]
        for w, b in zip(self.kernels[1:], self.biases[1:]):
            x = tf.matmul(tf.nn.relu(x), w) + b
        return x


class Learner(tf.Module):
    def __init__(self):
        super().__init__()
        self.pi, self.pi_target = PolicyNet(1.5), PolicyNet(1.5)
        self.q, self.q_target = TwinQ(), TwinQ()
        self.obs_mean = tf.Variable(tf.zeros(8), trainable=False)
        self.obs_std = tf.Variable(tf.ones(8), trainable=False)

    def whiten(self, obs):
        return (obs - self.obs_mean) / (self.obs_std + 1e-3)

    def __call__(self, obs, act, obs2, rew, cont):
        obs, obs2 = self.whiten(obs), self.whiten(obs2)
        eps = tf.clip_by_value(tf.random.normal(tf.shape(act), stddev=0.2), -0.3, 0.3)
        act2 = tf.clip_by_value(self.pi_target(obs2) + eps, -1.5, 1.5)
        backup = rew + 0.98 * cont * tf.reduce_min(self.q_target(obs2, act2), axis=0)
        backup = tf.stop_gradient(backup)
        td = self.q(obs, act) - backup[None]
        critic_loss = tf.reduce_sum(tf.reduce_mean(tf.square(td), axis=(1, 2)))
        a_pi = self.pi(obs)
        q_pi = self.q(obs, a_pi)[0]
        weight = 2.5 / tf.stop_gradient(tf.reduce_mean(tf.abs(q_pi)))
        clone = tf.reduce_mean(tf.math.squared_difference(a_pi, act))
        actor_loss = clone - weight * tf.reduce_mean(q_pi)
        return a_pi, backup, q_pi, critic_loss, actor_loss


def make():
    learner = Learner()
    learner.pi(np.zeros((1, 8), "f"))
    learner.pi_target(np.zeros((1, 8), "f"))
    return learner


def load(port, ref):
    arr = lambda p: p.detach().numpy()
    for net, theirs in ((port.pi, ref.actor), (port.pi_target, ref.actor_target)):
        for layer, linear in zip([*net.hidden, net.head], [theirs.l1, theirs.l2, theirs.l3]):
            layer.set_weights([arr(linear.weight).T, arr(linear.bias)])
    for net, theirs in ((port.q, ref.critic), (port.q_target, ref.critic_target)):
        firsts = [theirs.l1, theirs.l2, theirs.l3]
        seconds = [theirs.l4, theirs.l5, theirs.l6]
        for i, (one, two) in enumerate(zip(firsts, seconds)):
            net.kernels[i].assign(np.stack([arr(one.weight).T, arr(two.weight).T]))
            net.biases[i].assign(np.stack([arr(one.bias), arr(two.bias)])[:, None])
    port.obs_mean.assign(arr(ref.mean)[0])
    port.obs_std.assign(arr(ref.std)[0])
