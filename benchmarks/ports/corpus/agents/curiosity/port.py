import numpy as np
import parity



import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
N_ACTIONS = 4


def conv(n_in, n_out, ksize, **kw):
    return L.Convolution2D(n_in, n_out, ksize, initial_bias=chainer.initializers.Normal(0.1), **kw)


def linear(n_in, n_out):
    return L.Linear(n_in, n_out, initial_bias=chainer.initializers.Normal(0.1))


class RND(chainer.Chain):
    def __init__(self, n_hidden=0):
        super().__init__()
        with self.init_scope():
            self.c0 = conv(1, 6, 4, stride=2)
            self.c1 = conv(6, 8, 3)
            if n_hidden:
                self.hidden = linear(72, n_hidden)
            self.out = linear(n_hidden or 72, 16)
        self.n_hidden = n_hidden

    def __call__(self, x):
        x = F.leaky_relu(self.c0(x), slope=0.3)
        x = F.leaky_relu(self.c1(x), slope=0.3)
        x = F.reshape(x, (len(x), -1))
        if self.n_hidden:
            x = F.relu(self.hidden(x))
        return self.out(x)


def halve(link, x):
    """A 3x3 convolution of stride 2 over an even side, with TensorFlow's SAME padding."""
    return link(F.pad(x, ((0, 0), (0, 0), (0, 1), (0, 1)), "constant"))


class Encoder(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.c0 = conv(3, 6, 3, stride=2)
            self.c1 = conv(6, 5, 3, stride=2)

    def __call__(self, x):
        x = F.elu(halve(self.c0, x))
        x = F.elu(halve(self.c1, x))
        return F.reshape(x, (x.shape[0], -1))


class Bonus(chainer.Chain):
    def __init__(self, side=12):
        super().__init__()
        with self.init_scope():
            self.target = RND()
            self.predictor = RND(24)
            self.phi = Encoder()
            self.inv0, self.inv1 = linear(90, 24), linear(24, N_ACTIONS)
            self.fwd0, self.fwd1 = linear(45 + N_ACTIONS, 24), linear(24, 45)
        self.add_persistent("mean", np.zeros((1, side, side), np.float32))
        self.add_persistent("std", np.ones((1, side, side), np.float32))

    def normalise(self, x):
        last = x[:, -1:]
        return np.clip((last - self.mean) / self.std, -5, 5)

    def __call__(self, frames, actions, next_frames):
        x = self.normalise(next_frames)
        rnd = F.mean(F.squared_difference(self.target(x), self.predictor(x)), axis=1)

        both = self.phi(np.concatenate([frames, next_frames]) / np.float32(255))
        before, after = F.split_axis(both, 2, axis=0)
        inverse = self.inv1(F.relu(self.inv0(F.concat((before, after), axis=1))))
        one_hot = np.eye(N_ACTIONS, dtype=np.float32)[actions]
        predicted = self.fwd1(F.relu(self.fwd0(F.concat((before, one_hot), axis=1))))
        icm = F.sum(F.square(predicted - after), axis=1) / 2
        return {"rnd": rnd, "icm": icm, "inverse": F.log_softmax(inverse)}


def make():
    np.random.seed(12)
    return Bonus()


def chw(channels, side):
    """Where Keras has what Chainer's flatten puts at each place."""
    return np.arange(side * side * channels).reshape(side, side, channels).transpose(2, 0, 1).ravel()


def load(model, reference):
    def put(link, layer, rows=None):
        kernel, bias = (np.asarray(w) for w in layer.weights)
        if kernel.ndim == 4:
            link.W.array[...] = kernel.transpose(3, 2, 0, 1)
        else:
            link.W.array[...] = (kernel if rows is None else kernel[rows]).T
        link.b.array[...] = bias

    for ours, theirs in ((model.target, reference.target), (model.predictor, reference.predictor)):
        trained = [layer for layer in theirs.layers if layer.weights]
        put(ours.c0, trained[0])
        put(ours.c1, trained[1])
        links = [ours.hidden, ours.out] if ours.n_hidden else [ours.out]
        put(links[0], trained[2], chw(8, 3))
        for link, layer in zip(links[1:], trained[3:]):
            put(link, layer)

    put(model.phi.c0, reference.encoder.layers[0])
    put(model.phi.c1, reference.encoder.layers[1])
    order = chw(5, 3)
    put(model.inv0, reference.inverse_hidden, np.concatenate([order, 45 + order]))
    put(model.inv1, reference.inverse_logits)
    put(model.fwd0, reference.forward_hidden, np.concatenate([order, 45 + np.arange(N_ACTIONS)]))
    kernel, bias = (np.asarray(w) for w in reference.forward_out.weights)
    model.fwd1.W.array[...] = kernel[:, order].T
    model.fwd1.b.array[...] = bias[order]
    model.mean[...] = np.asarray(reference.mean).transpose(2, 0, 1)
    model.std[...] = np.sqrt(np.asarray(reference.var)).transpose(2, 0, 1)


def inputs(seed):
    rng = np.random.default_rng(seed)
    frames = rng.integers(0, 256, size=(4, 12, 12, 3)).astype(np.float32)
    following = rng.integers(0, 256, size=(4, 12, 12, 1)).astype(np.float32)
    actions = rng.integers(0, N_ACTIONS, size=4)
    next_frames = np.concatenate([frames[..., 1:], following], axis=-1)
    to_chw = lambda x: np.ascontiguousarray(x.transpose(0, 3, 1, 2))
    return to_chw(frames), actions, to_chw(next_frames)
