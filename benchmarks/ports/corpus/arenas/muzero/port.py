"""The muzero-general network in Keras, channels last."""
import keras
import numpy as np
from keras import layers, ops
from torch import nn

FRAMEWORK = "tensorflow"
LAYOUT = "NHWC"
C, ROWS, COLS, A, SUP = 12, 6, 7, 7, 5


def conv(filters, k=3, bias=False):
    return layers.Conv2D(filters, k, padding="same", use_bias=bias)


class KerasRes(layers.Layer):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = conv(C), layers.BatchNormalization(epsilon=1e-5)
        self.conv2, self.bn2 = conv(C), layers.BatchNormalization(epsilon=1e-5)

    def call(self, x):
        out = ops.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return ops.relu(out + x)


class KerasMuZero(keras.Model):
    def __init__(self):
        super().__init__()
        self.conv, self.bn = conv(C), layers.BatchNormalization(epsilon=1e-5)
        self.res = KerasRes()
        self.dyn_conv, self.dyn_bn = conv(C), layers.BatchNormalization(epsilon=1e-5)
        self.dyn_res = KerasRes()
        self.reward_conv, self.reward_fc = conv(2, 1, True), layers.Dense(2 * SUP + 1)
        self.value_conv, self.value_fc = conv(2, 1, True), layers.Dense(2 * SUP + 1)
        self.policy_conv, self.policy_fc = conv(2, 1, True), layers.Dense(A)

    def scale_state(self, s):
        axes = (1, 2)
        lo = ops.min(s, axis=axes, keepdims=True)
        hi = ops.max(s, axis=axes, keepdims=True)
        scale = hi - lo
        scale = ops.where(scale < 1e-5, scale + 1e-5, scale)
        return (s - lo) / scale

    def to_scalar(self, logits):
        eps = 0.001
        x = ops.sum(ops.softmax(logits, axis=1) * ops.arange(-SUP, SUP + 1, dtype="float32"), axis=1, keepdims=True)
        return ops.sign(x) * (((ops.sqrt(1 + 4 * eps * (ops.abs(x) + 1 + eps)) - 1) / (2 * eps)) ** 2 - 1)

    def head(self, cv, fc, x):
        y = ops.transpose(cv(x), (0, 3, 1, 2))
        return fc(ops.reshape(y, (-1, 2 * ROWS * COLS)))

    def call(self, observation, action):
        state = self.scale_state(self.res(ops.relu(self.bn(self.conv(observation)))))
        plane = ops.ones((state.shape[0], ROWS, COLS, 1)) * action[:, None, None, :] / A
        x = ops.relu(self.dyn_bn(self.dyn_conv(ops.concatenate([state, plane], -1))))
        nxt = self.dyn_res(x)
        reward = self.head(self.reward_conv, self.reward_fc, nxt)
        nxt = self.scale_state(nxt)
        value = self.head(self.value_conv, self.value_fc, nxt)
        return self.to_scalar(value), self.to_scalar(reward), self.head(self.policy_conv, self.policy_fc, nxt)


def copy(mine, theirs):
    for name, m in theirs.named_children():
        k = getattr(mine, name)
        if isinstance(m, nn.BatchNorm2d):
            k.set_weights([t.detach().numpy() for t in (m.weight, m.bias, m.running_mean, m.running_var)])
        elif isinstance(m, nn.Conv2d):
            k.set_weights([m.weight.detach().numpy().transpose(2, 3, 1, 0)] + ([m.bias.detach().numpy()] if m.bias is not None else []))
        elif isinstance(m, nn.Linear):
            k.set_weights([m.weight.detach().numpy().T, m.bias.detach().numpy()])
        else:
            copy(k, m)


def make():
    net = KerasMuZero()
    net(np.zeros((5, ROWS, COLS, 3), "float32"), np.zeros((5, 1), "float32"))
    return net


def load(net, ref):
    copy(net, ref)
