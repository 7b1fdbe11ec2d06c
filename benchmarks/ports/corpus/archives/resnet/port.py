"""The ResNet in Keras, with the batch norms folded into the convs."""
import keras
import numpy as np
import torch
from keras import layers

FRAMEWORK = "tensorflow"
LAYOUT = "NHWC"


def fold(conv, bn):
    scale = (bn.weight / torch.sqrt(bn.running_var + bn.eps)).detach().numpy()
    kernel = conv.weight.detach().numpy().transpose(2, 3, 1, 0) * scale
    bias = bn.bias.detach().numpy() - bn.running_mean.numpy() * scale
    return [kernel, bias]


class KBlock(layers.Layer):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.stride = stride
        self.conv1 = layers.Conv2D(cout, 3, stride, padding="same" if stride == 1 else "valid")
        self.conv2 = layers.Conv2D(cout, 3, padding="same")
        self.down = layers.Conv2D(cout, 1, stride) if stride != 1 or cin != cout else None
        self.pad = layers.ZeroPadding2D(1)

    def call(self, x):
        skip = x if self.down is None else self.down(x)
        y = x if self.stride == 1 else self.pad(x)
        y = keras.ops.relu(self.conv1(y))
        y = self.conv2(y)
        return keras.ops.relu(y + skip)


class KResNet(keras.Model):
    def __init__(self):
        super().__init__()
        self.conv = layers.Conv2D(8, 3, padding="same")
        self.pad = layers.ZeroPadding2D(1)
        self.pool = layers.MaxPooling2D(3, 2)
        self.block1 = KBlock(8, 8, 1)
        self.block2 = KBlock(8, 12, 2)
        self.fc = layers.Dense(10)

    def call(self, x):
        x = keras.ops.relu(self.conv(x))
        x = self.pool(self.pad(x))
        x = self.block2(self.block1(x))
        return self.fc(keras.ops.mean(x, axis=(1, 2)))


def make():
    net = KResNet()
    net(np.zeros((1, 16, 16, 3), "float32"))
    return net


def load(net, ref):
    net.conv.set_weights(fold(ref.conv, ref.bn))
    for ours, theirs in ((net.block1, ref.block1), (net.block2, ref.block2)):
        ours.conv1.set_weights(fold(theirs.conv1, theirs.bn1))
        ours.conv2.set_weights(fold(theirs.conv2, theirs.bn2))
        if theirs.down is not None:
            ours.down.set_weights(fold(theirs.down[0], theirs.down[1]))
    net.fc.set_weights([ref.fc.weight.detach().numpy().T, ref.fc.bias.detach().numpy()])
