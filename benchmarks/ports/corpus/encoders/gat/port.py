"""Graph attention in NumPy."""
import numpy as np

FRAMEWORK = "numpy"
B, N, F, H, D, OUT = 3, 9, 7, 3, 6, 4


def make():
    weights = []

    def leaky(x):
        slope = 0.2
        return np.where(x > 0, x, slope * x)

    def softmax(x, axis):
        x = np.exp(x - x.max(axis=axis, keepdims=True))
        return x / x.sum(axis=axis, keepdims=True)

    def layer(x, adj, p, dim, concat):
        b, n, _ = x.shape
        h = (x @ p["w"]).reshape(b, n, H, dim)
        s_dst = (h * p["dst"]).sum(-1)
        s_src = (h * p["src"]).sum(-1)
        e = leaky(s_dst[:, :, None] + s_src[:, None])
        e = np.where(adj[..., None] == 0, -1e9, e)
        alpha = softmax(e, axis=2)
        out = np.einsum("bijh,bjhd->bihd", alpha, h)
        if concat:
            out = out.reshape(b, n, -1)
        else:
            out = out.mean(axis=2)
        return out + p["bias"]

    def gat(x, adj):
        adj = np.minimum(adj + np.eye(N, dtype=adj.dtype), 1.0)
        x = layer(x, adj, weights[0], D, True)
        x = np.where(x > 0, x, np.expm1(np.minimum(x, 0)))
        x = layer(x, adj, weights[1], OUT, False)
        x = x - x.max(axis=-1, keepdims=True)
        return x - np.log(np.exp(x).sum(axis=-1, keepdims=True))

    gat.weights = weights
    return gat


def load(gat, ref):
    gat.weights[:] = [
        {"w": l.w.weight.detach().numpy().T, "src": l.src.detach().numpy(), "dst": l.dst.detach().numpy(), "bias": l.bias.detach().numpy()}
        for l in (ref.l1, ref.l2)
    ]
