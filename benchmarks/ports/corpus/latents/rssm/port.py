"""Dreamer's RSSM in Keras."""
import tensorflow as tf

FRAMEWORK = "tensorflow"
D, S, A, O, H = 24, 6, 3, 9, 16


class KerasRSSM(tf.keras.Model):
    def __init__(self):
        super().__init__()
        L = tf.keras.layers
        self.embed = L.Dense(H, activation="elu")
        self.inp = L.Dense(H, activation="elu")
        self.gru = L.Dense(3 * D, use_bias=False)
        self.norm = L.LayerNormalization(epsilon=1e-5)
        self.prior_hidden = L.Dense(H, activation="elu")
        self.prior_out = L.Dense(2 * S)
        self.post_hidden = L.Dense(H, activation="elu")
        self.post_out = L.Dense(2 * S)
        self.rew1 = L.Dense(H, activation="elu")
        self.rew2 = L.Dense(1)

    def cell(self, x, h):
        parts = self.norm(self.gru(tf.concat([x, h], -1)))
        reset, cand, update = tf.split(parts, 3, axis=-1)
        reset = tf.sigmoid(reset)
        cand = tf.tanh(reset * cand)
        update = tf.sigmoid(update - 1.0)
        return update * cand + (1.0 - update) * h

    def stats(self, x):
        mean, std = tf.split(x, 2, -1)
        return mean, tf.nn.softplus(std) + 0.1

    def call(self, obs, action, is_first):
        B, T = obs.shape[:2]
        h, z = tf.zeros((B, D)), tf.zeros((B, S))
        rewards, kls = [], []
        for t in range(T):
            keep = 1.0 - is_first[:, t, None]
            h, z = h * keep, z * keep
            x = self.inp(tf.concat([z, action[:, t] * keep], -1))
            h = self.cell(x, h)
            pm, ps = self.stats(self.prior_out(self.prior_hidden(h)))
            e = self.embed(obs[:, t])
            qm, qs = self.stats(self.post_out(self.post_hidden(tf.concat([h, e], -1))))
            z = qm + qs * tf.random.normal(tf.shape(qm))
            kl = tf.math.log(ps / qs) + (qs**2 + (qm - pm) ** 2) / (2 * ps**2) - 0.5
            kls.append(tf.reduce_sum(kl, -1))
            rewards.append(tf.squeeze(self.rew2(self.rew1(tf.concat([h, z], -1))), -1))
        return {"reward": tf.stack(rewards, 1), "kl": tf.stack(kls, 1), "deter": h}


def make():
    net = KerasRSSM()
    net(tf.zeros((1, 1, O)), tf.zeros((1, 1, A)), tf.ones((1, 1)))
    return net


def load(net, ref):
    for name in "embed inp gru prior_hidden prior_out post_hidden post_out rew1 rew2".split():
        a = getattr(ref, name)
        w = [a.weight.detach().numpy().T] + ([] if a.bias is None else [a.bias.detach().numpy()])
        getattr(net, name).set_weights(w)
    net.norm.set_weights([ref.norm.weight.detach().numpy(), ref.norm.bias.detach().numpy()])
