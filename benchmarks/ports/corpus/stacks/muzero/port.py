"""MuZero for Chainer, NCHW."""
import numpy as np
import parity  # noqa: F401
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
HW, C, A, S, EPS = 6, 8, 5, 4, 0.01


class ConvBN(chainer.Chain):
    def __init__(self, i, o):
        super().__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(i, o, ksize=3, pad=1, nobias=True)
            self.bn = L.BatchNormalization(o, eps=1e-3)

    def __call__(self, x):
        return self.bn(self.conv(x))


class Residual(chainer.Chain):
    def __init__(self, n):
        super().__init__()
        with self.init_scope():
            self.a, self.b = ConvBN(n, n), ConvBN(n, n)

    def __call__(self, x):
        return F.relu(self.b(F.relu(self.a(x))) + x)


class Head(chainer.Chain):
    def __init__(self, planes, out):
        super().__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(C, planes, ksize=1)
            self.fc1, self.fc2 = L.Linear(planes * HW * HW, 16), L.Linear(16, out)

    def __call__(self, x):
        return self.fc2(F.relu(self.fc1(F.relu(self.conv(x)))))


def rescale(h):
    flat = F.reshape(h, h.shape[:2] + (-1,))
    lo = F.min(flat, axis=2, keepdims=True)
    span = F.max(flat, axis=2, keepdims=True) - lo + 1e-5
    return F.reshape((flat - F.broadcast_to(lo, flat.shape)) / F.broadcast_to(span, flat.shape), h.shape)


def decode(logits):
    atoms = np.arange(2 * S + 1, dtype=np.float32) - S
    x = F.matmul(F.softmax(logits), atoms)
    y = (F.sqrt(1 + 4 * EPS * (F.absolute(x) + 1 + EPS)) - 1) / (2 * EPS)
    return F.sign(x) * (F.square(y) - 1)


class MuZeroNet(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.stem, self.rep = ConvBN(3, C), Residual(C)
            self.trans, self.dyn, self.pred = ConvBN(C + 1, C), Residual(C), Residual(C)
            self.reward, self.value, self.policy = Head(2, 2 * S + 1), Head(1, 2 * S + 1), Head(2, A)

    def recurrent(self, s, action):
        a = np.asarray(action, np.float32).reshape(-1, 1, 1, 1) / A
        plane = np.broadcast_to(a, (len(a), 1, HW, HW))
        raw = self.dyn(F.relu(self.trans(F.concat([s, plane], axis=1)) + s))
        return rescale(raw), decode(self.reward(raw))

    def __call__(self, board, actions):
        actions = chainer.as_variable(actions).array
        policies, values, rewards = [], [], []
        with chainer.using_config("train", False):
            s = rescale(self.rep(F.relu(self.stem(board))))
            for k in range(actions.shape[1] + 1):
                if k:
                    s, r = self.recurrent(s, actions[:, k - 1])
                    rewards.append(r)
                x = self.pred(s)
                policies.append(F.softmax(self.policy(x)))
                values.append(decode(self.value(x)))
        return tuple(F.stack(x, axis=1) for x in (policies, values, rewards))


def make():
    np.random.seed(5)
    return MuZeroNet()


def load(model, reference):
    def conv_bn(dst, conv, bn):
        dst.conv.W.array[...] = conv.kernel.numpy().transpose(3, 2, 0, 1)
        dst.bn.gamma.array[...], dst.bn.beta.array[...] = bn.gamma.numpy(), bn.beta.numpy()
        dst.bn.avg_mean[...], dst.bn.avg_var[...] = bn.moving_mean.numpy(), bn.moving_variance.numpy()

    conv_bn(model.stem, reference.rep_conv, reference.rep_bn)
    conv_bn(model.trans, reference.dyn_conv, reference.dyn_bn)
    for dst, src in ((model.rep, reference.rep_block), (model.dyn, reference.dyn_block), (model.pred, reference.pred_block)):
        conv_bn(dst.a, src.conv1, src.bn1)
        conv_bn(dst.b, src.conv2, src.bn2)
    for dst, src in ((model.reward, reference.reward_head), (model.value, reference.value_head), (model.policy, reference.policy_head)):
        conv, _, fc1, fc2 = src.layers
        dst.conv.W.array[...], dst.conv.b.array[...] = conv.kernel.numpy().transpose(3, 2, 0, 1), conv.bias.numpy()
        w = fc1.kernel.numpy().reshape(HW, HW, -1, 16)
        dst.fc1.W.array[...], dst.fc1.b.array[...] = w.transpose(3, 2, 0, 1).reshape(16, -1), fc1.bias.numpy()
        dst.fc2.W.array[...], dst.fc2.b.array[...] = fc2.kernel.numpy().T, fc2.bias.numpy()


def inputs(seed):
    g = np.random.default_rng(seed)
    board = g.random((3, HW, HW, 3)).astype("float32").transpose(0, 3, 1, 2)
    return np.ascontiguousarray(board), g.integers(0, A, (3, 3)).astype("int32")
