"""EGNN in Chainer. Pairs of atoms are rows of one matrix, as L.Linear wants them."""
import parity  # noqa: F401  (lets chainer load)
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
WIDTH = 12


def silu(x):
    return x * F.sigmoid(x)


class Perceptron(chainer.Chain):
    def __init__(self, n_in, n_out):
        super().__init__()
        with self.init_scope():
            self.first = L.Linear(n_in, WIDTH)
            self.second = L.Linear(WIDTH, n_out)

    def forward(self, x):
        lead = x.shape[:-1]
        y = silu(self.first(F.reshape(x, (-1, x.shape[-1]))))
        return F.reshape(self.second(y), lead + (-1,))


class Layer(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.phi_e = Perceptron(2 * WIDTH + 1, WIDTH)
            self.gate = L.Linear(WIDTH, 1)
            self.phi_x = Perceptron(WIDTH, 1)
            self.phi_h = Perceptron(2 * WIDTH, WIDTH)

    def forward(self, h, x, pairs):
        batch, atoms = h.shape[:2]
        square = (batch, atoms, atoms)
        receiver = F.broadcast_to(F.expand_dims(h, 2), square + (WIDTH,))
        sender = F.broadcast_to(F.expand_dims(h, 1), square + (WIDTH,))
        delta = F.broadcast_to(F.expand_dims(x, 2), square + (3,)) - F.broadcast_to(F.expand_dims(x, 1), square + (3,))
        squared = F.sum(delta ** 2, axis=3, keepdims=True)
        message = silu(self.phi_e(F.concat([receiver, sender, squared], axis=3)))
        attention = F.sigmoid(self.gate(message, n_batch_axes=3))
        message = message * F.broadcast_to(attention * pairs, message.shape)
        length = F.sqrt(squared + 1e-8) + 1
        direction = delta / F.broadcast_to(length, delta.shape)
        weight = self.phi_x(message) * pairs
        neighbours = np.maximum(pairs.sum(axis=2), 1)
        step = F.sum(direction * F.broadcast_to(weight, delta.shape), axis=2)
        x = x + step / np.broadcast_to(neighbours, step.shape)
        h = h + self.phi_h(F.concat([h, F.sum(message, axis=2)], axis=2))
        return h, x


class EGNN(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed = L.Linear(5, WIDTH)
            self.layers = chainer.ChainList(Layer(), Layer())
            self.node = Perceptron(WIDTH, WIDTH)
            self.graph = Perceptron(WIDTH, 1)

    def forward(self, feats, pos, mask):
        mask = chainer.as_array(mask)
        both = mask[:, :, None] * mask[:, None, :]
        pairs = (both * (1 - np.eye(mask.shape[1], dtype=mask.dtype)))[..., None]
        h, x = self.embed(feats, n_batch_axes=2), chainer.as_variable(pos)
        for layer in self.layers:
            h, x = layer(h, x, pairs)
        nodes = self.node(h)
        pooled = F.sum(nodes * np.broadcast_to(mask[..., None], nodes.shape), axis=1)
        energy = self.graph(pooled)[:, 0]
        real = np.broadcast_to(mask[..., None], x.shape)
        centre = F.sum(x * real, axis=1, keepdims=True) / real.sum(axis=1, keepdims=True)
        return energy, (x - F.broadcast_to(centre, x.shape)) * real


def make():
    rng = np.random.RandomState(2)
    net = EGNN()
    for p in net.params():
        p.array[...] = rng.normal(0, 0.2, p.shape)
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    mask = (np.arange(7) < np.array([7, 4, 6, 5, 3])[:, None]).astype("float32")
    feats = rng.normal(size=(5, 7, 5)).astype("float32") * mask[..., None]
    pos = (1.5 * rng.normal(size=(5, 7, 3))).astype("float32") * mask[..., None]
    return feats, pos, mask


def load(ported, original):
    def linear(ours, theirs):
        ours.W.array[...] = theirs.weight.detach().numpy()
        ours.b.array[...] = theirs.bias.detach().numpy()

    def perceptron(ours, theirs):
        linear(ours.first, theirs[0])
        linear(ours.second, theirs[2])

    linear(ported.embed, original.embedding)
    for ours, theirs in zip(ported.layers, original.layers):
        perceptron(ours.phi_e, theirs.edge_mlp[0])
        linear(ours.gate, theirs.att)
        perceptron(ours.phi_x, theirs.coord_mlp)
        perceptron(ours.phi_h, theirs.node_mlp)
    perceptron(ported.node, original.node_out)
    perceptron(ported.graph, original.graph_out)
