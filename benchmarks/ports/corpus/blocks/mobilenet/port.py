"""The mobile net in plain TensorFlow, to be exported: only tf.nn and variables, channels last."""
import tensorflow as tf

FRAMEWORK = "tensorflow"
LAYOUT = "NHWC"
SETTINGS = [(8, 8, 1, 1), (8, 12, 2, 4), (12, 12, 1, 4), (12, 16, 2, 4)]
EPSILON = 1e-3


def variable(*shape):
    return tf.Variable(tf.random.normal(shape, stddev=0.1))


def pad(x, by=1):
    return tf.pad(x, [[0, 0], [by, by], [by, by], [0, 0]])


class Unit(tf.Module):
    """Convolution, batch norm and, unless linear, ReLU6."""

    def __init__(self, fan_in, fan_out, size, stride=1, depthwise=False, linear=False):
        super().__init__()
        self.size, self.stride = size, stride
        self.depthwise, self.linear = depthwise, linear
        self.kernel = variable(size, size, fan_in, 1 if depthwise else fan_out)
        self.gamma, self.beta = variable(fan_out), variable(fan_out)
        self.mean, self.variance = variable(fan_out), tf.Variable(tf.ones(fan_out))

    def __call__(self, x):
        if self.size > 1:
            x = pad(x)
        if self.depthwise:
            strides = [1, self.stride, self.stride, 1]
            x = tf.nn.depthwise_conv2d(x, self.kernel, strides, "VALID")
        else:
            x = tf.nn.conv2d(x, self.kernel, self.stride, "VALID")
        scale = self.gamma * tf.math.rsqrt(self.variance + EPSILON)
        x = x * scale + (self.beta - self.mean * scale)
        if self.linear:
            return x
        return tf.clip_by_value(x, 0.0, 6.0)


class Bottleneck(tf.Module):
    def __init__(self, fan_in, fan_out, stride, expand):
        super().__init__()
        wide = fan_in * expand
        self.units = []
        if expand != 1:
            self.units.append(Unit(fan_in, wide, 1))
        self.units.append(Unit(wide, wide, 3, stride, depthwise=True))
        self.units.append(Unit(wide, fan_out, 1, linear=True))
        self.skip = stride == 1 and fan_in == fan_out

    def __call__(self, x):
        y = x
        for unit in self.units:
            y = unit(y)
        if self.skip:
            y = y + x
        return y


class MobileNet(tf.Module):
    def __init__(self, classes=7):
        super().__init__()
        self.stem = Unit(3, 8, 3, 2)
        self.blocks = [Bottleneck(*setting) for setting in SETTINGS]
        self.last = Unit(16, 40, 1)
        self.weight, self.bias = variable(40, classes), variable(classes)

    def __call__(self, images):
        x = images / 0.225 - 2.0
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        x = self.last(x)
        x = tf.reduce_mean(x, axis=[1, 2])
        logits = tf.matmul(x, self.weight) + self.bias
        return logits - tf.reduce_logsumexp(logits, axis=-1, keepdims=True)


def make():
    return MobileNet()


def load(port, ref):
    def numbers(tensor):
        return tensor.detach().numpy()

    def unit(ours, conv, bn):
        kernel = numbers(conv.weight)
        ours.kernel.assign(kernel.transpose(2, 3, 0, 1) if ours.depthwise else kernel.transpose(2, 3, 1, 0))
        ours.gamma.assign(numbers(bn.weight))
        ours.beta.assign(numbers(bn.bias))
        ours.mean.assign(numbers(bn.running_mean))
        ours.variance.assign(numbers(bn.running_var))

    unit(port.stem, ref.stem[0], ref.stem[1])
    unit(port.last, ref.last[0], ref.last[1])
    for ours, theirs in zip(port.blocks, ref.blocks):
        steps = list(theirs.steps)
        pairs = [(step[0], step[1]) for step in steps[:-2]] + [(steps[-2], steps[-1])]
        for one, (conv, bn) in zip(ours.units, pairs):
            unit(one, conv, bn)
    port.weight.assign(numbers(ref.classifier[1].weight).T)
    port.bias.assign(numbers(ref.classifier[1].bias))
