"""MuZero for the search servers: Keras, channels last inside, takes planes as the trainer sends them (NCHW)."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
EPS_H = 1e-3


def norm():
    return layers.BatchNormalization(epsilon=1e-5)


def residual(width):
    return dict(c1=layers.Conv2D(width, 3, padding="same", use_bias=False), n1=norm(),
                c2=layers.Conv2D(width, 3, padding="same", use_bias=False), n2=norm())


def head(reduced, out):
    return dict(conv=layers.Conv2D(reduced, 1), fc1=layers.Dense(16, activation="elu"), fc2=layers.Dense(out))


class SearchNet(keras.Model):
    def __init__(self, width=10, actions=6, support=10):
        super().__init__()
        self.actions = actions
        self.stem = layers.Conv2D(width, 3, strides=2, padding="valid", use_bias=False)
        self.stem_norm = norm()
        self.tower = residual(width)
        self.dyn = layers.Conv2D(width, 3, padding="same", use_bias=False)
        self.dyn_norm = norm()
        self.dyn_tower = residual(width)
        self.r, self.v, self.p = head(2, 2 * support + 1), head(3, 2 * support + 1), head(3, actions)
        self.atoms = np.linspace(-support, support, 2 * support + 1, dtype="float32")

    def block(self, b, x):
        y = ops.relu(b["n1"](b["c1"](x)))
        y = b["n2"](b["c2"](y))
        return ops.relu(x + y)

    def run_head(self, h, x):
        y = ops.transpose(h["conv"](x), (0, 3, 1, 2))
        y = ops.reshape(y, (-1, y.shape[1] * y.shape[2] * y.shape[3]))
        return h["fc2"](h["fc1"](y))

    @staticmethod
    def rescale(s):
        low = ops.min(s, axis=(1, 2), keepdims=True)
        span = ops.max(s, axis=(1, 2), keepdims=True) - low
        return (s - low) / (span + 1e-5 * ops.cast(span < 1e-5, span.dtype))

    def scalar(self, logits):
        x = ops.matmul(ops.softmax(logits), self.atoms[:, None])
        root = ops.sqrt(1.0 + 4.0 * EPS_H * (ops.abs(x) + 1.0 + EPS_H))
        y = ops.square((root - 1.0) / (2.0 * EPS_H)) - 1.0
        return ops.sign(x) * y

    def represent(self, planes):
        x = ops.transpose(planes, (0, 2, 3, 1))
        x = ops.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
        x = ops.relu(self.stem_norm(self.stem(x)))
        return self.rescale(self.block(self.tower, x))

    def dynamics(self, s, action):
        plane = ops.ones_like(s[..., :1]) * ops.reshape(action / self.actions, (-1, 1, 1, 1))
        x = self.dyn(ops.concatenate([s, plane], axis=-1))
        x = self.block(self.dyn_tower, ops.relu(self.dyn_norm(x)))
        return self.rescale(x), self.run_head(self.r, x)

    def call(self, planes, actions):
        s = self.represent(planes)
        values, rewards, logits = [self.run_head(self.v, s)], [], [self.run_head(self.p, s)]
        for a in ops.unstack(actions, axis=1):
            s, r = self.dynamics(s, a)
            rewards.append(r)
            values.append(self.run_head(self.v, s))
            logits.append(self.run_head(self.p, s))
        join = lambda parts: self.scalar(ops.stack(parts, axis=1))[..., 0]
        return join(values), join(rewards), ops.stack(logits, axis=1)


def make():
    keras.utils.set_random_seed(11)
    net = SearchNet()
    net(np.zeros((1, 4, 12, 12), "float32"), np.zeros((1, 3), "float32"))
    return net


def load(port, ref):
    n = lambda t: t.detach().numpy()

    def conv(mine, theirs):
        mine.set_weights([n(theirs.weight).transpose(2, 3, 1, 0)] + ([n(theirs.bias)] if theirs.bias is not None else []))

    def bn(mine, theirs):
        mine.set_weights([n(t) for t in (theirs.weight, theirs.bias, theirs.running_mean, theirs.running_var)])

    conv(port.stem, ref.stem), bn(port.stem_norm, ref.stem_bn)
    conv(port.dyn, ref.dyn), bn(port.dyn_norm, ref.dyn_bn)
    for mine, theirs in ((port.tower, ref.tower), (port.dyn_tower, ref.dyn_tower)):
        conv(mine["c1"], theirs.conv1), bn(mine["n1"], theirs.bn1)
        conv(mine["c2"], theirs.conv2), bn(mine["n2"], theirs.bn2)
    for mine, theirs in ((port.r, ref.reward), (port.v, ref.value), (port.p, ref.policy)):
        conv(mine["conv"], theirs.conv)
        for d, lin in ((mine["fc1"], theirs.fc1), (mine["fc2"], theirs.fc2)):
            d.set_weights([n(lin.weight).T, n(lin.bias)])
