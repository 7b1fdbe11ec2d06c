"""IQN with a dueling head in Chainer (in the manner of ChainerRL)."""
import numpy as np
import parity  # noqa: F401  makes chainer importable
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"


class Dueling(chainer.Chain):
    def __init__(self, n_actions):
        super().__init__()
        with self.init_scope():
            self.a1 = L.Linear(32, 24)
            self.a2 = L.Linear(24, n_actions)
            self.v1 = L.Linear(32, 24)
            self.v2 = L.Linear(24, 1)

    def forward(self, x):
        a = self.a2(F.relu(self.a1(x)))
        v = self.v2(F.relu(self.v1(x)))
        a = a - F.broadcast_to(F.mean(a, axis=1, keepdims=True), a.shape)
        return a + F.broadcast_to(v, a.shape)


class ImplicitQuantileQ(chainer.Chain):
    def __init__(self, n_actions=4, n_basis=16):
        super().__init__()
        self.n_actions, self.n_basis = n_actions, n_basis
        with self.init_scope():
            self.c1 = L.Convolution2D(3, 8, 4, stride=2)
            self.c2 = L.Convolution2D(8, 8, 3, stride=2)
            self.l1 = L.Linear(128, 32)
            self.tau_l = L.Linear(n_basis, 32)
            self.head = Dueling(n_actions)

    def psi(self, x):
        h = F.relu(self.c1(x / 255))
        h = F.relu(self.c2(h))
        return F.relu(self.l1(h))

    def cosine_basis(self, taus):
        i = np.arange(1, self.n_basis + 1, dtype=np.float32)
        angles = F.expand_dims(taus, 2) * (i * np.pi).astype(np.float32)
        return F.cos(angles)

    def forward(self, x, taus, actions, target):
        b, n = taus.shape
        basis = F.reshape(self.cosine_basis(taus), (b * n, self.n_basis))
        phi = F.relu(self.tau_l(basis))
        psi = F.repeat(self.psi(x), n, axis=0)
        z = F.reshape(self.head(psi * phi), (b, n, self.n_actions))
        return F.mean(z, axis=1), z, self.loss(z, taus, actions, target)

    def loss(self, z, taus, actions, target):
        b, n = taus.shape
        index = np.repeat(actions, n)
        y = F.reshape(F.select_item(F.reshape(z, (b * n, -1)), index), (b, n))
        y, t = F.broadcast(F.expand_dims(y, 2), F.expand_dims(target, 1))
        error = t - y
        size = F.absolute(error)
        huber = F.where(size.array <= 1, 0.5 * error * error, size - 0.5)
        below = (error.array < 0).astype(np.float32)
        quantile = F.broadcast_to(F.expand_dims(taus, 2), error.shape)
        rho = F.absolute(quantile - below) * huber
        return F.mean(F.sum(rho, axis=1), axis=1)


def make():
    net = ImplicitQuantileQ()
    rng = np.random.default_rng(2)
    for p in net.params():
        p.array[...] = 0.2 * rng.normal(size=p.shape)
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    b, n = 5, 8
    return (
        rng.integers(0, 256, size=(b, 3, 20, 20)).astype("float32"),
        rng.random((b, n)).astype("float32"),
        rng.integers(0, 4, size=b).astype("int64"),
        (1.5 * rng.normal(size=(b, n))).astype("float32"),
    )


def load(ported, original):
    for link, module in (
        (ported.c1, original.conv1),
        (ported.c2, original.conv2),
        (ported.l1, original.fc),
        (ported.tau_l, original.phi),
        (ported.head.a1, original.advantage[0]),
        (ported.head.a2, original.advantage[2]),
        (ported.head.v1, original.value[0]),
        (ported.head.v2, original.value[2]),
    ):
        link.W.array[...] = module.weight.detach().numpy()
        link.b.array[...] = module.bias.detach().numpy()
