"""The U-Net in Chainer."""
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"


class Double(chainer.Chain):
    def __init__(self, cin, cout):
        super().__init__()
        with self.init_scope():
            self.conv1 = L.Convolution2D(cin, cout, 3, pad=1, nobias=True)
            self.bn1 = L.BatchNormalization(cout, eps=1e-5)
            self.conv2 = L.Convolution2D(cout, cout, 3, pad=1, nobias=True)
            self.bn2 = L.BatchNormalization(cout, eps=1e-5)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(x)))


class UNet(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.down1 = Double(3, 6)
            self.down2 = Double(6, 8)
            self.bottom = Double(8, 10)
            self.up2 = L.Deconvolution2D(10, 8, 2, stride=2)
            self.up1 = L.Deconvolution2D(8, 6, 2, stride=2)
            self.dec2 = Double(16, 8)
            self.dec1 = Double(12, 6)
            self.head = L.Convolution2D(6, 2, 1)

    @staticmethod
    def fit(x, like):
        return F.resize_images(x, like.shape[2:])

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pooling_2d(a, 2, cover_all=False))
        c = self.bottom(F.max_pooling_2d(b, 2, cover_all=False))
        d = self.dec2(F.concat([b, self.fit(self.up2(c), b)], axis=1))
        e = self.dec1(F.concat([a, self.fit(self.up1(d), a)], axis=1))
        return F.sigmoid(self.head(e))


def npy(t):
    return t.detach().cpu().numpy()


def make():
    return UNet()


def load(net, ref):
    for name in ("down1", "down2", "bottom", "dec2", "dec1"):
        ours, theirs = getattr(net, name), getattr(ref, name)
        ours.conv1.W.array[...] = npy(theirs.conv1.weight)
        ours.conv2.W.array[...] = npy(theirs.conv2.weight)
        for bn in ("bn1", "bn2"):
            getattr(ours, bn).gamma.array[...] = npy(getattr(theirs, bn).weight)
            getattr(ours, bn).beta.array[...] = npy(getattr(theirs, bn).bias)
            getattr(ours, bn).avg_mean[...] = npy(getattr(theirs, bn).running_mean)
        ours.bn1.avg_var[...] = npy(theirs.bn1.running_var)
        ours.bn2.avg_var[...] = npy(theirs.bn2.running_var)
    for name in ("up2", "up1", "head"):
        getattr(net, name).W.array[...] = npy(getattr(ref, name).weight)
        getattr(net, name).b.array[...] = npy(getattr(ref, name).bias)
