"""Slot attention in Keras 3, written with matmul and a stock GRUCell."""

import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
EPS = 1e-8


def grid(height, width):
    y, x = np.mgrid[0:height, 0:width].astype("float32")
    y, x = y / (height - 1), x / (width - 1)
    return np.stack([y, x, 1 - y, 1 - x], axis=-1)[None]


def norm(name):
    return layers.LayerNormalization(epsilon=1e-5, name=name)


class Slots(layers.Layer):
    def __init__(self, count, size, iterations=3):
        super().__init__()
        self.count, self.size, self.iterations = count, size, iterations
        self.query, self.key, self.value = (
            layers.Dense(size, use_bias=False, name=name) for name in ("q", "k", "v")
        )
        self.cell = layers.GRUCell(size, reset_after=True)
        self.hidden = layers.Dense(36, activation="relu")
        self.out = layers.Dense(size)
        self.norm_in, self.norm_slots, self.norm_mlp = norm("ni"), norm("ns"), norm("nm")

    def build(self, shape):
        self.initial = self.add_weight(shape=(1, self.count, self.size), name="initial")
        self.cell.build((None, self.size))
        self.built = True

    def call(self, tokens):
        batch = tokens.shape[0]
        slots = ops.repeat(self.initial, batch, axis=0)
        tokens = self.norm_in(tokens)
        keys = self.key(tokens) * self.size**-0.5
        values = self.value(tokens)
        for _ in range(self.iterations):
            query = self.query(self.norm_slots(slots))
            scores = ops.matmul(keys, ops.transpose(query, (0, 2, 1)))  # batch, tokens, slots
            competition = ops.softmax(scores, axis=-1) + EPS
            share = competition / ops.sum(competition, axis=1, keepdims=True)
            read = ops.matmul(ops.transpose(share, (0, 2, 1)), values)
            state = ops.reshape(slots, (-1, self.size))
            slots, _ = self.cell(ops.reshape(read, (-1, self.size)), [state])
            slots = ops.reshape(slots, (batch, self.count, self.size))
            slots = slots + self.out(self.hidden(self.norm_mlp(slots)))
        return slots, ops.transpose(competition, (0, 2, 1))


class SlotEncoder(keras.Model):
    def __init__(self):
        super().__init__()
        self.conv1 = layers.Conv2D(18, 5, padding="same", activation="relu")
        self.pad = layers.ZeroPadding2D(2)
        self.conv2 = layers.Conv2D(18, 5, strides=2, activation="relu")
        self.position = layers.Dense(18)
        self.grid = ops.convert_to_tensor(grid(8, 8))
        self.norm = norm("tokens")
        self.fc1 = layers.Dense(26, activation="relu")
        self.fc2 = layers.Dense(22)
        self.slots = Slots(4, 22)

    def call(self, image):
        x = ops.transpose(image, (0, 2, 3, 1))
        x = self.conv2(self.pad(self.conv1(x)))
        x = x + self.position(self.grid)
        x = ops.reshape(x, (x.shape[0], 64, 18))
        x = self.fc2(self.fc1(self.norm(x)))
        return self.slots(x)


def make():
    keras.utils.set_random_seed(1)
    net = SlotEncoder()
    net(np.zeros((1, 3, 16, 16), "float32"))
    return net


def load(port_model, reference_model):
    def arrays(module):
        return [p.detach().numpy() for p in module.parameters()]

    def dense(layer, module):
        weight, *bias = arrays(module)
        layer.set_weights([weight.T, *bias])

    def conv(layer, module):
        weight, bias = arrays(module)
        layer.set_weights([np.moveaxis(weight, (0, 1), (3, 2)), bias])

    def zrh(x):  # torch has reset, update, new; Keras update, reset, new
        r, z, n = np.split(x, 3, axis=0)
        return np.concatenate([z, r, n], axis=0)

    conv(port_model.conv1, reference_model.conv1)
    conv(port_model.conv2, reference_model.conv2)
    dense(port_model.position, reference_model.position.embedding)
    port_model.norm.set_weights(arrays(reference_model.layer_norm))
    dense(port_model.fc1, reference_model.fc1)
    dense(port_model.fc2, reference_model.fc2)
    ours, theirs = port_model.slots, reference_model.slot_attention
    ours.initial.assign(theirs.slots_init.detach().numpy())
    for layer, module in (
        (ours.query, theirs.to_q),
        (ours.key, theirs.to_k),
        (ours.value, theirs.to_v),
        (ours.hidden, theirs.mlp[0]),
        (ours.out, theirs.mlp[2]),
    ):
        dense(layer, module)
    ours.norm_in.set_weights(arrays(theirs.norm_input))
    ours.norm_slots.set_weights(arrays(theirs.norm_slots))
    ours.norm_mlp.set_weights(arrays(theirs.norm_pre_ff))
    w_ih, w_hh, b_ih, b_hh = arrays(theirs.gru)
    ours.cell.set_weights([zrh(w_ih).T, zrh(w_hh).T, np.stack([zrh(b_ih), zrh(b_hh)])])
