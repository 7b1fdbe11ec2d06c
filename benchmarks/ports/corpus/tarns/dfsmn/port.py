"""Deep-FSMN in Chainer: memory filters as explicit tapped delay lines."""
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
FEAT, HIDDEN, PROJ, LORDER, RORDER, STRIDE, BLOCKS, STATES = 10, 16, 8, 4, 2, 2, 3, 9


def delay(x, n):
    """Frame t of the result is frame t - n of x (n may be negative), zero outside."""
    if n == 0:
        return x
    T = x.shape[1]
    if n > 0:
        return F.pad(x, ((0, 0), (n, 0), (0, 0)), "constant")[:, :T]
    return F.pad(x, ((0, 0), (0, -n), (0, 0)), "constant")[:, -n:]


class FSMNBlock(chainer.Chain):
    def __init__(self, hidden, proj):
        super().__init__()
        with self.init_scope():
            self.shrink = L.Linear(hidden, proj, nobias=True)
            self.past = chainer.Parameter(0, (LORDER, proj))
            self.future = chainer.Parameter(0, (RORDER, proj))
            self.expand = L.Linear(proj, hidden)

    def taps(self, x):
        total = x
        for k in range(LORDER):
            w = F.broadcast_to(self.past[k], x.shape)
            total = total + w * delay(x, LORDER - 1 - k)
        for k in range(RORDER):
            w = F.broadcast_to(self.future[k], x.shape)
            total = total + w * delay(x, -STRIDE * (k + 1))
        return total

    def forward(self, h, mask, below):
        p = self.shrink(h, n_batch_axes=2)
        p = p * F.broadcast_to(mask, p.shape)
        m = self.taps(p)
        if below is not None:
            m = m + below
        return F.relu(self.expand(m, n_batch_axes=2)), m


class DFSMN(chainer.Chain):
    def __init__(self):
        super().__init__()
        self.add_persistent("shift", np.zeros(FEAT, "float32"))
        self.add_persistent("scale", np.ones(FEAT, "float32"))
        with self.init_scope():
            self.inp = L.Linear(FEAT, HIDDEN)
            self.bn = L.BatchNormalization(HIDDEN, axis=(0, 1), eps=1e-5)
            self.blocks = chainer.ChainList(*[FSMNBlock(HIDDEN, PROJ) for _ in range(BLOCKS)])
            self.out = L.Linear(HIDDEN, STATES)

    def forward(self, feats, mask):
        mask = F.expand_dims(mask, 2)
        shift = F.broadcast_to(chainer.as_variable(self.shift), feats.shape)
        scale = F.broadcast_to(chainer.as_variable(self.scale), feats.shape)
        x = (feats + shift) * scale
        h = F.relu(self.bn(self.inp(x, n_batch_axes=2)))
        m = None
        for block in self.blocks:
            h, m = block(h, mask, m)
        y = F.log_softmax(self.out(h, n_batch_axes=2), axis=2)
        return y * F.broadcast_to(mask, y.shape)


def make():
    chainer.global_config.train = False
    chainer.config.train = False
    model = DFSMN()
    rs = np.random.RandomState(6)
    for name, p in sorted(model.namedparams()):
        p.array[...] = rs.randn(*p.shape) * 0.3
    model.bn.gamma.array[...] += 1
    model.bn.avg_mean[...] = rs.randn(HIDDEN) * 0.2
    model.bn.avg_var[...] = rs.rand(HIDDEN) + 0.5
    model.shift[...] = rs.randn(FEAT)
    model.scale[...] = rs.rand(FEAT) + 0.5
    return model


def inputs(seed):
    rs = np.random.RandomState(seed)
    x = (rs.randn(4, 12, FEAT) * 1.5).astype("float32")
    lengths = rs.permutation([12, 10, 9, 7])
    mask = (np.arange(12)[None] < lengths[:, None]).astype("float32")
    return x, mask


def load(ported, original):
    sd = {k: v.numpy() for k, v in original.state_dict().items()}
    ported.shift[...] = sd["cmvn.shift"]
    ported.scale[...] = sd["cmvn.scale"]
    ported.bn.gamma.array[...] = sd["bn.weight"]
    ported.bn.beta.array[...] = sd["bn.bias"]
    ported.bn.avg_mean[...] = sd["bn.running_mean"]
    ported.bn.avg_var[...] = sd["bn.running_var"]
    for link, key in ((ported.inp, "inp"), (ported.out, "out")):
        link.W.array[...] = sd[key + ".weight"]
        link.b.array[...] = sd[key + ".bias"]
    for i, b in enumerate(ported.blocks):
        k = f"blocks.{i}."
        b.shrink.W.array[...] = sd[k + "shrink.weight"]
        b.expand.W.array[...] = sd[k + "expand.weight"]
        b.expand.b.array[...] = sd[k + "expand.bias"]
        b.past.array[...] = sd[k + "conv_left.weight"][:, 0].T
        b.future.array[...] = sd[k + "conv_right.weight"][:, 0].T
