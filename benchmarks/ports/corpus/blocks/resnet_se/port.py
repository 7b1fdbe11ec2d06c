"""The SE-ResNet in Keras, channels last."""
import keras
from keras import layers, ops

FRAMEWORK = "tensorflow"
MODE = "train"
LAYOUT = "NHWC"


def conv(filters, size, stride=1):
    return layers.Conv2D(filters, size, strides=stride, padding="valid", use_bias=False)


def norm():
    return layers.BatchNormalization(momentum=0.9, epsilon=1e-5)


class SE(layers.Layer):
    def __init__(self, channels, ratio=4):
        super().__init__()
        self.down = layers.Dense(channels // ratio, activation="relu")
        self.up = layers.Dense(channels, activation="sigmoid")

    def call(self, x):
        gate = ops.mean(x, axis=(1, 2))
        gate = self.up(self.down(gate))
        return x * gate[:, None, None, :]


class ResidualBlock(layers.Layer):
    def __init__(self, fan_in, fan_out, stride):
        super().__init__()
        self.pad = layers.ZeroPadding2D(1)
        self.conv_a, self.norm_a = conv(fan_out, 3, stride), norm()
        self.conv_b, self.norm_b = conv(fan_out, 3), norm()
        self.se = SE(fan_out)
        self.project = stride != 1 or fan_in != fan_out
        if self.project:
            self.conv_s, self.norm_s = conv(fan_out, 1, stride), norm()

    def call(self, x, training=False):
        y = self.conv_a(self.pad(x))
        y = ops.relu(self.norm_a(y, training=training))
        y = self.conv_b(self.pad(y))
        y = self.norm_b(y, training=training)
        y = self.se(y)
        if self.project:
            x = self.conv_s(x)
            x = self.norm_s(x, training=training)
        return ops.relu(x + y)


class SEResNet(keras.Model):
    def __init__(self, classes=10):
        super().__init__()
        self.stem_pad = layers.ZeroPadding2D(1)
        self.stem, self.stem_norm = conv(16, 3), norm()
        self.blocks = [
            ResidualBlock(16, 16, 1),
            ResidualBlock(16, 32, 2),
            ResidualBlock(32, 48, 2),
        ]
        self.pool = layers.MaxPooling2D(3, strides=2)
        self.gap = layers.GlobalAveragePooling2D()
        self.head = layers.Dense(classes)

    def call(self, images, training=False):
        x = self.stem(self.stem_pad(images))
        x = ops.relu(self.stem_norm(x, training=training))
        x = self.pool(self.stem_pad(x))  # after a ReLU zeros pad as -inf does
        for block in self.blocks:
            x = block(x, training=training)
        return self.head(self.gap(x))


def make():
    net = SEResNet()
    net(ops.zeros((1, 32, 32, 3)))
    return net


def array(tensor):
    return tensor.detach().numpy()


def load(port, ref):
    def copy_conv(ours, theirs):
        ours.set_weights([array(theirs.weight).transpose(2, 3, 1, 0)])

    def copy_norm(ours, theirs):
        ours.set_weights(
            [array(t) for t in (theirs.weight, theirs.bias, theirs.running_mean, theirs.running_var)]
        )

    copy_conv(port.stem, ref.stem)
    copy_norm(port.stem_norm, ref.bn)
    for ours, theirs in zip(port.blocks, (ref.layer1, ref.layer2, ref.layer3)):
        copy_conv(ours.conv_a, theirs.conv1)
        copy_norm(ours.norm_a, theirs.bn1)
        copy_conv(ours.conv_b, theirs.conv2)
        copy_norm(ours.norm_b, theirs.bn2)
        for dense, one in ((ours.se.down, theirs.se.reduce), (ours.se.up, theirs.se.expand)):
            dense.set_weights([array(one.weight)[:, :, 0, 0].T, array(one.bias)])
        if ours.project:
            copy_conv(ours.conv_s, theirs.shortcut[0])
            copy_norm(ours.norm_s, theirs.shortcut[1])
    port.head.set_weights([array(ref.fc.weight).T, array(ref.fc.bias)])
