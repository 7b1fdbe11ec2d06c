"""The separable conv policy in Keras 3, NHWC."""
import keras
from torch import nn
from keras import layers, ops

FRAMEWORK = "tensorflow"
LAYOUT = "NHWC"


class KerasNet(keras.Model):
    def __init__(self):
        super().__init__()
        bn = lambda eps=1e-5: layers.BatchNormalization(epsilon=eps)
        self.stem = layers.Conv2D(8, 3, 2, padding="valid", use_bias=False)
        self.bn0 = bn()
        self.expand, self.bn1 = layers.Conv2D(16, 1, use_bias=False), bn()
        self.dw, self.bn2 = layers.DepthwiseConv2D(3, padding="same", use_bias=False), bn()
        self.se1, self.se2 = layers.Dense(4, activation="relu"), layers.Dense(16)
        self.project, self.bn3 = layers.Conv2D(8, 1, use_bias=False), bn()
        self.dw2 = layers.DepthwiseConv2D(5, 2, padding="valid")
        self.fc, self.pi, self.v = layers.Dense(24), layers.Dense(5), layers.Dense(1)

    def hswish(self, x):
        return x * ops.clip(x + 3.0, 0.0, 6.0) / 6.0

    def call(self, x):
        x = x / 255.0
        x = ops.pad(x, [(0, 0), (1, 1), (1, 1), (0, 0)])
        x = self.hswish(self.bn0(self.stem(x)))
        h = self.hswish(self.bn1(self.expand(x)))
        h = self.hswish(self.bn2(self.dw(h)))
        s = self.se2(self.se1(ops.mean(h, (1, 2))))
        s = ops.hard_sigmoid(s)
        h = self.bn3(self.project(h * s[:, None, None, :]))
        x = x + h
        x = ops.pad(x, [(0, 0), (2, 2), (2, 2), (0, 0)])
        x = self.hswish(self.dw2(x))
        x = ops.reshape(ops.transpose(x, (0, 3, 1, 2)), (x.shape[0], -1))
        x = self.hswish(self.fc(x))
        return {"logits": self.pi(x), "value": self.v(x)[:, 0]}


def make():
    net = KerasNet()
    net(ops.zeros((4, 16, 16, 3)))
    return net


def load(net, ref):
    n = lambda p: p.detach().numpy()
    for k, m in ref.named_children():
        l = getattr(net, k)
        if isinstance(m, nn.BatchNorm2d):
            l.set_weights([n(m.weight), n(m.bias), n(m.running_mean), n(m.running_var)])
            continue
        w = n(m.weight)
        if isinstance(m, nn.Conv2d):
            w = w.transpose(2, 3, 0, 1) if m.groups > 1 else w.transpose(2, 3, 1, 0)
        else:
            w = w.T
        l.set_weights([w] + ([n(m.bias)] if m.bias is not None else []))
