import numpy as np
import tensorflow as tf
import keras
from keras import layers

FRAMEWORK = "tensorflow"
OBS, ACT, HID = 6, 3, 18
LOG2PI = float(np.log(2 * np.pi))
LOG_STD_MIN, LOG_STD_MAX = -20.0, 2.0


def build_critic(name):
    return keras.Sequential([
        keras.Input((OBS + ACT,)),
        layers.Dense(HID, activation="relu"),
        layers.Dense(HID, activation="relu"),
        layers.Dense(1),
    ], name=name)


def build_actor():
    x = inp = keras.Input((OBS,))
    for i in (1, 2):
        x = layers.Dense(HID, name=f"l{i}")(x)
        x = layers.LayerNormalization(epsilon=1e-6, name=f"ln{i}")(x)
        x = layers.ReLU()(x)
    return keras.Model(inp, [layers.Dense(ACT, name="mean")(x), layers.Dense(ACT, name="log_std")(x)])


class SAC(tf.Module):
    def __init__(self, gamma=0.95):
        super().__init__()
        self.gamma = gamma
        self.actor = build_actor()
        self.q1, self.q2 = build_critic("q1"), build_critic("q2")
        self.q1_target, self.q2_target = build_critic("q1t"), build_critic("q2t")
        self.log_alpha = tf.Variable(0.0)

    @staticmethod
    def q(net, obs, act):
        return net(tf.concat([obs, act], 1))[:, 0]

    def policy(self, obs, eps):
        mu, log_std = self.actor(obs)
        log_std = tf.clip_by_value(log_std, LOG_STD_MIN, LOG_STD_MAX)
        u = mu + tf.exp(log_std) * eps
        logp = -0.5 * tf.square(eps) - log_std - 0.5 * LOG2PI
        logp = logp - 2.0 * (np.float32(np.log(2.0)) - u - tf.math.softplus(-2.0 * u))
        return tf.tanh(u), tf.reduce_sum(logp, axis=1), tf.tanh(mu)

    @tf.function
    def __call__(self, obs, act, reward, done, next_obs, eps, next_eps):
        alpha = tf.exp(self.log_alpha)
        q1, q2 = self.q(self.q1, obs, act), self.q(self.q2, obs, act)
        a2, logp2, _ = self.policy(next_obs, next_eps)
        soft = tf.minimum(self.q(self.q1_target, next_obs, a2), self.q(self.q2_target, next_obs, a2))
        target = reward + self.gamma * (1.0 - done) * (soft - alpha * logp2)
        critic_loss = tf.reduce_mean((q1 - target) ** 2) + tf.reduce_mean((q2 - target) ** 2)
        pi, logp, greedy = self.policy(obs, eps)
        q_pi = tf.minimum(self.q(self.q1, obs, pi), self.q(self.q2, obs, pi))
        actor_loss = tf.reduce_mean(alpha * logp - q_pi)
        return {"q1": q1, "q2": q2, "target": target, "critic_loss": critic_loss, "pi": pi,
                "logp": logp, "greedy": greedy, "actor_loss": actor_loss}


def make():
    return SAC()


def _linear(layer, link):
    layer.set_weights([link.W.array.T, link.b.array])


def _critic(net, chain):
    for layer, link in zip(net.layers, (chain.l1, chain.l2, chain.l3)):
        _linear(layer, link)


def load(port_model, ref_model):
    a, r = port_model.actor, ref_model.actor
    for n in ("l1", "l2", "mean", "log_std"):
        _linear(a.get_layer(n), r[n])
    for n in ("ln1", "ln2"):
        a.get_layer(n).set_weights([r[n].gamma.array, r[n].beta.array])
    _critic(port_model.q1, ref_model.q1)
    _critic(port_model.q2, ref_model.q2)
    _critic(port_model.q1_target, ref_model.q1_target)
    _critic(port_model.q2_target, ref_model.q2_target)
    port_model.log_alpha.assign(ref_model.log_alpha.array)
