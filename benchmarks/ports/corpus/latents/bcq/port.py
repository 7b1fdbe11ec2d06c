"""BCQ in Keras."""
import keras
import tensorflow as tf

FRAMEWORK = "tensorflow"
S, A, Lz, H, MAXA, PHI = 8, 3, 6, 40, 2.0, 0.05


class KerasBCQ(keras.Model):
    def __init__(self):
        super().__init__()
        D = keras.layers.Dense
        self.e1, self.e2 = D(H, "relu"), D(H, "relu")
        self.mean, self.log_std = D(Lz), D(Lz)
        self.d1, self.d2, self.d3 = D(H, "relu"), D(H, "relu"), D(A)
        self.a1, self.a2 = D(H, "relu"), D(A)
        self.q1a, self.q1b = D(H, "relu"), D(1)
        self.q2a, self.q2b = D(H, "relu"), D(1)

    def decode(self, s, z):
        x = tf.concat([s, z], 1)
        x = self.d3(self.d2(self.d1(x)))
        return MAXA * tf.tanh(x)

    def call(self, s, a):
        h = self.e2(self.e1(tf.concat([s, a], 1)))
        mean = self.mean(h)
        log_std = tf.clip_by_value(self.log_std(h), -4.0, 15.0)
        std = tf.exp(log_std)
        noise = tf.random.normal(tf.shape(std))
        z = mean + std * noise
        u = self.decode(s, z)
        kl = -0.5 * (1 + tf.math.log(std**2) - mean**2 - std**2)
        kl = tf.reduce_sum(kl, axis=1)
        p = tf.tanh(self.a2(self.a1(tf.concat([s, u], 1))))
        p = PHI * MAXA * p
        act = u + p
        act = tf.clip_by_value(act, -MAXA, MAXA)
        sa = tf.concat([s, act], 1)
        q1, q2 = self.q1b(self.q1a(sa)), self.q2b(self.q2a(sa))
        q = 0.75 * tf.minimum(q1, q2) + 0.25 * tf.maximum(q1, q2)
        return {"recon": tf.reduce_mean((u - a) ** 2, 1), "kl": kl, "action": act, "q": q[:, 0]}


def make():
    net = KerasBCQ()
    net(tf.zeros((1, S)), tf.zeros((1, A)))
    return net


def load(net, ref):
    for nm, t in ref.named_children():
        getattr(net, nm).set_weights([t.weight.detach().numpy().T, t.bias.detach().numpy()])
