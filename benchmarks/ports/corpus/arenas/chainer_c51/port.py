"""The DistributionalDuelingDQN as ChainerRL has it."""
import chainer
import chainer.functions as CF
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
A, N, VMIN, VMAX = 4, 21, -10.0, 10.0


class ChainerDuel(chainer.Chain):
    def __init__(self):
        super().__init__()
        delta = (VMAX - VMIN) / (N - 1)
        self.z_values = np.arange(N, dtype=np.float32) * np.float32(delta) + np.float32(VMIN)
        with self.init_scope():
            self.conv_layers = chainer.ChainList(L.Convolution2D(3, 16, 8, stride=4), L.Convolution2D(16, 24, 4, stride=2),
                                                 L.Convolution2D(24, 24, 3, stride=1))
            self.main_stream = L.Linear(24 * 2 * 2, 64)
            self.a_stream = L.Linear(32, A * N)
            self.v_stream = L.Linear(32, N)

    def __call__(self, x):
        h = x
        for conv in self.conv_layers:
            h = CF.relu(conv(h))
        batch_size = x.shape[0]
        h = CF.relu(self.main_stream(h))
        h_a, h_v = CF.split_axis(h, 2, axis=-1)
        ya = self.a_stream(h_a).reshape((batch_size, A, N))
        axis = 1
        mean = CF.sum(ya, axis=axis, keepdims=True) / ya.shape[axis]
        ya, mean = CF.broadcast(ya, mean)
        ya = ya - mean
        ys = self.v_stream(h_v).reshape((batch_size, 1, N))
        ya, ys = CF.broadcast(ya, ys)
        q = CF.softmax(ya + ys, axis=2)
        z = self.xp.broadcast_to(self.z_values, q.shape)
        return q, CF.sum(q * z, axis=2)


def make():
    return ChainerDuel()


def load(net, ref):
    for mine, theirs in zip(net.conv_layers, ref.conv_layers):
        mine.W.array[...], mine.b.array[...] = theirs.weight.detach().numpy(), theirs.bias.detach().numpy()
    for name in ("main_stream", "a_stream", "v_stream"):
        mine, theirs = getattr(net, name), getattr(ref, name)
        mine.W.array[...], mine.b.array[...] = theirs.weight.detach().numpy(), theirs.bias.detach().numpy()
