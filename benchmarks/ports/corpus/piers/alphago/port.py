"""AlphaGo's small nets with Keras's functional API; channels last."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "keras"
LAYOUT = "NHWC"
BOARD, PLANES, FILTERS = 7, 5, 8


class Rotate(layers.Layer):
    def __init__(self, turns, **kwargs):
        super().__init__(**kwargs)
        self.turns = turns

    def call(self, x):
        return ops.rot90(x, k=self.turns, axes=(1, 2))


class PositionBias(layers.Layer):
    def build(self, shape):
        self.bias = self.add_weight(shape=(shape[-1],), name="bias")

    def call(self, x):
        return x + self.bias


def policy_network():
    planes = keras.Input((BOARD, BOARD, PLANES))
    h = layers.Conv2D(FILTERS, 5, padding="same", activation="relu", name="conv1")(planes)
    h = layers.Conv2D(FILTERS, 3, padding="same", activation="relu", name="conv2")(h)
    h = layers.Conv2D(FILTERS, 3, padding="same", activation="relu", name="conv3")(h)
    h = layers.Conv2D(1, 1, use_bias=False, name="last")(h)
    logits = PositionBias(name="position")(layers.Flatten()(h))
    return keras.Model(planes, layers.Softmax()(logits), name="policy")


def value_network():
    planes = keras.Input((BOARD, BOARD, PLANES))
    colour = keras.Input((BOARD, BOARD, 1))
    h = layers.Concatenate()([planes, colour])
    h = layers.Conv2D(FILTERS, 3, padding="same", name="conv1")(h)
    h = layers.ReLU()(layers.BatchNormalization(epsilon=2e-5, name="bn")(h))
    h = layers.Conv2D(2, 1, activation="relu", name="conv2")(h)
    h = layers.Flatten()(layers.Permute((3, 1, 2))(h))
    h = layers.Dense(16, activation="relu", name="fc1")(h)
    value = layers.Dense(1, activation="tanh", name="fc2")(h)
    return keras.Model([planes, colour], value, name="value")


def network(temperature=0.67):
    planes = keras.Input((BOARD, BOARD, PLANES))
    colour = keras.Input((BOARD, BOARD, 1))
    sensible = keras.Input((BOARD, BOARD, 1))
    policy, value = policy_network(), value_network()
    views = []
    for k in range(4):
        p = policy(Rotate(k)(planes))
        p = layers.Reshape((BOARD, BOARD, 1))(p)
        views.append(layers.Flatten()(Rotate(-k)(p)))
    mean = layers.Average()(views)
    heated = ops.power(mean, 1.0 / temperature) * layers.Flatten()(sensible)
    prior = heated / ops.sum(heated, axis=-1, keepdims=True)
    entropy = -ops.sum(mean * ops.log(mean), axis=-1)
    return keras.Model([planes, colour, sensible], [prior, value([planes, colour]), entropy])


def make():
    net = network()
    rng = np.random.default_rng(77)
    for w in net.weights:
        value = 0.25 * rng.normal(size=w.shape)
        if w.name in ("gamma", "moving_variance"):
            value = 1 + np.abs(value)
        w.assign(value.astype("float32"))
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    b = 4
    stones = np.eye(3)[rng.integers(0, 3, (b, BOARD, BOARD))].transpose(0, 3, 1, 2)
    liberties = rng.random((b, 2, BOARD, BOARD))
    planes = np.concatenate([stones, liberties], 1)
    colour = np.broadcast_to(np.array([1, 0, 1, 0])[:, None, None, None], (b, 1, BOARD, BOARD))
    sensible = rng.random((b, 1, BOARD, BOARD)) > 0.3
    return tuple(np.ascontiguousarray(a.transpose(0, 2, 3, 1)).astype("float32")
                 for a in (planes, colour, sensible))


def load(ported, original):
    policy, value = ported.get_layer("policy"), ported.get_layer("value")
    for net, of in ((policy, original.policy), (value, original.value)):
        for name in ("conv1", "conv2", "conv3", "last"):
            link = getattr(of, name, None)
            if link is not None:
                weights = [link.W.array.transpose(2, 3, 1, 0)]
                net.get_layer(name).set_weights(weights + ([link.b.array] if link.b is not None else []))
    policy.get_layer("position").set_weights([original.policy.position.b.array])
    bn = original.value.bn
    value.get_layer("bn").set_weights([bn.gamma.array, bn.beta.array, bn.avg_mean, bn.avg_var])
    for name in ("fc1", "fc2"):
        link = getattr(original.value, name)
        value.get_layer(name).set_weights([link.W.array.T, link.b.array])
