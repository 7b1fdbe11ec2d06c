"""Structure module in TensorFlow (tf.Module)."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
B, N, CS, CZ, C, H, PQ, PV, STEPS = 4, 6, 12, 8, 6, 3, 4, 5, 2
RNG = np.random.RandomState(77)


def var(shape, base=0.0, name=None):
    return tf.Variable((base + 0.25 * RNG.randn(*shape)).astype("float32"), name=name)


class Linear(tf.Module):
    def __init__(self, i, o, name=None):
        super().__init__(name)
        self.w = var((i, o), name="w")
        self.b = var((o,), name="b")

    def __call__(self, x):
        return tf.tensordot(x, self.w, 1) + self.b


class LayerNorm(tf.Module):
    def __init__(self, d, name=None):
        super().__init__(name)
        self.scale = var((d,), 1.0, name="scale")
        self.offset = var((d,), name="offset")

    def __call__(self, x):
        mean, v = tf.nn.moments(x, -1, keepdims=True)
        return tf.nn.batch_normalization(x, mean, v, self.offset, self.scale, 1e-5)


def quat_to_rot(q):
    w, x, y, z = tf.unstack(q, axis=-1)
    row0 = tf.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], -1)
    row1 = tf.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)], -1)
    row2 = tf.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], -1)
    return tf.stack([row0, row1, row2], -2)


def to_global(R, t, pts):
    return tf.einsum("bnij,bnhpj->bnhpi", R, pts) + t[:, :, None, None, :]


def to_local(R, t, pts):
    return tf.einsum("bnji,bnhpj->bnhpi", R, pts - t[:, :, None, None, :])


class InvariantPointAttention(tf.Module):
    def __init__(self, name=None):
        super().__init__(name)
        self.q = Linear(CS, H * C)
        self.kv = Linear(CS, 2 * H * C)
        self.q_pts = Linear(CS, H * PQ * 3)
        self.kv_pts = Linear(CS, H * (PQ + PV) * 3)
        self.pair_bias = Linear(CZ, H)
        self.head_weights = var((H,), name="head_weights")
        self.out = Linear(H * (CZ + C + PV * 4), CS)

    def points(self, lin, s, R, t, p):
        xyz = tf.split(lin(s), 3, axis=-1)
        pts = tf.reshape(tf.stack(xyz, -1), (B, N, H, p, 3))
        return to_global(R, t, pts)

    def __call__(self, s, z, R, t, mask):
        q = tf.reshape(self.q(s), (B, N, H, C))
        k, v = tf.split(tf.reshape(self.kv(s), (B, N, H, 2 * C)), 2, axis=-1)
        q_pts = self.points(self.q_pts, s, R, t, PQ)
        kv_pts = self.points(self.kv_pts, s, R, t, PQ + PV)
        k_pts, v_pts = kv_pts[..., :PQ, :], kv_pts[..., PQ:, :]
        w_l = (1.0 / 3) ** 0.5
        w_c = (1.0 / (9 * PQ / 2)) ** 0.5
        scalar = tf.einsum("bihc,bjhc->bhij", q, k) * C ** -0.5
        pair = tf.transpose(self.pair_bias(z), (0, 3, 1, 2))
        dist = tf.reduce_sum(tf.math.squared_difference(q_pts[:, :, None], k_pts[:, None]), axis=(-2, -1))
        gamma = tf.nn.softplus(self.head_weights)
        dist = tf.transpose(dist * gamma, (0, 3, 1, 2))
        logits = w_l * (scalar + pair - 0.5 * w_c * dist)
        logits -= 1e5 * (1.0 - mask)[:, None, None, :]
        a = tf.nn.softmax(logits, axis=-1)
        o = tf.reshape(tf.einsum("bhij,bjhc->bihc", a, v), (B, N, -1))
        o_pt = to_local(R, t, tf.einsum("bhij,bjhpx->bihpx", a, v_pts))
        o_norm = tf.reshape(tf.sqrt(tf.reduce_sum(tf.square(o_pt), -1) + 1e-8), (B, N, -1))
        o_xyz = [tf.reshape(c, (B, N, -1)) for c in tf.unstack(o_pt, axis=-1)]
        o_pair = tf.reshape(tf.einsum("bhij,bijc->bihc", a, z), (B, N, -1))
        return self.out(tf.concat([o] + o_xyz + [o_norm, o_pair], axis=-1))


class StructureModule(tf.Module):
    def __init__(self, name=None):
        super().__init__(name)
        self.norm_s, self.norm_z = LayerNorm(CS), LayerNorm(CZ)
        self.ipa = InvariantPointAttention()
        self.norm_ipa, self.norm_trans = LayerNorm(CS), LayerNorm(CS)
        self.trans1, self.trans2 = Linear(CS, CS), Linear(CS, CS)
        self.bb_update = Linear(CS, 6)

    def __call__(self, s, z, R, t, mask):
        s, z = self.norm_s(s), self.norm_z(z)
        for _ in range(STEPS):
            s = self.norm_ipa(s + self.ipa(s, z, R, t, mask))
            s = self.norm_trans(s + self.trans2(tf.nn.relu(self.trans1(s))))
            upd = self.bb_update(s) * mask[..., None]
            quat = tf.concat([tf.ones((B, N, 1)), upd[..., :3]], axis=-1)
            quat = quat / tf.norm(quat, axis=-1, keepdims=True)
            t = t + tf.linalg.matvec(R, upd[..., 3:])
            R = tf.matmul(R, quat_to_rot(quat))
        return s, R, t


def make():
    RNG.seed(77)
    return StructureModule()


def inputs(seed):
    r = np.random.RandomState(seed)
    R = np.linalg.qr(r.randn(B, N, 3, 3))[0]
    R[..., 0] *= np.linalg.det(R)[..., None]
    mask = np.ones((B, N), "float32")
    mask[0, 4:] = 0
    mask[2, 5:] = 0
    return (r.randn(B, N, CS).astype("float32"), r.randn(B, N, N, CZ).astype("float32"), R.astype("float32"),
            r.randn(B, N, 3).astype("float32"), mask)


def load(p, o):
    n = lambda t: t.detach().numpy()

    def lin(a, b):
        a.w.assign(n(b.weight).T)
        a.b.assign(n(b.bias))
    for k in ("norm_s", "norm_z", "norm_ipa", "norm_trans"):
        getattr(p, k).scale.assign(n(getattr(o, k).weight))
        getattr(p, k).offset.assign(n(getattr(o, k).bias))
    for k in ("trans1", "trans2", "bb_update"):
        lin(getattr(p, k), getattr(o, k))
    a, b = p.ipa, o.ipa
    lin(a.q, b.linear_q)
    lin(a.kv, b.linear_kv)
    lin(a.q_pts, b.linear_q_points)
    lin(a.kv_pts, b.linear_kv_points)
    lin(a.pair_bias, b.linear_b)
    lin(a.out, b.linear_out)
    a.head_weights.assign(n(b.head_weights))
