"""Graph Transformer in raw TensorFlow: a dict of tf.Variables and functions."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"

DIM, HEADS, LAYERS = 12, 3, 2


def init(rng):
    p = {}

    def dense(name, n_in, n_out):
        p[name + "/w"] = tf.Variable(rng.normal(0, 0.4, (n_in, n_out)).astype("float32"), name=name + "_w")
        p[name + "/b"] = tf.Variable(rng.normal(0, 0.2, n_out).astype("float32"), name=name + "_b")

    def norm(name):
        p[name + "/scale"] = tf.Variable(rng.uniform(0.5, 1.5, DIM).astype("float32"), name=name + "_scale")
        p[name + "/shift"] = tf.Variable(rng.normal(0, 0.2, DIM).astype("float32"), name=name + "_shift")

    dense("node", 5, DIM)
    dense("lap", 3, DIM)
    p["bond"] = tf.Variable(rng.normal(0, 0.4, (4, DIM)).astype("float32"), name="bond")
    for i in range(LAYERS):
        for part in ("q", "k", "v", "e", "out_h", "out_e"):
            dense(f"{i}/{part}", DIM, DIM)
        dense(f"{i}/ffn1", DIM, 2 * DIM)
        dense(f"{i}/ffn2", 2 * DIM, DIM)
        for part in ("norm1_h", "norm1_e", "norm2_h"):
            norm(f"{i}/{part}")
    dense("read1", DIM, DIM // 2)
    dense("read2", DIM // 2, 2)
    return p


def linear(p, name, x):
    return tf.tensordot(x, p[name + "/w"], 1) + p[name + "/b"]


def layer_norm(p, name, x):
    mean, var = tf.nn.moments(x, axes=[-1], keepdims=True)
    return (x - mean) * tf.math.rsqrt(var + 1e-5) * p[name + "/scale"] + p[name + "/shift"]


def split_heads(x):
    return tf.reshape(x, tf.concat([tf.shape(x)[:-1], [HEADS, DIM // HEADS]], 0))


def merge_heads(x):
    return tf.reshape(x, tf.concat([tf.shape(x)[:-2], [DIM]], 0))


def attention(p, i, h, e, adj):
    q, k, v = (split_heads(linear(p, f"{i}/{part}", h)) for part in "qkv")
    pe = split_heads(linear(p, f"{i}/e", e))
    scale = (DIM // HEADS) ** -0.5
    score = q[:, :, None] * k[:, None] * scale * pe
    logit = tf.reduce_sum(score, -1)
    weight = tf.exp(tf.clip_by_value(logit, -5.0, 5.0)) * adj[..., None]
    total = tf.reduce_sum(weight, axis=2)
    mixed = tf.einsum("bijh,bjhd->bihd", weight, v)
    return merge_heads(mixed / (total[..., None] + 1e-6)), merge_heads(score)


def layer(p, i, h, e, adj):
    h_attn, e_attn = attention(p, i, h, e, adj)
    h_mid = layer_norm(p, f"{i}/norm1_h", h + linear(p, f"{i}/out_h", h_attn))
    e_mid = layer_norm(p, f"{i}/norm1_e", e + linear(p, f"{i}/out_e", e_attn))
    ffn = linear(p, f"{i}/ffn2", tf.nn.relu(linear(p, f"{i}/ffn1", h_mid)))
    return layer_norm(p, f"{i}/norm2_h", h_mid + ffn), e_mid


def forward(p, feats, lap_pos_enc, bonds, node_mask):
    pairs = node_mask[:, :, None] * node_mask[:, None, :]
    adj = tf.cast(bonds > 0, tf.float32) * pairs
    h = linear(p, "node", feats) + linear(p, "lap", lap_pos_enc)
    e = tf.gather(p["bond"], bonds)
    for i in range(LAYERS):
        h, e = layer(p, i, h, e, adj)
    summed = tf.einsum("bnd,bn->bd", h, node_mask)
    hg = summed / tf.reduce_sum(node_mask, axis=1, keepdims=True)
    return linear(p, "read2", tf.nn.relu(linear(p, "read1", hg)))


class GraphTransformer:
    def __init__(self, seed):
        self.params = init(np.random.default_rng(seed))

    def __call__(self, *args):
        return forward(self.params, *args)


def make():
    return GraphTransformer(9)


def inputs(seed):
    rng = np.random.default_rng(seed)
    b, n = 5, 6
    mask = (np.arange(n)[None] < np.array([6, 4, 5, 6, 3])[:, None]).astype("float32")
    bonds = rng.integers(0, 4, (b, n, n))
    bonds = np.maximum(np.tril(bonds, -1), np.tril(bonds, -1).transpose(0, 2, 1))
    adj = (bonds > 0) * mask[:, :, None] * mask[:, None, :]
    lap = np.eye(n)[None] * adj.sum(-1)[:, :, None] - adj
    vectors = np.linalg.eigh(lap)[1][:, :, 1:4]
    feats = rng.normal(size=(b, n, 5))
    return (feats.astype("float32"), vectors.astype("float32"), bonds.astype("int64"), mask)


def load(ported, original):
    p = ported.params
    state = {k: v.numpy() for k, v in original.state_dict().items()}
    names = {"node": "embedding_h", "lap": "embedding_lap_pos_enc", "read1": "readout1", "read2": "readout2"}
    for i in range(LAYERS):
        at = f"layers.{i}."
        names |= {
            f"{i}/q": at + "attention.Q", f"{i}/k": at + "attention.K", f"{i}/v": at + "attention.V",
            f"{i}/e": at + "attention.proj_e", f"{i}/out_h": at + "O_h", f"{i}/out_e": at + "O_e",
            f"{i}/ffn1": at + "ffn_h1", f"{i}/ffn2": at + "ffn_h2",
        }
        for part in ("norm1_h", "norm1_e", "norm2_h"):
            p[f"{i}/{part}/scale"].assign(state[at + part + ".weight"])
            p[f"{i}/{part}/shift"].assign(state[at + part + ".bias"])
    for ours, theirs in names.items():
        p[ours + "/w"].assign(state[theirs + ".weight"].T)
        p[ours + "/b"].assign(state[theirs + ".bias"])
    p["bond"].assign(state["embedding_e.weight"])
