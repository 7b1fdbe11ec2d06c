"""The IMPALA agent in Chainer."""
import numpy as np
import parity  # noqa: F401  makes chainer importable
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
ACTIONS, HIDDEN = 6, 24


class Residual(chainer.Chain):
    def __init__(self, ch):
        super().__init__()
        with self.init_scope():
            self.first = L.Convolution2D(ch, ch, 3, pad=1)
            self.second = L.Convolution2D(ch, ch, 3, pad=1)

    def forward(self, x):
        h = F.relu(x)
        h = F.relu(self.first(h))
        return self.second(h) + x


class Stage(chainer.Chain):
    def __init__(self, n_in, n_out):
        super().__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(n_in, n_out, 3, pad=1)
            self.blocks = chainer.ChainList(Residual(n_out), Residual(n_out))

    def forward(self, x):
        h = F.max_pooling_2d(self.conv(x), 3, stride=2, pad=1, cover_all=False)
        for block in self.blocks:
            h = block(h)
        return h


class Impala(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.torso = chainer.Sequential(Stage(3, 6), Stage(6, 8), F.relu)
            self.fc = L.Linear(8 * 5 * 6, 32)
            self.upward = L.Linear(32 + 1 + ACTIONS, 4 * HIDDEN)
            self.lateral = L.Linear(HIDDEN, 4 * HIDDEN, nobias=True)
            self.pi = L.Linear(HIDDEN, ACTIONS)
            self.v = L.Linear(HIDDEN, 1)

    def forward(self, frame, reward, last_action, done, h, c):
        x = self.torso(frame / 255.0)
        x = F.relu(self.fc(x))
        action = np.eye(ACTIONS, dtype=np.float32)[last_action]
        reward = F.clip(F.reshape(reward, (-1, 1)), -1.0, 1.0)
        x = F.concat((x, reward, action), axis=1)
        alive = F.broadcast_to(F.reshape(1.0 - done, (-1, 1)), h.shape)
        h = h * alive
        c = c * alive
        c, h = F.lstm(c, self.upward(x) + self.lateral(h))
        return self.pi(h), F.reshape(self.v(h), (-1,)), h, c


def make():
    net = Impala()
    rng = np.random.default_rng(15)
    for p in net.params():
        p.array[...] = 0.15 * rng.normal(size=p.shape)
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    b = 4
    return (
        rng.integers(0, 256, size=(b, 3, 18, 22)).astype("float32"),
        (2 * rng.normal(size=b)).astype("float32"),
        rng.integers(0, 6, size=b).astype("int64"),
        np.array([0, 1, 0, 1], "float32"),
        (0.5 * rng.normal(size=(b, 24))).astype("float32"),
        rng.normal(size=(b, 24)).astype("float32"),
    )


def _interleaved(a):
    """torch has i, f, g, o one after the other; F.lstm has a, i, f, o unit by unit."""
    i, f, g, o = np.split(a, 4)
    return np.stack([g, i, f, o], axis=1).reshape(a.shape)


def load(ported, original):
    def put(link, module):
        link.W.array[...] = module.weight.detach().numpy()
        link.b.array[...] = module.bias.detach().numpy()

    for stage, section in zip(list(ported.torso)[:2], original.sections):
        put(stage.conv, section.conv)
        for block, theirs in zip(stage.blocks, (section.res0, section.res1)):
            put(block.first, theirs.conv0)
            put(block.second, theirs.conv1)
    put(ported.fc, original.fc)
    put(ported.pi, original.policy)
    put(ported.v, original.baseline)
    core = {k: v.numpy() for k, v in original.core.state_dict().items()}
    ported.upward.W.array[...] = _interleaved(core["weight_ih"])
    ported.lateral.W.array[...] = _interleaved(core["weight_hh"])
    ported.upward.b.array[...] = _interleaved(core["bias_ih"] + core["bias_hh"])
