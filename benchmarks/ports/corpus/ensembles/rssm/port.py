"""The RSSM in Keras 3 and TensorFlow."""
import numpy as np, tensorflow as tf, keras
from torch import nn

FRAMEWORK = "tensorflow"
STOCH, CLASSES, DETER, HID, ACT, EMB = 6, 8, 32, 24, 4, 20


class KerasRSSM(keras.Model):
    def __init__(self):
        super().__init__()
        D, N = keras.layers.Dense, lambda: keras.layers.LayerNormalization(epsilon=1e-3)
        self.img_in, self.img_norm = D(HID), N()
        self.gru, self.gru_norm = D(3 * DETER, use_bias=False), N()
        self.prior1, self.prior_norm, self.prior2 = D(HID), N(), D(STOCH * CLASSES)
        self.post1, self.post_norm, self.post2 = D(HID), N(), D(STOCH * CLASSES)

    def logits(self, raw):
        probs = tf.nn.softmax(tf.reshape(raw, (-1, STOCH, CLASSES)), -1)
        return tf.math.log(0.99 * probs + 0.01 / CLASSES)

    def step(self, deter, stoch, action, embed, first):
        keep = (1.0 - first)[:, None]
        deter = deter * keep
        stoch = stoch * keep
        action = action * keep
        x = tf.nn.silu(self.img_norm(self.img_in(tf.concat([stoch, action], -1))))
        parts = self.gru_norm(self.gru(tf.concat([x, deter], -1)))
        reset, cand, update = tf.split(parts, 3, -1)
        cand = tf.tanh(tf.sigmoid(reset) * cand)
        update = tf.sigmoid(update - 1.0)
        deter = update * cand + (1 - update) * deter
        prior = self.logits(self.prior2(tf.nn.silu(self.prior_norm(self.prior1(deter)))))
        post = self.logits(self.post2(tf.nn.silu(self.post_norm(self.post1(tf.concat([deter, embed], -1))))))
        index = tf.random.categorical(tf.reshape(post, (-1, CLASSES)), 1)
        sample = tf.reshape(tf.one_hot(index[:, 0], CLASSES), (-1, STOCH * CLASSES))
        return deter, sample, prior, post

    def call(self, embeds, actions, first):
        deter = tf.zeros((tf.shape(embeds)[0], DETER))
        stoch = tf.zeros((tf.shape(embeds)[0], STOCH * CLASSES))
        deters, stochs, kls = [], [], []
        for t in range(embeds.shape[1]):
            deter, stoch, prior, post = self.step(deter, stoch, actions[:, t], embeds[:, t], first[:, t])
            kl = tf.reduce_sum(tf.exp(post) * (post - prior), (1, 2))
            deters.append(deter); stochs.append(stoch); kls.append(tf.maximum(kl, 1.0))
        return {"deter": tf.stack(deters, 1), "stoch": tf.stack(stochs, 1), "kl": tf.stack(kls, 1)}


def make():
    net = KerasRSSM()
    net(tf.zeros((4, 3, EMB)), tf.zeros((4, 3, ACT)), tf.zeros((4, 3)))
    return net


def load(net, ref):
    for name, layer in ref.named_children():
        w = [p.detach().numpy() for p in layer.parameters()]
        if isinstance(layer, nn.Linear):
            w[0] = w[0].T
        getattr(net, name).set_weights(w)
