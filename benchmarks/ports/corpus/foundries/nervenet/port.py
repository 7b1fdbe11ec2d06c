"""NerveNet in Chainer, with adjacency matrices."""
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
LIMBS = ((1, 2), (3, 4), (5, 6))
N_NODES = 7


def adjacencies():
    """(down, up): entry [i, j] is 1 where node i hears node j."""
    down = np.zeros((N_NODES, N_NODES), "float32")
    for thigh, foot in LIMBS:
        down[thigh, 0] = down[foot, thigh] = 1
    up = down.T.copy()
    up[4, 2] = up[2, 4] = 1  # the two feet that touch the ground together
    return down, up


class GraphGRU(chainer.Chain):
    def __init__(self, n):
        super().__init__()
        with self.init_scope():
            self.reset = L.Linear(2 * n, n)
            self.update = L.Linear(2 * n, n)
            self.propose = L.Linear(2 * n, n)

    def forward(self, h, m):
        both = F.concat((m, h), axis=1)
        r, z = F.sigmoid(self.reset(both)), F.sigmoid(self.update(both))
        new = F.tanh(self.propose(F.concat((m, r * h), axis=1)))
        return z * h + (1 - z) * new


class Walker(chainer.Chain):
    def __init__(self, n=20, steps=3):
        super().__init__()
        self.n, self.steps = n, steps
        self.down, self.up = adjacencies()
        with self.init_scope():
            self.embed_root = L.Linear(8, n)
            self.embed_joint = L.Linear(5, n)
            self.message_down = L.Linear(n, n)
            self.message_up = L.Linear(n, n)
            self.gru = GraphGRU(n)
            self.out1 = L.Linear(n, n)
            self.out2 = L.Linear(n, 2)
            self.value = L.Linear(2 * n, 1)

    def heard(self, h, batch):
        """Messages summed over both kinds of edges, (batch * nodes, n)."""
        total = 0
        for adjacency, message in ((self.down, self.message_down), (self.up, self.message_up)):
            sent = F.reshape(F.tanh(message(h)), (batch, N_NODES, self.n))
            weights = np.broadcast_to(adjacency, (batch, N_NODES, N_NODES))
            total = total + F.matmul(weights, sent)
        return F.reshape(total, (-1, self.n))

    def forward(self, root, joints, taken):
        batch = len(root)
        torso = F.tanh(self.embed_root(root))
        limbs = F.tanh(self.embed_joint(joints, n_batch_axes=2))
        start = F.concat((F.expand_dims(torso, 1), limbs), axis=1)
        h = F.reshape(start, (-1, self.n))
        for _ in range(self.steps):
            h = self.gru(h, self.heard(h, batch))
        nodes = F.reshape(h, (batch, N_NODES, self.n))

        y = self.out2(F.relu(self.out1(nodes[:, 1:], n_batch_axes=2)), n_batch_axes=2)
        mean = F.tanh(y[:, :, 0])
        std = F.softplus(y[:, :, 1]) + 0.1
        log_prob = self.log_density(taken, mean, std)
        body = F.concat((F.mean(nodes, axis=1), nodes[:, 0] - torso), axis=1)
        value = F.squeeze(self.value(body), axis=1)
        return {"mean": mean, "std": std, "log_prob": log_prob, "value": value}

    @staticmethod
    def log_density(x, mean, std):
        return -F.sum(F.gaussian_nll(chainer.as_variable(x), mean, 2 * F.log(std), reduce="no"), axis=1)


def make(seed=14):
    rng = np.random.RandomState(seed)
    net = Walker()
    for _, p in sorted(net.namedparams()):
        p.data[...] = rng.normal(0, 0.3, p.data.shape)
    return net


def inputs(seed=0):
    r = np.random.default_rng(seed)
    root = r.normal(size=(6, 8)).astype("float32")
    joints = r.normal(size=(6, 6, 5)).astype("float32")
    return root, joints, r.uniform(-1, 1, size=(6, 6)).astype("float32")


def load(ported, original):
    def put(link, w, b):
        link.W.data[...] = w.T
        link.b.data[...] = b

    for link, (w, b) in (
        (ported.embed_root, original.root_in),
        (ported.embed_joint, original.joint_in),
        (ported.message_down, original.down),
        (ported.message_up, original.up),
        (ported.gru.propose, original.candidate),
        (ported.out1, original.out1),
        (ported.out2, original.out2),
        (ported.value, original.critic),
    ):
        put(link, w.numpy(), b.numpy())
    w, b = (v.numpy() for v in original.gates)
    put(ported.gru.reset, w[:, :20], b[:20])
    put(ported.gru.update, w[:, 20:], b[20:])
