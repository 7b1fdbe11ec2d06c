"""The message-passing critic in Chainer."""
import numpy as np
import chainer
import chainer.functions as CF
import chainer.links as CL

FRAMEWORK = "chainer"
N, Fi, H = 6, 5, 16


class ChainerGNN(chainer.Chain):
    def __init__(self):
        super().__init__()
        eps = 1e-5
        with self.init_scope():
            self.enc = CL.Linear(Fi, H)
            self.m0, self.m1 = CL.Linear(2 * H, H), CL.Linear(2 * H, H)
            self.u0, self.u1 = CL.Linear(2 * H, H), CL.Linear(2 * H, H)
            self.n0, self.n1 = CL.LayerNormalization(H, eps=eps), CL.LayerNormalization(H, eps=eps)
            self.gate, self.out1, self.out2 = CL.Linear(H, 1), CL.Linear(H, H), CL.Linear(H, 1)

    def act(self, x):
        return CF.leaky_relu(x, slope=0.01)

    def nodes(self, link, h):
        return link(h, n_batch_axes=h.ndim - 1)

    def round(self, h, adj, m, u, n):
        B = h.shape[0]
        hi = CF.broadcast_to(h[:, :, None], (B, N, N, H))
        hj = CF.broadcast_to(h[:, None], (B, N, N, H))
        pairs = CF.concat([hi, hj], axis=-1)
        msg = self.act(self.nodes(m, pairs))
        deg = np.maximum(adj.sum(2, keepdims=True), np.float32(1))
        total = CF.sum(msg * CF.broadcast_to(adj[..., None], msg.shape), axis=2)
        agg = total / CF.broadcast_to(deg, total.shape)
        new = self.act(self.nodes(u, CF.concat([h, agg], axis=-1)))
        new = h + new
        return CF.reshape(n(CF.reshape(new, (-1, H))), (B, N, H))

    def forward(self, x, adj, mask):
        h = self.act(self.nodes(self.enc, x))
        h = self.round(h, adj, self.m0, self.u0, self.n0)
        h = self.round(h, adj, self.m1, self.u1, self.n1)
        score = CF.squeeze(self.nodes(self.gate, h), -1)
        score = CF.where(mask == 0, np.full(mask.shape, -1e9, "float32"), score)
        w = CF.softmax(score, axis=1)
        pooled = CF.sum(CF.broadcast_to(w[:, :, None], h.shape) * h, axis=1)
        return self.out2(CF.tanh(self.out1(pooled))), h


def make():
    return ChainerGNN()


def load(net, ref):
    for nm, t in ref.named_children():
        l = getattr(net, nm)
        a, b = ("gamma", "beta") if nm in ("n0", "n1") else ("W", "b")
        getattr(l, a).array[...] = t.weight.detach().numpy()
        getattr(l, b).array[...] = t.bias.detach().numpy()
