"""GATv2 + GraphSAGE graph regressor in plain NumPy, one edge at a time."""
import numpy as np

FRAMEWORK = "numpy"

SLOPE = 0.1


def leaky(x):
    return np.where(x > 0, x, np.float32(SLOPE) * x)


def elu(x):
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


def gat(p, x, edges, edge_attr):
    n = x.shape[0]
    heads, dim = p["att"].shape
    src = (x @ p["w_src"]).reshape(n, heads, dim)
    dst = (x @ p["w_dst"]).reshape(n, heads, dim)
    ea = (edge_attr @ p["w_edge"]).reshape(-1, heads, dim)
    out = np.zeros((n, heads, dim), np.float32)
    for i in range(n):
        incoming = [e for e in range(edges.shape[1]) if edges[1, e] == i]
        if not incoming:
            continue
        score = np.stack([(leaky(src[edges[0, e]] + dst[i] + ea[e]) * p["att"]).sum(-1) for e in incoming])
        w = np.exp(score - score.max(0))
        w = w / w.sum(0)
        for a, e in zip(w, incoming):
            out[i] += a[:, None] * src[edges[0, e]]
    return out.reshape(n, heads * dim) + p["bias"]


def graph_norm(p, x, graph):
    out = np.empty_like(x)
    for g in np.unique(graph):
        rows = graph == g
        h = x[rows] - p["shift"] * x[rows].mean(0)
        out[rows] = h / np.sqrt((h * h).mean(0) + np.float32(1e-5))
    return out * p["gamma"] + p["beta"]


def sage(p, x, edges):
    n = x.shape[0]
    total, deg = np.zeros_like(x), np.zeros((n, 1), np.float32)
    for s, d in edges.T:
        total[d] += x[s]
        deg[d] += 1
    return x @ p["w_self"] + (total / np.maximum(deg, 1)) @ p["w_neigh"] + p["bias"]


class GraphNet:
    def __init__(self, params):
        self.params = params

    def __call__(self, x, edge_index, edge_attr, graph_id):
        p = self.params
        h = elu(graph_norm(p["norm1"], gat(p["gat1"], x, edge_index, edge_attr), graph_id))
        h = elu(graph_norm(p["norm2"], gat(p["gat2"], h, edge_index, edge_attr), graph_id))
        h = sage(p["sage"], h, edge_index)
        ids = range(int(graph_id.max()) + 1)
        pooled = np.stack([np.concatenate([h[graph_id == g].mean(0), h[graph_id == g].max(0)]) for g in ids])
        hidden = np.maximum(pooled @ p["mlp"]["w1"] + p["mlp"]["b1"], 0)
        return {"node": h, "graph": hidden @ p["mlp"]["w2"] + p["mlp"]["b2"]}


def make():
    rng = np.random.default_rng(66)

    def mat(*shape):
        return (rng.normal(size=shape) * 1.2 / np.sqrt(shape[0])).astype(np.float32)

    def vec(n, mean=0.0):
        return (mean + 0.2 * rng.normal(size=n)).astype(np.float32)

    def gat_params(fin, heads, dim):
        return dict(w_src=mat(fin, heads * dim), w_dst=mat(fin, heads * dim), w_edge=mat(3, heads * dim),
                    att=rng.normal(size=(heads, dim)).astype(np.float32), bias=vec(heads * dim))

    def norm_params(n):
        return dict(gamma=vec(n, 1.0), beta=vec(n), shift=vec(n, 0.8))

    return GraphNet(dict(
        gat1=gat_params(6, 3, 4), norm1=norm_params(12), gat2=gat_params(12, 3, 4), norm2=norm_params(12),
        sage=dict(w_self=mat(12, 8), w_neigh=mat(12, 8), bias=vec(8)),
        mlp=dict(w1=mat(16, 10), b1=vec(10), w2=mat(10, 2), b2=vec(2))))


def inputs(seed):
    rng = np.random.default_rng(seed)
    sizes = [4, 6, 3, 5]
    graph = np.repeat(np.arange(4), sizes).astype(np.int32)
    start = np.cumsum([0] + sizes)
    edges = []
    for g, n in enumerate(sizes):
        pairs = [(a, b) for a in range(n) for b in range(n) if rng.random() < 0.5 or b == (a + 1) % n]
        edges += [(start[g] + a, start[g] + b) for a, b in pairs]
    edges = np.array(edges, np.int32)
    edges = edges[rng.permutation(len(edges))].T.copy()
    return {"x": (rng.normal(size=(18, 6)) + 0.3 * graph[:, None]).astype(np.float32), "edge_index": edges,
            "edge_attr": rng.normal(size=(edges.shape[1], 3)).astype(np.float32), "graph_id": graph}
