"""The ConvLSTM and its quantiser in Chainer, a link for each gate."""

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
HIDDEN, CODES, CODE_DIM = 10, 16, 8


class ConvLSTM(chainer.Chain):
    def __init__(self, inp, mid, size=(8, 8)):
        super().__init__()
        self.mid = mid
        with self.init_scope():
            for gate in "ifco":
                setattr(self, "Wx" + gate, L.Convolution2D(inp, mid, 3, pad=1))
                setattr(self, "Wh" + gate, L.Convolution2D(mid, mid, 3, pad=1, nobias=True))
            shape = (mid, *size)
            self.Wci = chainer.Parameter(0.0, shape)
            self.Wcf = chainer.Parameter(0.0, shape)
            self.Wco = chainer.Parameter(0.0, shape)
        self.reset_state()

    def reset_state(self):
        self.pc = self.ph = None

    def __call__(self, x):
        if self.ph is None:
            zeros = self.xp.zeros((x.shape[0], *self.Wci.shape), dtype=np.float32)
            self.pc = self.ph = chainer.Variable(zeros)
        peep_i, peep_f = F.scale(self.pc, self.Wci, 1), F.scale(self.pc, self.Wcf, 1)
        ci = F.sigmoid(self.Wxi(x) + self.Whi(self.ph) + peep_i)
        cf = F.sigmoid(self.Wxf(x) + self.Whf(self.ph) + peep_f)
        cc = cf * self.pc + ci * F.tanh(self.Wxc(x) + self.Whc(self.ph))
        co = F.sigmoid(self.Wxo(x) + self.Who(self.ph) + F.scale(cc, self.Wco, 1))
        self.pc, self.ph = cc, co * F.tanh(cc)
        return self.ph


class Quantiser(chainer.Chain):
    def __init__(self, codes, size, beta=0.25):
        super().__init__()
        self.beta, self.codes = beta, codes
        with self.init_scope():
            self.book = L.EmbedID(codes, size)

    def __call__(self, z):
        b, d, h, w = z.shape
        flat = F.reshape(F.transpose(z, (0, 2, 3, 1)), (b * h * w, d))
        offsets = F.broadcast_to(flat[:, None], (b * h * w, self.codes, d)) - F.broadcast_to(
            self.book.W[None], (b * h * w, self.codes, d)
        )
        index = F.argmin(F.sum(offsets**2, axis=2), axis=1)
        q = self.book(index)
        error = F.mean_squared_error(q, flat)
        loss = (1 + self.beta) * error
        q = F.transpose(F.reshape(q, (b, h, w, d)), (0, 3, 1, 2))
        used = F.mean(self.xp.eye(self.codes, dtype=np.float32)[index.array], axis=0)
        entropy = -F.sum(used * F.log(used + 1e-10))
        return q, loss, F.exp(entropy)


class VideoModel(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.stem = L.Convolution2D(3, 9, 4, stride=2, pad=1)
            self.lstm = ConvLSTM(9, HIDDEN)
            self.pre = L.Convolution2D(HIDDEN, CODE_DIM, 1)
            self.vq = Quantiser(CODES, CODE_DIM)
            self.decode = L.Deconvolution2D(CODE_DIM, 3, 4, stride=2, pad=1)

    def __call__(self, frames):
        self.lstm.reset_state()
        for step in range(frames.shape[1]):
            h = self.lstm(F.leaky_relu(self.stem(frames[:, step]), slope=0.1))
        q, loss, perplexity = self.vq(self.pre(h))
        return F.sigmoid(self.decode(q)), loss, perplexity, self.lstm.pc


def make():
    np.random.seed(0)
    return VideoModel()


def load(port_model, reference_model):
    sd = {k: v.numpy() for k, v in reference_model.state_dict().items()}
    for link, name in (
        (port_model.stem, "stem"),
        (port_model.pre, "pre_vq"),
        (port_model.decode, "decoder"),
    ):
        link.W.array[...] = sd[name + ".weight"]
        link.b.array[...] = sd[name + ".bias"]
    cell = port_model.lstm
    weights = np.split(sd["cell.conv.weight"], 4)
    biases = np.split(sd["cell.conv.bias"], 4)
    for gate, weight, bias in zip("ifco", weights, biases):
        from_input, from_state = cell["Wx" + gate], cell["Wh" + gate]
        from_input.W.array[...] = weight[:, :9]
        from_state.W.array[...] = weight[:, 9:]
        from_input.b.array[...] = bias
    cell.Wci.array[...] = sd["cell.w_ci"][0]
    cell.Wcf.array[...] = sd["cell.w_cf"][0]
    cell.Wco.array[...] = sd["cell.w_co"][0]
    port_model.vq.book.W.array[...] = sd["vq.embedding.weight"]
