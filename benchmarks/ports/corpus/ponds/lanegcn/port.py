"""LaneGCN in TensorFlow (tf.Module): dense masks instead of pair lists, channels last in time."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
A, M, E, T, C, K, HOR = 3, 6, 5, 8, 8, 2, 4
RNG = np.random.RandomState(99)


def var(*shape):
    return tf.Variable((RNG.randn(*shape) * 0.4).astype("f"))


class Dense(tf.Module):
    def __init__(self, i, o, bias=True):
        super().__init__()
        self.w = var(i, o)
        self.b = var(o) if bias else None

    def __call__(self, x):
        y = tf.tensordot(x, self.w, 1)
        return y if self.b is None else y + self.b


class Norm(tf.Module):
    """GroupNorm with one group over the given axes"""

    def __init__(self, c, axes=(-1,)):
        super().__init__()
        self.scale, self.shift = var(c), var(c)
        self.axes = list(axes)

    def __call__(self, x):
        mean, v = tf.nn.moments(x, axes=self.axes, keepdims=True)
        return (x - mean) * tf.math.rsqrt(v + 1e-5) * self.scale + self.shift


class DenseNorm(tf.Module):
    def __init__(self, i, o, act=True):
        super().__init__()
        self.dense, self.norm, self.act = Dense(i, o, bias=False), Norm(o), act

    def __call__(self, x):
        x = self.norm(self.dense(x))
        return tf.nn.relu(x) if self.act else x


class MLP(tf.Module):
    def __init__(self, act):
        super().__init__()
        self.fc, self.out = Dense(2, C), DenseNorm(C, C, act)

    def __call__(self, x):
        return self.out(tf.nn.relu(self.fc(x)))


class Conv(tf.Module):
    """[N, T, C]; padding k//2 on both sides as in torch"""

    def __init__(self, k, i, o, stride=1):
        super().__init__()
        self.w, self.k, self.stride = var(k, i, o), k, stride

    def __call__(self, x):
        p = self.k // 2
        x = tf.pad(x, [[0, 0], [p, p], [0, 0]])
        return tf.nn.conv1d(x, self.w, stride=self.stride, padding="VALID")


class Res(tf.Module):
    def __init__(self, i, o, stride=1):
        super().__init__()
        self.c1, self.n1 = Conv(3, i, o, stride), Norm(o, (1, 2))
        self.c2, self.n2 = Conv(3, o, o), Norm(o, (1, 2))
        self.short = i != o or stride != 1
        if self.short:
            self.cd, self.nd = Conv(1, i, o, stride), Norm(o, (1, 2))

    def __call__(self, x):
        y = self.n2(self.c2(tf.nn.relu(self.n1(self.c1(x)))))
        if self.short:
            x = self.nd(self.cd(x))
        return tf.nn.relu(y + x)


class ActorNet(tf.Module):
    def __init__(self):
        super().__init__()
        self.g0, self.g1 = Res(3, 6), Res(6, C, 2)
        self.lat0, self.lat1 = Conv(3, 6, C), Conv(3, C, C)
        self.output = Res(C, C)

    def __call__(self, x):
        a = self.g0(x)
        b = self.lat1(self.g1(a))
        b = tf.image.resize(b[:, :, None], [T, 1], method="bilinear")[:, :, 0]
        return self.output(b + self.lat0(a))[:, -1]


class MapNet(tf.Module):
    def __init__(self):
        super().__init__()
        self.pos, self.seg = MLP(False), MLP(False)
        self.ctr, self.pre, self.suc = (Dense(C, C, bias=False) for _ in range(3))
        self.norm, self.ctr2 = Norm(C), DenseNorm(C, C, act=False)

    @staticmethod
    def messages(dense, feat, edges):
        dst, src = edges[:, :, 0], edges[:, :, 1]
        msg = tf.gather(dense(feat), src, batch_dims=1)
        return tf.matmul(tf.one_hot(dst, M), msg, transpose_a=True)

    def __call__(self, ctrs, feats, pre, suc):
        feat = tf.nn.relu(self.pos(ctrs) + self.seg(feats))
        temp = self.ctr(feat)
        temp = temp + self.messages(self.pre, feat, pre) + self.messages(self.suc, feat, suc)
        return tf.nn.relu(self.ctr2(tf.nn.relu(self.norm(temp))) + feat)


class Att(tf.Module):
    def __init__(self):
        super().__init__()
        self.dist, self.query = MLP(True), DenseNorm(C, C)
        self.ctx1, self.ctx2 = DenseNorm(3 * C, C), Dense(C, C, bias=False)
        self.agt, self.norm = Dense(C, C, bias=False), Norm(C)
        self.linear = DenseNorm(C, C, act=False)

    def __call__(self, agts, agt_ctrs, ctx, ctx_ctrs, th):
        """agts [B, n, C], ctx [B, m, C]"""
        delta = agt_ctrs[:, :, None] - ctx_ctrs[:, None]
        near = tf.cast(tf.norm(delta, axis=-1) <= th, tf.float32)
        d = self.dist(delta)
        q = tf.broadcast_to(self.query(agts)[:, :, None], tf.shape(d))
        c = tf.broadcast_to(ctx[:, None], tf.shape(d))
        msg = self.ctx2(self.ctx1(tf.concat([d, q, c], axis=-1)))
        out = self.agt(agts) + tf.einsum("bnm,bnmc->bnc", near, msg)
        return tf.nn.relu(self.linear(tf.nn.relu(self.norm(out))) + agts)


class LaneGCN(tf.Module):
    def __init__(self):
        super().__init__()
        self.actor, self.map = ActorNet(), MapNet()
        self.a2m, self.m2a = Att(), Att()
        self.pred1 = [DenseNorm(C, C) for _ in range(K)]
        self.pred2 = [Dense(C, 2 * HOR) for _ in range(K)]
        self.dest, self.dest_agt, self.cls = MLP(True), DenseNorm(2 * C, C), Dense(C, 1)

    def __call__(self, actors, actor_ctrs, lane_ctrs, lane_feats, pre, suc):
        x = tf.transpose(tf.reshape(actors, [-1, 3, T]), [0, 2, 1])
        act = tf.reshape(self.actor(x), [-1, A, C])
        nodes = self.map(lane_ctrs, lane_feats, pre, suc)
        nodes = self.a2m(nodes, lane_ctrs, act, actor_ctrs, 2.5)
        act = self.m2a(act, actor_ctrs, nodes, lane_ctrs, 2.0)
        reg = tf.stack([b(a(act)) for a, b in zip(self.pred1, self.pred2)], axis=2)
        reg = tf.reshape(reg, [-1, A, K, HOR, 2]) + actor_ctrs[:, :, None, None]
        d = self.dest(actor_ctrs[:, :, None] - reg[:, :, :, -1])
        h = tf.concat([d, tf.repeat(act[:, :, None], K, axis=2)], axis=-1)
        prob = tf.nn.softmax(self.cls(self.dest_agt(h))[..., 0], axis=-1)
        prob, order = tf.math.top_k(prob, K)
        return prob, tf.gather(reg, order, batch_dims=2)


def make():
    global RNG
    RNG = np.random.RandomState(99)
    return LaneGCN()


def inputs(seed):
    r = np.random.RandomState(seed)
    B = 4
    return (r.randn(B, A, 3, T).astype("f"), (1.3 * r.randn(B, A, 2)).astype("f"),
            (1.3 * r.randn(B, M, 2)).astype("f"), r.randn(B, M, 2).astype("f"),
            r.randint(0, M, (B, E, 2)).astype("int64"), r.randint(0, M, (B, E, 2)).astype("int64"))


def load(ported, original):
    n = lambda t: t.detach().numpy()

    def dense(d, s):
        d.w.assign(n(s.weight).T)
        if d.b is not None:
            d.b.assign(n(s.bias))

    def norm(d, s):
        d.scale.assign(n(s.weight))
        d.shift.assign(n(s.bias))

    def dn(d, s):
        dense(d.dense, s.linear)
        norm(d.norm, s.norm)

    def mlp(d, s):
        dense(d.fc, s[0])
        dn(d.out, s[2])

    def conv(d, s):
        d.w.assign(n(s.weight).transpose(2, 1, 0))

    def res(d, s):
        conv(d.c1, s.conv1), norm(d.n1, s.bn1), conv(d.c2, s.conv2), norm(d.n2, s.bn2)
        if d.short:
            conv(d.cd, s.down[0]), norm(d.nd, s.down[1])

    p, o = ported, original
    for a in ("g0", "g1", "output"):
        res(getattr(p.actor, a), getattr(o.actor, a))
    conv(p.actor.lat0, o.actor.lat0), conv(p.actor.lat1, o.actor.lat1)
    mlp(p.map.pos, o.map.input), mlp(p.map.seg, o.map.seg)
    for a in ("ctr", "pre", "suc"):
        dense(getattr(p.map, a), getattr(o.map, a))
    norm(p.map.norm, o.map.norm), dn(p.map.ctr2, o.map.ctr2)
    for d, s in ((p.a2m, o.a2m), (p.m2a, o.m2a)):
        mlp(d.dist, s.dist), dn(d.query, s.query), dn(d.ctx1, s.ctx[0]), dense(d.ctx2, s.ctx[1])
        dense(d.agt, s.agt), norm(d.norm, s.norm), dn(d.linear, s.linear)
    for i in range(K):
        dn(p.pred1[i], o.pred[i][0]), dense(p.pred2[i], o.pred[i][1])
    mlp(p.dest, o.dest), dn(p.dest_agt, o.dest_agt), dense(p.cls, o.cls)
