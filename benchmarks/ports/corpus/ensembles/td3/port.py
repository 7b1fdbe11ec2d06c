"""The TD3 target in plain TensorFlow (tf.Module)."""
import tensorflow as tf
from torch import nn

FRAMEWORK = "tensorflow"
OBS, ACT, MAXA = 7, 3, 2.0


class Mlp(tf.Module):
    def __init__(self, torch_mlp):
        super().__init__()
        self.layers = [(tf.Variable(m.weight.detach().numpy().T), tf.Variable(m.bias.detach().numpy()))
                       for m in torch_mlp if isinstance(m, nn.Linear)]

    def __call__(self, x):
        for i, (w, b) in enumerate(self.layers):
            x = tf.matmul(x, w) + b
            if i < len(self.layers) - 1:
                x = tf.nn.relu(x)
        return x


class TfTD3(tf.Module):
    def __init__(self, policy_noise=0.2, noise_clip=0.5, gamma=0.99):
        super().__init__()
        self.policy_noise, self.noise_clip, self.gamma = policy_noise, noise_clip, gamma

    def __call__(self, next_obs, reward, done):
        mean = MAXA * tf.tanh(self.actor(next_obs))
        shape = tf.shape(mean)
        noise = tf.random.normal(shape)
        std = self.policy_noise * MAXA
        noise = noise * std
        limit = self.noise_clip * MAXA
        noise = tf.clip_by_value(noise, -limit, limit)
        action = tf.clip_by_value(mean + noise, -MAXA, MAXA)
        sa = tf.concat([next_obs, action], 1)
        q = tf.squeeze(tf.minimum(self.q1(sa), self.q2(sa)), -1)
        return {"action": action, "target": reward + self.gamma * (1 - done) * q}


def make():
    return TfTD3()


def load(net, ref):
    net.actor, net.q1, net.q2 = Mlp(ref.actor), Mlp(ref.q1), Mlp(ref.q2)
