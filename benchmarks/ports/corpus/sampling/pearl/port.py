"""PEARL's inference network and policy in Keras 3."""
import math

import keras
import numpy as np
import tensorflow as tf
from keras import layers

FRAMEWORK = "tensorflow"


def mlp(sizes, n_in, name):
    net = keras.Sequential(name=name)
    net.add(keras.Input((n_in,)))
    for size in sizes[:-1]:
        net.add(layers.Dense(size, activation="relu"))
    net.add(layers.Dense(sizes[-1]))
    return net


class PEARL(keras.Model):
    def __init__(self, obs_dim=6, act_dim=2, latent=5, units=24):
        super().__init__()
        self.latent = latent
        self.encoder = mlp([units, units, 2 * latent], obs_dim + act_dim + 1, "encoder")
        self.pi = mlp([units, units, 2 * act_dim], obs_dim + latent, "pi")

    def posterior(self, context):
        tasks, n, width = context.shape
        out = self.encoder(tf.reshape(context, [tasks * n, width]))
        out = tf.reshape(out, [tasks, n, 2 * self.latent])
        mu, raw = tf.split(out, 2, axis=-1)
        var = tf.maximum(tf.nn.softplus(raw), 1e-7)
        precision = 1.0 / var
        z_var = 1.0 / tf.reduce_sum(precision, axis=1)
        z_mean = z_var * tf.reduce_sum(mu * precision, axis=1)
        return z_mean, z_var

    def sample(self, mean, var):
        return mean + tf.sqrt(var) * tf.random.normal(tf.shape(mean))

    def act(self, obs, z):
        tasks, n, width = obs.shape
        z = tf.repeat(z, n, axis=0)
        out = self.pi(tf.concat([tf.reshape(obs, [tasks * n, width]), z], axis=-1))
        mean, log_std = tf.split(out, 2, axis=-1)
        log_std = tf.clip_by_value(log_std, -20.0, 2.0)
        noise = tf.random.normal(tf.shape(mean))
        pre_tanh = mean + tf.exp(log_std) * noise
        action = tf.tanh(pre_tanh)
        log_prob = -0.5 * (noise**2 + math.log(2 * math.pi)) - log_std
        log_prob -= tf.math.log(1 - action**2 + 1e-6)
        return action, tf.reduce_sum(log_prob, axis=-1, keepdims=True)

    def call(self, obs, context):
        z_mean, z_var = self.posterior(context)
        z = tf.stack([self.sample(m, v) for m, v in zip(tf.unstack(z_mean), tf.unstack(z_var))])
        kl = 0.5 * tf.reduce_sum(z_var + z_mean**2 - 1.0 - tf.math.log(z_var))
        action, log_prob = self.act(obs, z)
        return {"z_mean": z_mean, "z_var": z_var, "kl": kl, "action": action, "log_prob": log_prob}


def make():
    keras.utils.set_random_seed(0)
    return PEARL()


def _copy(net, theirs):
    linears = [theirs.fc0, theirs.fc1, theirs.last_fc]
    for layer, linear in zip(net.layers, linears):
        layer.set_weights([linear.weight.detach().numpy().T, linear.bias.detach().numpy()])


def load(model, reference):
    _copy(model.encoder, reference.context_encoder)
    _copy(model.pi, reference.policy)
