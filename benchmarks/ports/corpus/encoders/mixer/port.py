"""MLP-Mixer in Chainer."""
import parity  # noqa: F401  (makes chainer importable)
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
B, P, N, D = 4, 4, 16, 16  # 16x16 images, 16 tokens, 16 channels


def gelu(x):
    return 0.5 * x * (1 + F.erf(x * 2 ** -0.5))


class ChMlp(chainer.Chain):
    def __init__(self, n, hidden):
        super().__init__()
        with self.init_scope():
            self.l1, self.l2 = L.Linear(n, hidden), L.Linear(hidden, n)

    def forward(self, x):
        h = gelu(self.l1(x, n_batch_axes=2))
        h = self.l2(h, n_batch_axes=2)
        return h


class ChNorm(chainer.Chain):
    def __init__(self, n):
        super().__init__()
        with self.init_scope():
            self.ln = L.LayerNormalization(n, eps=1e-5)

    def forward(self, x):
        return F.reshape(self.ln(F.reshape(x, (-1, x.shape[-1]))), x.shape)


class ChBlock(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.n1, self.n2 = ChNorm(D), ChNorm(D)
            self.tokens, self.channels = ChMlp(N, 24), ChMlp(D, 40)

    def forward(self, x):
        h = self.n1(x)
        x = x + F.transpose(self.tokens(F.transpose(h, (0, 2, 1))), (0, 2, 1))
        n = self.n2(x)
        return x + self.channels(n)


class ChMixer(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.stem = L.Convolution2D(3, D, P, P)
            self.blocks = chainer.ChainList(ChBlock(), ChBlock())
            self.norm, self.head = ChNorm(D), L.Linear(D, 10)

    def forward(self, img):
        x = self.stem(img)
        x = F.transpose(F.reshape(x, (-1, D, N)), (0, 2, 1))
        for b in self.blocks:
            x = b(x)
        x = self.norm(x)
        return self.head(F.mean(x, axis=1))


def make():
    return ChMixer()


def load(net, ref):
    cp = lambda c, t: (c.W.array.__setitem__(..., t.weight.detach().numpy()), c.b.array.__setitem__(..., t.bias.detach().numpy()))

    def ln(c, t):
        c.ln.gamma.array[...] = t.weight.detach().numpy()
        c.ln.beta.array[...] = t.bias.detach().numpy()

    cp(net.stem, ref.stem); cp(net.head, ref.head); ln(net.norm, ref.norm)
    for c, t in zip(net.blocks, ref.blocks):
        ln(c.n1, t.n1); ln(c.n2, t.n2)
        for a, b in ((c.tokens, t.tokens), (c.channels, t.channels)):
            cp(a.l1, b[0]); cp(a.l2, b[2])
