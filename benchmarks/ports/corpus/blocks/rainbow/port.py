"""Rainbow in Keras, channels last."""
import keras
import tensorflow as tf
from keras import layers

FRAMEWORK = "tensorflow"
MODE = "train"
LAYOUT = "NHWC"
NUM_ACTIONS, NUM_ATOMS = 6, 31


def factor(n):
    noise = tf.random.normal((n,))
    return tf.sign(noise) * tf.sqrt(tf.abs(noise))


class NoisyDense(layers.Layer):
    def __init__(self, units, relu=False, **kwargs):
        super().__init__(**kwargs)
        self.units, self.relu = units, relu

    def build(self, shape):
        self.n = shape[-1]
        self.w = self.add_weight(shape=(self.n, self.units), name="w")
        self.w_sigma = self.add_weight(shape=(self.n, self.units), name="w_sigma")
        self.b = self.add_weight(shape=(self.units,), name="b")
        self.b_sigma = self.add_weight(shape=(self.units,), name="b_sigma")

    def call(self, x, training=False):
        w, b = self.w, self.b
        if training:
            noise_in = factor(self.n)
            noise_out = factor(self.units)
            w = w + self.w_sigma * noise_in[:, None] * noise_out[None, :]
            b = b + self.b_sigma * noise_out
        y = tf.matmul(x, w) + b
        return tf.nn.relu(y) if self.relu else y


class Rainbow(keras.Model):
    def __init__(self, low=-5.0, high=10.0):
        super().__init__()
        self.convs = [
            layers.Conv2D(16, 3, activation="relu"),
            layers.Conv2D(16, 3, strides=2, activation="relu"),
        ]
        self.flatten = layers.Flatten()
        self.v_hidden = NoisyDense(32, relu=True)
        self.v_out = NoisyDense(NUM_ATOMS)
        self.a_hidden = NoisyDense(32, relu=True)
        self.a_out = NoisyDense(NUM_ACTIONS * NUM_ATOMS)
        self.atoms = tf.linspace(low, high, NUM_ATOMS)

    def call(self, frames, training=False):
        x = frames
        for conv in self.convs:
            x = conv(x)
        x = tf.transpose(x, (0, 3, 1, 2))  # flattened as torch does, so that the noise fits too
        x = self.flatten(x)
        v = self.v_out(self.v_hidden(x, training=training), training=training)
        a = self.a_out(self.a_hidden(x, training=training), training=training)
        a = tf.reshape(a, (-1, NUM_ACTIONS, NUM_ATOMS))
        a = a - tf.reduce_mean(a, axis=1, keepdims=True)
        logits = v[:, None, :] + a
        p = tf.nn.softmax(logits)
        p = tf.maximum(p, 1e-3)
        q = tf.linalg.matvec(p, self.atoms)
        return q, tf.math.log(p)


def make():
    net = Rainbow()
    net(tf.zeros((1, 10, 10, 4)))
    return net


def load(port, ref):
    def numbers(tensor):
        return tensor.detach().numpy()

    for ours, theirs in zip(port.convs, (ref.conv1, ref.conv2)):
        ours.set_weights([numbers(theirs.weight).transpose(2, 3, 1, 0), numbers(theirs.bias)])
    for ours, theirs in (
        (port.v_hidden, ref.value1),
        (port.v_out, ref.value2),
        (port.a_hidden, ref.adv1),
        (port.a_out, ref.adv2),
    ):
        mu, sigma = numbers(theirs.weight_mu).T, numbers(theirs.weight_sigma).T
        ours.set_weights([mu, sigma, numbers(theirs.bias_mu), numbers(theirs.bias_sigma)])
