"""CapsNet in Chainer, NCHW."""
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
HW, N_MAPS, N_PRIM, PRIM_DIM, N_CLASSES, CAPS_DIM, ITERS = 14, 16, 4, 6, 5, 8, 3
GRID = 4
N_CAPS = GRID * GRID * N_PRIM


def squash(s):
    """Keeps the direction, and maps the length into 0..1."""
    sq = F.sum(s * s, axis=-1, keepdims=True)
    factor = sq / (1 + sq) / F.sqrt(sq + 1e-7)
    return F.broadcast_to(factor, s.shape) * s


class CapsNet(chainer.Chain):
    def __init__(self):
        super().__init__()
        normal = chainer.initializers.Normal(0.2)
        with self.init_scope():
            self.conv = L.Convolution2D(1, N_MAPS, 5)
            self.prim = L.Convolution2D(N_MAPS, N_PRIM * PRIM_DIM, 3, stride=2)
            self.W = chainer.Parameter(normal, (N_CAPS, N_CLASSES, CAPS_DIM, PRIM_DIM))
            self.dec1 = L.Linear(N_CLASSES * CAPS_DIM, 32)
            self.dec2 = L.Linear(32, HW * HW)

    def primary_capsules(self, x):
        h = self.prim(F.relu(self.conv(x)))
        h = F.transpose(h, (0, 2, 3, 1))
        return squash(F.reshape(h, (-1, N_CAPS, PRIM_DIM)))

    def predictions(self, u):
        batch = u.shape[0]
        u = F.broadcast_to(u[:, :, None, :, None], (batch, N_CAPS, N_CLASSES, PRIM_DIM, 1))
        w = F.broadcast_to(self.W[None], (batch,) + self.W.shape)
        return F.matmul(w, u)[..., 0]

    def routing(self, u_hat):
        b = self.xp.zeros(u_hat.shape[:3], dtype="f")
        for i in range(ITERS):
            c = F.softmax(b, axis=2)
            s = F.sum(F.broadcast_to(c[..., None], u_hat.shape) * u_hat, axis=1)
            v = squash(s)
            if i + 1 == ITERS:
                return v
            agreement = F.sum(u_hat * F.broadcast_to(v[:, None], u_hat.shape), axis=3)
            b = b + agreement

    def reconstruct(self, v, norms):
        best = F.argmax(norms, axis=1).array
        onehot = self.xp.eye(N_CLASSES, dtype="f")[best]
        v = v * F.broadcast_to(onehot[:, :, None], v.shape)
        h = F.relu(self.dec1(F.reshape(v, (-1, N_CLASSES * CAPS_DIM))))
        return F.sigmoid(self.dec2(h))

    def forward(self, x):
        v = self.routing(self.predictions(self.primary_capsules(x)))
        norms = F.sqrt(F.sum(v**2, axis=2) + 1e-7)
        return norms, self.reconstruct(v, norms)


def make(seed=23):
    np.random.seed(seed)
    net = CapsNet()
    for link in (net.conv, net.prim, net.dec1, net.dec2):
        link.b.data[...] = np.random.normal(0, 0.2, link.b.shape)
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    images = np.zeros((4, HW, HW, 1))
    for image in images:
        r, c = rng.integers(2, 8, size=2)
        image[r : r + 2, 2:12] = 1
        image[2:12, c : c + 2] = 0.8
    images = (images + 0.1 * rng.uniform(size=images.shape)).astype("float32")
    return (np.ascontiguousarray(images.transpose(0, 3, 1, 2)),)


def load(ported, original):
    def conv(link, w, b):
        link.W.data[...] = w.numpy().transpose(3, 2, 0, 1)
        link.b.data[...] = b.numpy()

    def linear(link, w, b):
        link.W.data[...] = w.numpy().T
        link.b.data[...] = b.numpy()

    conv(ported.conv, original.conv_w, original.conv_b)
    conv(ported.prim, original.prim_w, original.prim_b)
    ported.W.data[...] = original.votes.numpy().transpose(0, 1, 3, 2)
    linear(ported.dec1, original.d1_w, original.d1_b)
    linear(ported.dec2, original.d2_w, original.d2_b)
