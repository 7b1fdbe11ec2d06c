"""Rainbow's head in Keras."""
import keras
import tensorflow as tf
from keras import layers

FRAMEWORK = "tensorflow"
OBS, HID, ACT, ATOMS = 12, 24, 5, 51


class NoisyDense(layers.Layer):
    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units

    def build(self, shape):
        n = shape[-1]
        self.w_mu = self.add_weight(shape=(n, self.units), name="w_mu")
        self.w_sigma = self.add_weight(shape=(n, self.units), name="w_sigma")
        self.b_mu = self.add_weight(shape=(self.units,), name="b_mu")
        self.b_sigma = self.add_weight(shape=(self.units,), name="b_sigma")

    @staticmethod
    def f(x):
        return tf.sign(x) * tf.sqrt(tf.abs(x))

    def call(self, x):
        noise_in = self.f(tf.random.normal([x.shape[-1]]))
        noise_out = self.f(tf.random.normal([self.units]))
        w = self.w_mu + self.w_sigma * noise_in[:, None] * noise_out[None, :]
        b = self.b_mu + self.b_sigma * noise_out
        return tf.matmul(x, w) + b


class RainbowNet(keras.Model):
    def __init__(self, v_min=-10.0, v_max=10.0):
        super().__init__()
        self.body1 = layers.Dense(32, activation="relu")
        self.body2 = layers.Dense(HID)
        self.norm = layers.LayerNormalization(epsilon=1e-5)
        self.adv_hidden = NoisyDense(HID)
        self.adv_out = NoisyDense(ACT * ATOMS)
        self.val_hidden = NoisyDense(HID)
        self.val_out = NoisyDense(ATOMS)
        step = (v_max - v_min) / (ATOMS - 1)
        self.support = tf.constant([v_min + i * step for i in range(ATOMS)], tf.float32)

    def call(self, obs):
        h = self.body1(obs)
        h = tf.nn.relu(self.norm(self.body2(h)))
        adv = tf.reshape(self.adv_out(tf.nn.relu(self.adv_hidden(h))), (-1, ACT, ATOMS))
        val = tf.reshape(self.val_out(tf.nn.relu(self.val_hidden(h))), (-1, 1, ATOMS))
        logits = val + adv - tf.reduce_mean(adv, axis=1, keepdims=True)
        log_p = tf.nn.log_softmax(logits, axis=-1)
        q = tf.reduce_sum(tf.exp(log_p) * self.support, axis=-1)
        return {"log_p": log_p, "q": q}


def npy(t):
    return t.detach().cpu().numpy()


def dense(layer, linear):
    w = [npy(linear.weight).T]
    if linear.bias is not None:
        w.append(npy(linear.bias))
    layer.set_weights(w)


def norm(layer, ln):
    layer.set_weights([npy(ln.weight), npy(ln.bias)])


def make():
    keras.utils.set_random_seed(2)
    net = RainbowNet()
    net(tf.zeros((1, OBS)))
    return net


def load(net, ref):
    dense(net.body1, ref.body1)
    dense(net.body2, ref.body2)
    norm(net.norm, ref.norm)
    for name in ("adv_hidden", "adv_out", "val_hidden", "val_out"):
        theirs = getattr(ref, name)
        getattr(net, name).set_weights([
            npy(theirs.weight_mu).T, npy(theirs.weight_sigma).T,
            npy(theirs.bias_mu), npy(theirs.bias_sigma),
        ])
