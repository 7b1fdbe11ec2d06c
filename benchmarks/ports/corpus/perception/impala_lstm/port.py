"""The IMPALA agent of TorchBeast in Keras, channels last."""

import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
NUM_ACTIONS = 6


class ResidualBlock(layers.Layer):
    def __init__(self, channels, **kw):
        super().__init__(**kw)
        self.conv_a = layers.Conv2D(channels, 3, padding="same")
        self.conv_b = layers.Conv2D(channels, 3, padding="same")

    def call(self, x):
        y = self.conv_a(ops.relu(x))
        y = self.conv_b(ops.relu(y))
        return x + y


class Section(layers.Layer):
    def __init__(self, channels, **kw):
        super().__init__(**kw)
        self.conv = layers.Conv2D(channels, 3, padding="same")
        self.blocks = [ResidualBlock(channels, name=f"res{i}") for i in range(2)]

    def call(self, x):
        x = self.conv(x)
        # torch pads one on either side; "same" would pad only after for even sizes
        x = ops.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], constant_values=-1e9)
        x = ops.max_pool(x, 3, strides=2, padding="valid")
        for block in self.blocks:
            x = block(x)
        return x


class Agent(keras.Model):
    def __init__(self):
        super().__init__()
        self.rescale = layers.Rescaling(1.0 / 255)
        self.sections = [Section(8, name="section0"), Section(12, name="section1")]
        self.dense = layers.Dense(40, activation="relu")
        self.cell = layers.LSTMCell(32)
        self.policy_head = layers.Dense(NUM_ACTIONS)
        self.value_head = layers.Dense(1)

    def torso(self, frame, reward, last_action):
        x = ops.transpose(frame, (0, 2, 3, 1))
        x = self.rescale(ops.cast(x, "float32"))
        for section in self.sections:
            x = section(x)
        x = ops.relu(x)
        x = ops.reshape(ops.transpose(x, (0, 3, 1, 2)), (x.shape[0], -1))
        x = self.dense(x)
        reward = ops.clip(reward, -1.0, 1.0)
        action = ops.one_hot(last_action, NUM_ACTIONS)
        return ops.concatenate([x, reward[:, None], action], axis=-1)

    def call(self, frame, reward, done, last_action, h0, c0):
        T, B = frame.shape[:2]
        frame = ops.reshape(frame, (T * B, *frame.shape[2:]))
        features = self.torso(frame, ops.reshape(reward, (-1,)), ops.reshape(last_action, (-1,)))
        features = ops.reshape(features, (T, B, -1))
        keep = 1.0 - ops.cast(done, "float32")
        h, c = h0, c0
        outputs = []
        for t in range(T):
            mask = keep[t][:, None]
            h, c = h * mask, c * mask
            out, (h, c) = self.cell(features[t], [h, c])
            outputs.append(out)
        core = ops.stack(outputs, axis=0)
        logits = self.policy_head(core)
        value = ops.squeeze(self.value_head(core), axis=-1)
        return logits, value, h, c


def make():
    keras.utils.set_random_seed(3)
    net = Agent()
    T, B = 1, 1
    net(
        np.zeros((T, B, 3, 24, 24), "uint8"),
        np.zeros((T, B), "float32"),
        np.zeros((T, B), bool),
        np.zeros((T, B), "int64"),
        np.zeros((B, 32), "float32"),
        np.zeros((B, 32), "float32"),
    )
    return net


def load(port_model, reference_model):
    sd = {k: v.detach().numpy() for k, v in reference_model.state_dict().items()}

    def conv(layer, name):
        layer.set_weights([sd[name + ".weight"].transpose(2, 3, 1, 0), sd[name + ".bias"]])

    def dense(layer, name):
        layer.set_weights([sd[name + ".weight"].T, sd[name + ".bias"]])

    for i, section in enumerate(port_model.sections):
        conv(section.conv, f"feat_convs.{i}.0")
        for j, block in enumerate(section.blocks):
            conv(block.conv_a, f"resnet{j + 1}.{i}.1")
            conv(block.conv_b, f"resnet{j + 1}.{i}.3")
    dense(port_model.dense, "fc")
    port_model.cell.set_weights(
        [
            sd["core.weight_ih_l0"].T,
            sd["core.weight_hh_l0"].T,
            sd["core.bias_ih_l0"] + sd["core.bias_hh_l0"],
        ]
    )
    dense(port_model.policy_head, "policy")
    dense(port_model.value_head, "baseline")
