"""DreamerV3 RSSM: Keras layers inside one keras.Model, scan by a Python loop over time-major tensors."""
import keras
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
O, U, D, S, C, W, N = 7, 3, 24, 4, 6, 20, 15


class Norm(keras.layers.Layer):
    def build(self, shape):
        self.scale = self.add_weight(shape=(shape[-1],), initializer="ones", name="scale")
        self.shift = self.add_weight(shape=(shape[-1],), initializer="zeros", name="shift")

    def call(self, x):
        mean, var = tf.nn.moments(x, axes=[-1], keepdims=True)
        return tf.nn.batch_normalization(x, mean, var, self.shift, self.scale, 1e-3)


def mlp(*units, out=None):
    stack = []
    for n in units:
        stack += [keras.layers.Dense(n, use_bias=False), Norm(), keras.layers.Activation("silu")]
    if out:
        stack.append(keras.layers.Dense(out))
    return keras.Sequential(stack)


class WorldModel(keras.Model):
    def __init__(self):
        super().__init__()
        self.enc, self.inp = mlp(W, W), mlp(W)
        self.core, self.core_norm = keras.layers.Dense(3 * D, use_bias=False), Norm()
        self.prior_net, self.post_net = mlp(W, out=S * C), mlp(W, out=S * C)
        self.rew_net, self.con_net = mlp(W, out=N), keras.layers.Dense(1, activation="sigmoid")
        grid = np.linspace(-3, 3, N, dtype="float32")
        self.grid = tf.constant(np.sign(grid) * (np.exp(np.abs(grid)) - 1))

    def dist(self, logits):
        p = tf.nn.softmax(tf.reshape(logits, (-1, S, C)))
        return p * 0.99 + 0.01 * tf.ones_like(p) / C

    def step(self, h, z, a, e, first):
        mask = 1.0 - first[:, None]
        h, z, a = mask * h, mask * z, mask * a
        x = self.inp(tf.concat([z, a], 1))
        gates = self.core_norm(self.core(tf.concat([x, h], 1)))
        r, c, u = gates[:, :D], gates[:, D:2 * D], gates[:, 2 * D:]
        u = tf.sigmoid(u - 1.0)
        h = h + u * (tf.tanh(tf.sigmoid(r) * c) - h)
        p = self.dist(self.prior_net(h))
        q = self.dist(self.post_net(tf.concat([h, e], 1)))
        kl = tf.reduce_sum(q * (tf.math.log(q) - tf.math.log(p)), axis=[1, 2])
        z = tf.reshape(tf.one_hot(tf.argmax(q, axis=-1), C), (-1, S * C))
        return h, z, tf.maximum(kl, 0.1)

    def call(self, obs, action, first):
        e = self.enc(tf.sign(obs) * tf.math.log(1.0 + tf.abs(obs)))
        b = tf.shape(obs)[0]
        h, z = tf.zeros((b, D)), tf.zeros((b, S * C))
        feat, kl = [], []
        for t in range(obs.shape[1]):
            h, z, k = self.step(h, z, action[:, t], e[:, t], first[:, t])
            feat.append(tf.concat([h, z], 1))
            kl.append(k)
        feat = tf.stack(feat, 1)
        probs = tf.nn.softmax(self.rew_net(feat))
        reward = tf.einsum("btn,n->bt", probs, self.grid)
        return {"feat": feat, "kl": tf.stack(kl, 1), "reward": reward, "cont": self.con_net(feat)[..., 0]}


def make():
    keras.utils.set_random_seed(8)
    net = WorldModel()
    net(tf.zeros((1, 2, O)), tf.zeros((1, 2, U)), tf.zeros((1, 2)))
    return net


def load(model, reference):
    num = lambda p: p.detach().numpy()

    def dense(dst, src):
        dst.set_weights([num(src.weight).T] + ([num(src.bias)] if src.bias is not None else []))

    def norm(dst, src):
        dst.set_weights([num(src.weight), num(src.bias)])

    for name, theirs in (("enc", "encoder"), ("inp", "img_in"), ("prior_net", "prior"),
                         ("post_net", "post"), ("rew_net", "reward")):
        src = [m for m in getattr(reference, theirs).modules() if not list(m.children())]
        for d, s in zip(getattr(model, name).layers, src):
            if isinstance(d, keras.layers.Dense):
                dense(d, s)
            elif isinstance(d, Norm):
                norm(d, s)
    dense(model.core, reference.gru)
    norm(model.core_norm, reference.gru_norm)
    dense(model.con_net, reference.cont)
