"""DimeNet in plain TensorFlow functions over a dictionary of variables."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
CUTOFF = 5.0
NR, NA = 6, 4


def dense(p, name, x, act=None):
    y = x @ p[name + "/w"]
    if name + "/b" in p:
        y = y + p[name + "/b"]
    return act(y) if act else y


def envelope(x, p=6):
    a, b, c = -(p + 1) * (p + 2) / 2, p * (p + 2), -p * (p + 1) / 2
    poly = 1.0 / x + x ** (p - 1) * (a + x * (b + c * x))
    return poly * tf.cast(x < 1.0, x.dtype)


def radial_basis(p, dist):
    u = tf.expand_dims(dist / CUTOFF, -1)
    return envelope(u) * tf.sin(u * p["freq"])


def spherical_basis(dist, cos):
    k = np.pi * np.arange(1, NR + 1, dtype="float32")
    dist = dist[:, None]
    bessel = np.float32(np.sqrt(2 / CUTOFF)) * tf.sin(dist * k / CUTOFF) / dist
    leg = [tf.ones_like(cos), cos, 0.5 * (3 * cos**2 - 1), 0.5 * (5 * cos**3 - 3 * cos)]
    y = tf.stack(leg, axis=-1)
    return tf.reshape(tf.einsum("tl,tn->tln", y, bessel), (-1, NA * NR))


def residual(p, name, x):
    y = dense(p, name + "/1", x, tf.nn.silu)
    return x + dense(p, name + "/2", y, tf.nn.silu)


def interaction(p, name, msg, rbf, sbf, kj, ji):
    n_edges = msg.shape[0]
    own = dense(p, name + "/ji", msg, tf.nn.silu)
    other = dense(p, name + "/kj", msg, tf.nn.silu)
    other = other * dense(p, name + "/rbf", rbf)
    other = dense(p, name + "/down", other, tf.nn.silu)
    other = tf.gather(other, kj) * dense(p, name + "/sbf", sbf)
    summed = tf.math.unsorted_segment_sum(other, ji, n_edges)
    h = own + dense(p, name + "/up", summed, tf.nn.silu)
    h = residual(p, name + "/before", h)
    h = dense(p, name + "/skip", h, tf.nn.silu) + msg
    return residual(p, name + "/after", h)


def readout(p, name, msg, rbf, target, n_atoms):
    gated = dense(p, name + "/rbf", rbf) * msg
    per_atom = tf.math.unsorted_segment_sum(gated, target, n_atoms)
    return dense(p, name + "/out", dense(p, name + "/lin", per_atom, tf.nn.silu))


def dimenet(p, z, pos, src, dst, kj, ji, mol):
    n_atoms = z.shape[0]
    edge = tf.gather(pos, dst) - tf.gather(pos, src)
    dist = tf.norm(edge, axis=-1)
    to_i = tf.gather(edge, ji)
    to_k = -tf.gather(edge, kj)
    cos = tf.reduce_sum(to_i * to_k, -1) / (tf.gather(dist, ji) * tf.gather(dist, kj))
    rbf = radial_basis(p, dist)
    sbf = spherical_basis(tf.gather(dist, kj), cos)

    atom = tf.gather(p["emb"], z)
    feats = [tf.gather(atom, dst), tf.gather(atom, src), dense(p, "embed/rbf", rbf, tf.nn.silu)]
    msg = dense(p, "embed/lin", tf.concat(feats, -1), tf.nn.silu)
    total = readout(p, "out0", msg, rbf, dst, n_atoms)
    for i in (1, 2):
        msg = interaction(p, f"int{i}", msg, rbf, sbf, kj, ji)
        total += readout(p, f"out{i}", msg, rbf, dst, n_atoms)
    return tf.math.unsorted_segment_sum(total, mol, 4)[:, 0], total


def make(dim=24, small=12):
    g = np.random.default_rng(30)
    shapes = {"emb": (10, dim), "freq": (NR,)}

    def add(name, i, o, bias=True):
        shapes[name + "/w"] = (i, o)
        if bias:
            shapes[name + "/b"] = (o,)

    add("embed/rbf", NR, dim), add("embed/lin", 3 * dim, dim)
    for i in (1, 2):
        n = f"int{i}"
        add(n + "/rbf", NR, dim, False), add(n + "/sbf", NR * NA, small, False)
        add(n + "/down", dim, small, False), add(n + "/up", small, dim, False)
        for l in ("/ji", "/kj", "/before/1", "/before/2", "/skip", "/after/1", "/after/2"):
            add(n + l, dim, dim)
    for i in range(3):
        add(f"out{i}/rbf", NR, dim, False), add(f"out{i}/lin", dim, dim), add(f"out{i}/out", dim, 1)
    params = {k: tf.Variable(g.normal(0, .3, s).astype("float32"), name=k) for k, s in shapes.items()}
    params["freq"].assign_add(np.pi * np.arange(1, NR + 1))

    def model(z, pos, src, dst, kj, ji, mol):
        return dimenet(params, z, pos, src, dst, kj, ji, mol)

    model.params = params
    return model


NAMES = {"before/1": "before.lin1", "before/2": "before.lin2", "after/1": "after.lin1", "after/2": "after.lin2",
         "ji": "lin_ji", "kj": "lin_kj", "rbf": "lin_rbf", "sbf": "lin_sbf"}


def load(ported, original):
    sd = {k: v.numpy() for k, v in original.state_dict().items()}
    for key, var in ported.params.items():
        if key in ("emb", "freq"):
            var.assign(sd["emb.weight" if key == "emb" else "rbf.freq"])
            continue
        block, rest = key.split("/", 1)
        mid, leaf = rest.rsplit("/", 1)
        if block == "embed":
            src = "emb_" + mid
        else:
            src = ("blocks.%d." % (int(block[3:]) - 1) if block.startswith("int") else f"outputs.{block[3:]}.") + NAMES.get(mid, mid)
        var.assign(sd[src + ".weight"].T if leaf == "w" else sd[src + ".bias"])


def inputs(seed=0):
    g = np.random.default_rng(seed)
    z, pos, mol, src, dst = [], [], [], [], []
    for b, n in enumerate((5, 7, 6, 4)):
        p = g.uniform(-1.6, 1.6, (n, 3))
        while np.linalg.norm(p[:, None] - p + 9 * np.eye(n)[..., None], axis=-1).min() < .8:
            p = g.uniform(-1.6, 1.6, (n, 3))
        off = sum(map(len, z))
        i, j = np.nonzero((np.linalg.norm(p[:, None] - p, axis=-1) < 3.2) & ~np.eye(n, dtype=bool))
        z.append(g.integers(1, 10, n)), pos.append(p), mol.append(np.full(n, b)), dst.append(i + off), src.append(j + off)
    z, pos, mol, src, dst = map(np.concatenate, (z, pos, mol, src, dst))
    kj, ji = np.nonzero((dst[:, None] == src[None]) & (src[:, None] != dst[None]))
    return z, pos.astype("float32"), src, dst, kj, ji, mol
