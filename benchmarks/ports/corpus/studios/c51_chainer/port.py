"""Rainbow's C51 dueling head with a small CNN in Chainer."""
import chainer
import chainer.functions as CF
import chainer.links as CL
import numpy as np

FRAMEWORK = "chainer"
ATOMS, A, VMIN, VMAX = 21, 4, -10.0, 10.0


class ChainerC51(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv1 = CL.Convolution2D(3, 12, 5, stride=2, pad=1)
            self.conv2 = CL.Convolution2D(12, 16, 3, pad=1)
            self.fc_a, self.fc_v = CL.Linear(256, 32), CL.Linear(256, 32)
            self.out_a, self.out_v = CL.Linear(32, A * ATOMS), CL.Linear(32, ATOMS)
        self.z = np.linspace(VMIN, VMAX, ATOMS).astype("f")

    def forward(self, x):
        h = CF.relu(self.conv1(x))
        h = CF.max_pooling_2d(h, 2, cover_all=False)
        h = CF.elu(self.conv2(h))
        adv = self.out_a(CF.relu(self.fc_a(h)))
        adv = CF.reshape(adv, (-1, A, ATOMS))
        val = CF.reshape(self.out_v(CF.relu(self.fc_v(h))), (-1, 1, ATOMS))
        mean = CF.broadcast_to(CF.mean(adv, axis=1, keepdims=True), adv.shape)
        logits = CF.broadcast_to(val, adv.shape) + adv - mean
        p = CF.softmax(logits, axis=2)
        q = CF.sum(p * self.z, axis=2)
        return p, q


def make():
    return ChainerC51()


def load(model, reference):
    for name in ("conv1", "conv2", "fc_a", "fc_v", "out_a", "out_v"):
        src, dst = getattr(reference, name), getattr(model, name)
        dst.W.array[...] = src.weight.detach().numpy()
        dst.b.array[...] = src.bias.detach().numpy()
