"""TD3 in plain TensorFlow 2."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"


class MLP(tf.Module):
    """Dense layers with relu between, all variables by hand."""

    def __init__(self, sizes, name=None):
        super().__init__(name)
        self.kernels = []
        self.biases = []
        for n_in, n_out in zip(sizes[:-1], sizes[1:]):
            self.kernels.append(tf.Variable(tf.random.normal([n_in, n_out], stddev=0.1)))
            self.biases.append(tf.Variable(tf.zeros([n_out])))

    def __call__(self, x):
        for kernel, bias in zip(self.kernels[:-1], self.biases[:-1]):
            x = tf.nn.relu(tf.matmul(x, kernel) + bias)
        return tf.matmul(x, self.kernels[-1]) + self.biases[-1]


class TD3(tf.Module):
    def __init__(self, obs_dim=11, act_dim=3, hidden=32, act_limit=2.0, gamma=0.99,
                 target_noise=0.2, noise_clip=0.5):
        super().__init__()
        self.pi_targ = MLP([obs_dim, hidden, hidden, act_dim], name="pi_targ")
        self.q1 = MLP([obs_dim + act_dim, hidden, hidden, 1], name="q1")
        self.q2 = MLP([obs_dim + act_dim, hidden, hidden, 1], name="q2")
        self.q1_targ = MLP([obs_dim + act_dim, hidden, hidden, 1], name="q1_targ")
        self.q2_targ = MLP([obs_dim + act_dim, hidden, hidden, 1], name="q2_targ")
        self.act_limit = act_limit
        self.gamma = gamma
        self.target_noise = target_noise * act_limit
        self.noise_clip = noise_clip * act_limit

    def smoothed_action(self, obs):
        pi = self.act_limit * tf.tanh(self.pi_targ(obs))
        epsilon = tf.random.normal(tf.shape(pi), stddev=self.target_noise)
        epsilon = tf.clip_by_value(epsilon, -self.noise_clip, self.noise_clip)
        action = pi + epsilon
        return tf.clip_by_value(action, -self.act_limit, self.act_limit)

    def backup(self, next_state, reward, not_done):
        a2 = self.smoothed_action(next_state)
        sa2 = tf.concat([next_state, a2], axis=-1)
        min_q = tf.minimum(self.q1_targ(sa2), self.q2_targ(sa2))
        return tf.stop_gradient(reward + self.gamma * not_done * min_q)

    def __call__(self, state, action, next_state, reward, not_done):
        target = self.backup(next_state, reward, not_done)
        sa = tf.concat([state, action], axis=-1)
        q1 = self.q1(sa)
        q2 = self.q2(sa)
        loss = tf.reduce_mean((q1 - target) ** 2) + tf.reduce_mean((q2 - target) ** 2)
        return {"target_q": target, "q1": q1, "q2": q2, "loss": loss}


def make():
    tf.random.set_seed(0)
    return TD3()


def _copy(mlp, layers):
    for kernel, bias, layer in zip(mlp.kernels, mlp.biases, layers):
        kernel.assign(layer.weight.detach().numpy().T)
        bias.assign(layer.bias.detach().numpy())


def load(model, reference):
    actor = reference.actor_target
    _copy(model.pi_targ, [actor.l1, actor.l2, actor.l3])
    c = reference.critic
    _copy(model.q1, [c.l1, c.l2, c.l3])
    _copy(model.q2, [c.l4, c.l5, c.l6])
    c = reference.critic_target
    _copy(model.q1_targ, [c.l1, c.l2, c.l3])
    _copy(model.q2_targ, [c.l4, c.l5, c.l6])
