"""A PointNet classifier with an input T-Net, in Chainer."""
import chainer
import chainer.functions as CF
import chainer.links as L
from torch import nn

FRAMEWORK = "chainer"


class CTNet(chainer.Chain):
    def __init__(self, k=3):
        super().__init__()
        self.k = k
        with self.init_scope():
            self.conv1, self.conv2 = L.Convolution1D(k, 16, 1), L.Convolution1D(16, 32, 1)
            self.bn1, self.bn2 = L.BatchNormalization(16, eps=1e-5), L.BatchNormalization(32, eps=1e-5)
            self.bn3 = L.BatchNormalization(16, eps=1e-5)
            self.fc1, self.fc2 = L.Linear(32, 16), L.Linear(16, k * k)

    def forward(self, x):
        h = CF.relu(self.bn1(self.conv1(x)))
        h = CF.relu(self.bn2(self.conv2(h)))
        h = CF.max(h, axis=2)
        h = self.fc2(CF.relu(self.bn3(self.fc1(h))))
        h = CF.reshape(h, (-1, self.k, self.k))
        eye = self.xp.eye(self.k, dtype="float32")
        return h + CF.broadcast_to(eye, h.shape)


class CPointNet(chainer.Chain):
    def __init__(self, classes=6):
        super().__init__()
        with self.init_scope():
            self.tnet = CTNet()
            self.conv1, self.conv2 = L.Convolution1D(3, 16, 1), L.Convolution1D(16, 48, 1)
            self.bn1, self.bn2 = L.BatchNormalization(16, eps=1e-5), L.BatchNormalization(48, eps=1e-5)
            self.fc1, self.fc2 = L.Linear(48, 24), L.Linear(24, classes)

    def forward(self, points):
        t = self.tnet(CF.transpose(points, (0, 2, 1)))
        x = CF.matmul(points, t)
        x = CF.transpose(x, (0, 2, 1))
        x = CF.relu(self.bn1(self.conv1(x)))
        x = self.bn2(self.conv2(x))
        x = CF.max(x, axis=2)
        h = CF.relu(self.fc1(x))
        return CF.log_softmax(self.fc2(h))


def make():
    return CPointNet()


def load(net, ref):
    for name, m in ref.named_modules():
        if not isinstance(m, (nn.Conv1d, nn.Linear, nn.BatchNorm1d)):
            continue
        link = net
        for part in name.split("."):
            link = getattr(link, part)
        w, b = m.weight.detach().numpy().copy(), m.bias.detach().numpy().copy()
        if isinstance(m, nn.BatchNorm1d):
            link.gamma.array[...], link.beta.array[...] = w, b
            link.avg_mean[...], link.avg_var[...] = m.running_mean.numpy(), m.running_var.numpy()
        else:
            link.W.array[...], link.b.array[...] = w, b
