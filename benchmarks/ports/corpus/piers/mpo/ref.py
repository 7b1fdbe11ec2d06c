"""MPO: the E-step's weights and temperature, the decoupled M-step and its duals."""
import math

import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
OBS, ACT, SAMPLES, WIDTH = 7, 3, 6, 16
EPSILON, EPSILON_MEAN, EPSILON_STD = 0.1, 0.02, 0.004


class Linear(tf.Module):
    def __init__(self, rng, n_in, n_out, name=None):
        super().__init__(name=name)
        self.w = tf.Variable((rng.normal(size=(n_in, n_out)) / math.sqrt(n_in)).astype("float32"))
        self.b = tf.Variable((0.2 * rng.normal(size=n_out)).astype("float32"))

    def __call__(self, x):
        return tf.tensordot(x, self.w, 1) + self.b


class LayerNormMLP(tf.Module):
    """A linear layer, layer norm and tanh; then layers with elu."""

    def __init__(self, rng, n_in, sizes, name=None):
        super().__init__(name=name)
        self.first = Linear(rng, n_in, sizes[0])
        self.scale = tf.Variable((1 + 0.2 * rng.normal(size=sizes[0])).astype("float32"))
        self.offset = tf.Variable((0.1 * rng.normal(size=sizes[0])).astype("float32"))
        self.rest = [Linear(rng, a, b) for a, b in zip(sizes[:-1], sizes[1:])]

    def __call__(self, x):
        h = self.first(x)
        mean, var = tf.nn.moments(h, axes=[-1], keepdims=True)
        h = tf.nn.batch_normalization(h, mean, var, self.offset, self.scale, 1e-5)
        h = tf.tanh(h)
        for layer in self.rest:
            h = tf.nn.elu(layer(h))
        return h


class Policy(tf.Module):
    def __init__(self, rng, init_scale=0.7, min_scale=1e-3, name=None):
        super().__init__(name=name)
        self.torso = LayerNormMLP(rng, OBS, [WIDTH, WIDTH])
        self.mean = Linear(rng, WIDTH, ACT)
        self.std = Linear(rng, WIDTH, ACT)
        self.init_scale, self.min_scale = init_scale, min_scale

    def __call__(self, obs):
        h = self.torso(obs)
        std = tf.nn.softplus(self.std(h))
        std *= self.init_scale / math.log(2.0)
        return self.mean(h), std + self.min_scale


class Critic(tf.Module):
    def __init__(self, rng, name=None):
        super().__init__(name=name)
        self.torso = LayerNormMLP(rng, OBS + ACT, [WIDTH, WIDTH])
        self.head = Linear(rng, WIDTH, 1)

    def __call__(self, obs, action):
        x = tf.concat([obs, tf.clip_by_value(action, -1.0, 1.0)], -1)
        return tf.squeeze(self.head(self.torso(x)), -1)


def log_prob(x, mean, std):
    z = (x - mean) / std
    return tf.reduce_sum(-0.5 * z * z - tf.math.log(std) - 0.5 * math.log(2 * math.pi), -1)


def kl(mean_a, std_a, mean_b, std_b):
    """KL(a || b) of each dimension."""
    ratio = tf.square(std_a / std_b)
    return 0.5 * (tf.square((mean_a - mean_b) / std_b) + ratio - 1.0 - tf.math.log(ratio))


class MPO(tf.Module):
    def __init__(self, seed=0, name=None):
        super().__init__(name=name)
        rng = np.random.default_rng(seed)
        self.policy = Policy(rng)
        self.target_policy = Policy(rng)
        self.critic = Critic(rng)
        self.log_temperature = tf.Variable(-0.4)
        self.log_alpha_mean = tf.Variable((0.5 + 0.3 * rng.normal(size=ACT)).astype("float32"))
        self.log_alpha_std = tf.Variable((0.2 + 0.3 * rng.normal(size=ACT)).astype("float32"))

    def e_step(self, q, temperature):
        """q is (samples, batch)."""
        tempered = q / temperature
        weights = tf.nn.softmax(tempered, axis=0)
        log_mean = tf.reduce_logsumexp(tempered, axis=0) - math.log(SAMPLES)
        loss = temperature * (EPSILON + tf.reduce_mean(log_mean))
        return tf.stop_gradient(weights), loss

    def __call__(self, obs, noise):
        temperature = tf.nn.softplus(self.log_temperature) + 1e-8
        mean_t, std_t = self.target_policy(obs)
        noise = tf.transpose(noise, [1, 0, 2])
        actions = mean_t + std_t * noise  # (samples, batch, action)
        tiled = tf.tile(obs[None], [SAMPLES, 1, 1])
        q = self.critic(tiled, actions)
        weights, loss_temperature = self.e_step(q, temperature)

        mean, std = self.policy(obs)
        loss_mean = -tf.reduce_sum(weights * log_prob(actions, mean, std_t), 0)
        loss_std = -tf.reduce_sum(weights * log_prob(actions, mean_t, std), 0)
        kl_mean = tf.reduce_mean(kl(mean_t, std_t, mean, std_t), 0)
        kl_std = tf.reduce_mean(kl(mean_t, std_t, mean_t, std), 0)
        alpha_mean = tf.nn.softplus(self.log_alpha_mean) + 1e-8
        alpha_std = tf.nn.softplus(self.log_alpha_std) + 1e-8
        penalty = tf.reduce_sum(alpha_mean * kl_mean) + tf.reduce_sum(alpha_std * kl_std)
        loss_alpha = tf.reduce_sum(alpha_mean * (EPSILON_MEAN - kl_mean)) \
            + tf.reduce_sum(alpha_std * (EPSILON_STD - kl_std))
        policy_loss = loss_mean + loss_std
        return {"policy": policy_loss, "penalty": penalty, "dual": loss_alpha,
                "temperature": loss_temperature, "weights": weights, "mean": mean}


def make():
    return MPO(31)


def inputs(seed):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(5, OBS)).astype("float32"), rng.normal(size=(5, SAMPLES, ACT)).astype("float32"))
