"""The ActorCriticCnnPolicy in Keras, channels last."""
import math

import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
LAYOUT = "NHWC"


class KerasPolicy(keras.Model):
    def __init__(self):
        super().__init__()
        self.conv1 = layers.Conv2D(32, 8, strides=4, activation="relu")
        self.conv2 = layers.Conv2D(64, 4, strides=2, activation="relu")
        self.conv3 = layers.Conv2D(64, 3, strides=1, activation="relu")
        self.flatten = layers.Flatten()
        self.linear = layers.Dense(64, activation="relu")
        self.pi = [layers.Dense(48, activation="tanh"), layers.Dense(32, activation="tanh")]
        self.vf = [layers.Dense(48, activation="tanh"), layers.Dense(32, activation="tanh")]
        self.mean_net = layers.Dense(3)
        self.logits_net = layers.Dense(5)
        self.value_net = layers.Dense(1)

    def build(self, *_):
        self.log_std = self.add_weight(shape=(3,), name="log_std")
        self.built = True

    def call(self, obs, actions, choice):
        x = ops.cast(obs, "float32")
        x = x / 255.0
        x = self.conv3(self.conv2(self.conv1(x)))
        x = self.linear(self.flatten(x))
        pi = self.pi[1](self.pi[0](x))
        vf = self.vf[1](self.vf[0](x))
        mean = self.mean_net(pi)
        std = ops.exp(self.log_std)
        sq = ops.square(actions - mean)
        z = sq / (2 * ops.square(std))
        log_prob = ops.sum(-z - self.log_std - 0.5 * math.log(2 * math.pi), axis=-1)
        logp = ops.log_softmax(self.logits_net(pi))
        log_prob += ops.sum(ops.one_hot(choice, 5) * logp, axis=-1)
        entropy = ops.sum(0.5 + 0.5 * math.log(2 * math.pi) + self.log_std)
        entropy = entropy - ops.sum(ops.exp(logp) * logp, axis=-1)
        value = self.value_net(vf)
        return {"value": value, "log_prob": log_prob, "entropy": entropy}


def make():
    net = KerasPolicy()
    net(np.zeros((1, 44, 44, 4), "uint8"), np.zeros((1, 3), "float32"), np.zeros((1,), "int64"))
    return net


def load(net, ref):
    def dense(layer, lin):
        layer.set_weights([lin.weight.detach().numpy().T, lin.bias.detach().numpy()])

    for layer, conv in zip((net.conv1, net.conv2, net.conv3), [ref.features_extractor.cnn[i] for i in (0, 2, 4)]):
        layer.set_weights([conv.weight.detach().numpy().transpose(2, 3, 1, 0), conv.bias.detach().numpy()])
    lin = ref.features_extractor.linear[0]
    w = lin.weight.detach().numpy().T  # (c*h*w, out)
    w = w.reshape(64, 2, 2, -1).transpose(1, 2, 0, 3).reshape(256, -1)
    net.linear.set_weights([w, lin.bias.detach().numpy()])
    for mine, theirs in ((net.pi, ref.mlp_extractor.policy_net), (net.vf, ref.mlp_extractor.value_net)):
        dense(mine[0], theirs[0])
        dense(mine[1], theirs[2])
    dense(net.mean_net, ref.mean_net)
    dense(net.logits_net, ref.logits_net)
    dense(net.value_net, ref.value_net)
    net.log_std.assign(ref.log_std.detach().numpy())
