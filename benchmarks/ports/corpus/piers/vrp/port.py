"""The attention model for vehicle routing in Chainer."""
import numpy as np

import parity  # noqa: F401  lets chainer load
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
NODES, WIDTH, HEADS, STEPS, CLIP = 7, 16, 4, 4, 10.0


def to_heads(x):
    b, n, d = x.shape
    return F.transpose(F.reshape(x, (b, n, HEADS, d // HEADS)), (0, 2, 1, 3))


def from_heads(x):
    b, h, n, k = x.shape
    return F.reshape(F.transpose(x, (0, 2, 1, 3)), (b, n, h * k))


def attend(q, k, v, mask=None):
    scores = F.matmul(q, k, transb=True) * (q.shape[-1] ** -0.5)
    if mask is not None:
        scores = F.where(np.broadcast_to(mask, scores.shape),
                         np.full(scores.shape, -np.inf, "f"), scores)
    return from_heads(F.matmul(F.softmax(scores, axis=-1), v))


class SelfAttention(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.query = L.Linear(WIDTH, WIDTH, nobias=True)
            self.key = L.Linear(WIDTH, WIDTH, nobias=True)
            self.value = L.Linear(WIDTH, WIDTH, nobias=True)
            self.out = L.Linear(WIDTH, WIDTH, nobias=True)

    def forward(self, h):
        q, k, v = (to_heads(f(h, n_batch_axes=2)) for f in (self.query, self.key, self.value))
        return self.out(attend(q, k, v), n_batch_axes=2)


class EncoderLayer(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.attention = SelfAttention()
            self.bn1 = L.BatchNormalization(WIDTH, eps=1e-5)
            self.ff1 = L.Linear(WIDTH, 2 * WIDTH)
            self.ff2 = L.Linear(2 * WIDTH, WIDTH)
            self.bn2 = L.BatchNormalization(WIDTH, eps=1e-5)

    def forward(self, h):
        shape = h.shape
        h = h + self.attention(h)
        h = self.bn1(F.reshape(h, (-1, WIDTH)))
        h = h + self.ff2(F.relu(self.ff1(h)))
        return F.reshape(self.bn2(h), shape)


class AttentionModel(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.depot_embed = L.Linear(2, WIDTH)
            self.node_embed = L.Linear(3, WIDTH)
            self.encoder = chainer.Sequential(EncoderLayer(), EncoderLayer())
            self.project_nodes = L.Linear(WIDTH, 3 * WIDTH, nobias=True)
            self.project_fixed = L.Linear(WIDTH, WIDTH, nobias=True)
            self.project_step = L.Linear(WIDTH + 1, WIDTH, nobias=True)
            self.project_out = L.Linear(WIDTH, WIDTH, nobias=True)

    def forward(self, depot, loc, demand):
        b = len(loc)
        rows = np.arange(b)
        nodes = np.concatenate([loc, demand[..., None]], axis=-1)
        h = F.concat([self.depot_embed(depot)[:, None], self.node_embed(nodes, n_batch_axes=2)], axis=1)
        h = self.encoder(h)
        fixed = self.project_fixed(F.mean(h, axis=1))
        key, value, logit_key = F.split_axis(self.project_nodes(h, n_batch_axes=2), 3, axis=2)
        key, value = to_heads(key), to_heads(value)

        demand = np.concatenate([np.zeros((b, 1), "f"), demand], axis=1)
        visited = np.zeros(demand.shape, bool)
        current = np.zeros(b, "i")
        remaining = np.ones(b, "f")
        probs, log_likelihood = [], 0
        for _ in range(STEPS):
            mask = visited | (demand > remaining[:, None])
            mask[:, 0] = current == 0
            context = F.concat([h[rows, current], remaining[:, None]], axis=1)
            query = fixed + self.project_step(context)
            glimpse = attend(to_heads(query[:, None]), key, value, mask[:, None, None])
            glimpse = self.project_out(glimpse[:, 0])
            logits = F.einsum("bnd,bd->bn", logit_key, glimpse) / np.sqrt(WIDTH)
            logits = CLIP * F.tanh(logits)
            logits = F.where(mask, np.full(mask.shape, -np.inf, "f"), logits)
            log_p = F.log_softmax(logits)
            probs.append(F.exp(log_p))
            current = log_p.array.argmax(axis=1).astype("i")
            log_likelihood += F.select_item(log_p, current)
            remaining = np.where(current == 0, 1, remaining - demand[rows, current]).astype("f")
            visited[rows, current] = True
        return F.stack(probs, axis=1), log_likelihood, remaining


def make():
    net = AttentionModel()
    rng = np.random.default_rng(2)
    for path, p in sorted(net.namedparams()):
        p.array[...] = rng.normal(size=p.shape) / np.sqrt(p.shape[-1])
        if path.endswith("gamma"):
            p.array[...] += 1
    for link in net.links():
        if isinstance(link, L.BatchNormalization):
            link.avg_mean[...] = 0.3 * rng.normal(size=WIDTH)
            link.avg_var[...] = 0.5 + rng.random(WIDTH)
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    b = 5
    return (rng.random((b, 2)).astype("float32"), rng.random((b, NODES, 2)).astype("float32"),
            rng.uniform(0.05, 0.45, (b, NODES)).astype("float32"))


def load(ported, original):
    s = {k: v.detach().numpy() for k, v in original.state_dict().items()}

    def dense(link, name):
        link.W.array[...] = s[name + ".weight"]
        if link.b is not None:
            link.b.array[...] = s[name + ".bias"]

    dense(ported.depot_embed, "init_depot")
    dense(ported.node_embed, "init_node")
    for name in ("project_nodes", "project_fixed", "project_step", "project_out"):
        dense(getattr(ported, name), name)
    for i, layer in enumerate(ported.encoder):
        at = layer.attention
        for link, name in ((at.query, "W_query"), (at.key, "W_key"), (at.value, "W_val")):
            w = s[f"layers.{i}.mha.{name}"]  # (heads, in, key)
            link.W.array[...] = w.transpose(0, 2, 1).reshape(WIDTH, WIDTH)
        at.out.W.array[...] = s[f"layers.{i}.mha.W_out"].reshape(WIDTH, WIDTH).T
        dense(layer.ff1, f"layers.{i}.ff.0")
        dense(layer.ff2, f"layers.{i}.ff.2")
        for bn, name in ((layer.bn1, "norm1"), (layer.bn2, "norm2")):
            n = f"layers.{i}.{name}.normalizer."
            bn.gamma.array[...] = s[n + "weight"]
            bn.beta.array[...] = s[n + "bias"]
            bn.avg_mean[...] = s[n + "running_mean"]
            bn.avg_var[...] = s[n + "running_var"]
