"""Keras port of the IMPALA learner."""
import keras
import numpy as np
import tensorflow as tf
from keras import layers

FRAMEWORK = "tensorflow"
T, B, A = 5, 3, 5


def conv(ch, name):
    return layers.Conv2D(ch, 3, padding="same", name=name, bias_initializer="random_normal")


def encoder(size=16, hidden=24):
    inp = x = keras.Input((size, size, 3))
    for i, ch in enumerate((6, 8)):
        x = conv(ch, f"s{i}_in")(x)
        x = layers.Lambda(lambda y: tf.pad(y, [[0, 0], [1, 1], [1, 1], [0, 0]], constant_values=y.dtype.min))(x)
        x = layers.MaxPooling2D(3, 2)(x)
        y = conv(ch, f"s{i}_a")(layers.ReLU()(x))
        y = conv(ch, f"s{i}_b")(layers.ReLU()(y))
        x = layers.Add()([y, x])
    x = layers.Flatten()(layers.ReLU()(x))
    return keras.Model(inp, layers.Dense(hidden, "relu", name="fc", bias_initializer="random_normal")(x))


class Learner(keras.Model):
    def __init__(self, hidden=24, gamma=0.97, rho_bar=1.0, lambda_=0.95):
        super().__init__()
        self.hidden, self.gamma, self.rho_bar, self.lambda_ = hidden, gamma, rho_bar, lambda_
        self.encoder = encoder(hidden=hidden)
        self.core = layers.LSTMCell(hidden)
        self.heads = layers.Dense(A + 1, bias_initializer="random_normal")

    def unroll(self, feats, done):
        keep = 1.0 - tf.cast(done, tf.float32)[..., None]
        state = [tf.zeros((feats.shape[1], self.hidden))] * 2
        outs = []
        for step in range(feats.shape[0]):
            state = [
                state[0] * keep[step],
                state[1] * keep[step],
            ]
            out, state = self.core(feats[step], state)
            outs.append(out)
        return tf.stack(outs, 0)

    def call(self, frame, reward, last_action, done, behaviour_logits):
        t, b = frame.shape[0], frame.shape[1]
        img = tf.cast(tf.reshape(frame, (t * b,) + tuple(frame.shape[2:])), tf.float32) * (1 / 255)
        reward = tf.clip_by_value(reward, -1.0, 1.0)
        feats = tf.concat(
            [tf.reshape(self.encoder(img), (t, b, -1)), reward[..., None], tf.one_hot(last_action, A)], -1
        )
        heads = self.heads(self.unroll(feats, done))
        logits, values = heads[..., :A], heads[..., A]
        vs, adv = self.targets(logits, values, reward, last_action, done, behaviour_logits)
        return logits, values, vs, adv

    def targets(self, logits, values, reward, action, done, mu):
        action, reward = action[1:], reward[1:]
        discount = tf.where(done[1:], 0.0, self.gamma)
        nll = tf.nn.sparse_softmax_cross_entropy_with_logits
        ratio = tf.exp(nll(action, mu[:-1]) - nll(action, logits[:-1]))
        rho = tf.minimum(self.rho_bar, ratio)
        c = tf.minimum(1.0, ratio) * self.lambda_
        delta = rho * (reward + discount * values[1:] - values[:-1])
        correction = tf.scan(
            lambda acc, x: x[0] + x[1] * acc,
            (delta, discount * c),
            initializer=tf.zeros_like(values[-1]),
            reverse=True,
        )
        vs = correction + values[:-1]
        vs_next = tf.concat([vs[1:], values[-1:]], 0)
        adv = rho * (reward + discount * vs_next - values[:-1])
        return vs, adv


def make():
    keras.utils.set_random_seed(11)
    model = Learner()
    model(*[tf.constant(x) for x in inputs(0)])
    return model


def load(model, reference):
    w = {k: v.detach().numpy() for k, v in reference.state_dict().items()}
    for i in range(2):
        for name, key in (("in", "conv"), ("a", "block.conv0"), ("b", "block.conv1")):
            key = f"sections.{i}.{key}"
            kernel = w[key + ".weight"].transpose(2, 3, 1, 0)
            model.encoder.get_layer(f"s{i}_{name}").set_weights([kernel, w[key + ".bias"]])
    fc = w["fc.weight"].reshape(-1, 8, 4, 4)
    fc = fc.transpose(2, 3, 1, 0).reshape(128, -1)
    model.encoder.get_layer("fc").set_weights([fc, w["fc.bias"]])
    model.core.set_weights([w["core.weight_ih"].T, w["core.weight_hh"].T, w["core.bias_ih"] + w["core.bias_hh"]])
    model.heads.set_weights([
        np.concatenate([w["policy.weight"], w["baseline.weight"]]).T,
        np.concatenate([w["policy.bias"], w["baseline.bias"]]),
    ])


def inputs(seed):
    g = np.random.default_rng(seed)
    done = g.random((T, B)) < 0.25
    done[2, 0] = True
    frame = g.integers(0, 256, (T, B, 3, 16, 16)).astype("uint8")
    return (
        np.ascontiguousarray(np.moveaxis(frame, 2, -1)),
        g.normal(size=(T, B)).astype("float32"),
        g.integers(0, A, (T, B)),
        done,
        g.normal(size=(T, B, A)).astype("float32"),
    )
