"""The Inception-like net in Chainer."""
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"


class ChainerNet(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.stem = L.Convolution2D(3, 8, 3, pad=1)
            self.b1 = L.Convolution2D(8, 4, 1)
            self.b3a, self.b3 = L.Convolution2D(8, 4, 1), L.Convolution2D(4, 6, 3, pad=1)
            self.b5a, self.b5 = L.Convolution2D(8, 4, 1), L.Convolution2D(4, 4, 5, pad=2)
            self.bp = L.Convolution2D(8, 4, 1)
            self.gn = L.GroupNormalization(3, 18, eps=1e-5)
            self.fc = L.Linear(18, 7)

    def forward(self, x):
        x = F.relu(self.stem(x))
        x = F.local_response_normalization(x, n=5, k=2.0, alpha=0.1, beta=0.75)
        x = F.max_pooling_2d(x, 3, 2, cover_all=False)
        b1 = F.relu(self.b1(x))
        b3 = F.relu(self.b3(F.relu(self.b3a(x))))
        b5 = F.relu(self.b5(F.relu(self.b5a(x))))
        bp = F.relu(self.bp(F.max_pooling_2d(x, 3, 1, 1)))
        x = F.concat([b1, b3, b5, bp], 1)
        x = F.relu(self.gn(x))
        return self.fc(F.mean(x, (2, 3)))


def make():
    return ChainerNet()


def load(net, ref):
    for k, m in ref.named_children():
        l = getattr(net, k)
        w, b = (l.gamma, l.beta) if k == "gn" else (l.W, l.b)
        w.array = m.weight.detach().numpy().copy(); b.array = m.bias.detach().numpy().copy()
