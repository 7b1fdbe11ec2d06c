"""Chainer port. No scatter ops: incidence matrices and dense products."""
import numpy as np
import parity  # noqa: F401




import chainer  # noqa: E402
import chainer.functions as F  # noqa: E402
import chainer.links as L  # noqa: E402

FRAMEWORK = "chainer"
NODE, EDGE, HID, HEADS, ROUNDS, GRAPHS = 6, 3, 16, 2, 3, 3


def incidence(index, n):
    return (np.arange(n)[:, None] == np.asarray(index)[None, :]).astype(np.float32)


class NerveNet(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l_in = L.Linear(NODE, HID)
            self.l_src = L.Linear(HID, HID, nobias=True)
            self.l_dst = L.Linear(HID, HID, nobias=True)
            self.l_edge = L.Linear(EDGE, HID)
            self.ln = L.LayerNormalization(HID, eps=1e-5)
            self.l_att = L.Linear(HID, HEADS)
            self.x_rz = L.Linear(HID, 2 * HID)
            self.h_rz = L.Linear(HID, 2 * HID)
            self.x_n = L.Linear(HID, HID)
            self.h_n = L.Linear(HID, HID)
            self.l_gate = L.Linear(HID + NODE, 1)
            self.l_read = L.Linear(HID, HID)
            self.l_v = L.Linear(HID, 1)
            self.l_mu = L.Linear(2 * HID, 1)
            self.log_std = chainer.Parameter(np.zeros(1, np.float32))

    def gru(self, x, h):
        r, z = F.split_axis(F.sigmoid(self.x_rz(x) + self.h_rz(h)), 2, axis=1)
        cand = F.tanh(self.x_n(x) + r * self.h_n(h))
        return cand + z * (h - cand)

    def attention(self, msg, inc):
        score = F.transpose(self.l_att(msg))                                # heads, E
        n, e = inc.shape
        score = F.broadcast_to(score[:, None, :], (HEADS, n, e))
        blocked = np.broadcast_to((inc[None] - 1.0) * 1e9, (HEADS, n, e)).astype(np.float32)
        return F.softmax(score + blocked, axis=2)

    def forward(self, x, edge_index, edge_attr, batch):
        n = len(x)
        from_src = incidence(edge_index[0], n).T
        inc = incidence(edge_index[1], n)
        has_edge = inc.max(axis=1, keepdims=True)
        pool = incidence(batch, GRAPHS)
        h = F.tanh(self.l_in(x))
        edge_part = self.l_edge(edge_attr)
        for _ in range(ROUNDS):
            msg = F.matmul(from_src, self.l_src(h)) + F.matmul(inc.T, self.l_dst(h)) + edge_part
            msg = F.leaky_relu(self.ln(msg), slope=0.01)
            weights = self.attention(msg, inc)
            parts = F.split_axis(msg, HEADS, axis=1)
            agg = F.concat([F.matmul(weights[k], parts[k]) for k in range(HEADS)], axis=1)
            h = self.gru(agg * F.broadcast_to(chainer.as_variable(has_edge), agg.shape), h)
        gate = F.sigmoid(self.l_gate(F.concat([h, x], axis=1)))
        graph = F.matmul(pool, F.scale(self.l_read(h), F.flatten(gate), axis=0))
        ctx = F.matmul(pool.T, graph)
        mu = F.flatten(F.tanh(self.l_mu(F.concat([h, ctx], axis=1))))
        std = F.broadcast_to(F.exp(self.log_std), mu.shape)
        return mu, std, F.flatten(self.l_v(F.relu(graph)))


def make():
    np.random.seed(31)
    net = NerveNet()
    chainer.config.train = False
    return net


def load(model, reference):
    sd = {k: v.detach().numpy() for k, v in reference.state_dict().items()}

    def put(link, w, b=None):
        link.W.array[...] = w
        if b is not None:
            link.b.array[...] = b

    for link, name in [(model.l_in, "embed"), (model.l_att, "att"), (model.l_gate, "readout_gate"),
                       (model.l_read, "readout"), (model.l_v, "value"), (model.l_mu, "mu")]:
        put(link, sd[name + ".weight"], sd[name + ".bias"])
    w = sd["message.weight"]
    put(model.l_src, w[:, :HID])
    put(model.l_dst, w[:, HID:2 * HID])
    put(model.l_edge, w[:, 2 * HID:], sd["message.bias"])
    model.ln.gamma.array[...] = sd["msg_norm.weight"]
    model.ln.beta.array[...] = sd["msg_norm.bias"]
    put(model.x_rz, sd["update.weight_ih"][:2 * HID], sd["update.bias_ih"][:2 * HID])
    put(model.h_rz, sd["update.weight_hh"][:2 * HID], sd["update.bias_hh"][:2 * HID])
    put(model.x_n, sd["update.weight_ih"][2 * HID:], sd["update.bias_ih"][2 * HID:])
    put(model.h_n, sd["update.weight_hh"][2 * HID:], sd["update.bias_hh"][2 * HID:])
    model.log_std.array[...] = sd["log_std"]
