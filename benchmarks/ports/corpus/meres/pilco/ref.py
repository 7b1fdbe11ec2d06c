"""PILCO: Gaussian-process dynamics and an RBF policy, uncertainty propagated by moment matching."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
D, U, N, HORIZON = 3, 2, 6, 2
MAX_ACTION = 1.5


class SparseGP(tf.Module):
    def __init__(self, rng, dims, outs, points=N, name=None):
        super().__init__(name=name)
        f = lambda a: a.astype("float32")
        self.X = tf.Variable(f(rng.normal(size=(points, dims)) * 1.5))
        self.Y = tf.Variable(f(rng.normal(size=(points, outs)) * 0.5))
        self.lengthscales = tf.Variable(f(rng.uniform(1.2, 2.5, size=(outs, dims))))
        self.variance = tf.Variable(f(rng.uniform(0.6, 1.4, size=(outs,))))
        self.noise = tf.Variable(f(rng.uniform(0.1, 0.3, size=(outs,))))

    def factorise(self):
        z = self.X[None] / self.lengthscales[:, None]                       # [k, N, d]
        dist = tf.reduce_sum(tf.square(z[:, :, None] - z[:, None]), -1)
        K = self.variance[:, None, None] * tf.exp(-0.5 * dist)
        K = K + self.noise[:, None, None] * tf.eye(N)
        iK = tf.linalg.inv(K)
        beta = tf.einsum("knm,mk->kn", iK, self.Y)
        return iK, beta

    def moments(self, m, s, deterministic=False):
        """m [B, d], s [B, d, d] -> mean [B, k], cov [B, k, k], inv(s) cov(in, out) [B, d, k]."""
        iK, beta = self.factorise()
        d = self.X.shape[1]
        eye = tf.eye(d)
        inp = self.X[None] - m[:, None]                                     # [B, N, d]
        il = 1.0 / self.lengthscales                                        # [k, d]
        iN = inp[:, None] * il[None, :, None]                               # [B, k, N, d]
        Bm = s[:, None] * il[None, :, :, None] * il[None, :, None, :] + eye
        t = tf.linalg.matrix_transpose(tf.linalg.solve(Bm, tf.linalg.matrix_transpose(iN)))
        lb = tf.exp(-0.5 * tf.reduce_sum(iN * t, -1)) * beta[None]
        c = self.variance / tf.sqrt(tf.linalg.det(Bm))                      # [B, k]
        M = tf.reduce_sum(lb, -1) * c
        V = tf.einsum("bknd,bkn,bk->bdk", t * il[None, :, None], lb, c)

        il2 = tf.square(il)
        R = s[:, None, None] * (il2[:, None] + il2[None])[None, :, :, None, :] + eye
        a = inp[:, None] * il2[None, :, None]                               # [B, k, N, d]
        Q = tf.linalg.solve(R, tf.broadcast_to(s[:, None, None], tf.shape(R))) / 2.0
        k = tf.math.log(self.variance)[None, :, None] - 0.5 * tf.reduce_sum(tf.square(iN), -1)
        aQ = tf.einsum("bind,bijde->bijne", a, Q)
        left = tf.einsum("bijne,bine->bijn", aQ, a) + k[:, :, None]
        right = tf.einsum("bjmd,bijde,bjme->bijm", a, Q, a) + k[:, None]
        quad = 2.0 * tf.einsum("bijne,bjme->bijnm", aQ, a)
        L = tf.exp(left[..., None] + right[..., None, :] + quad)
        S = tf.einsum("in,bijnm,jm->bij", beta, L, beta)
        if not deterministic:
            trace = tf.einsum("inm,biimn->bi", iK, L)
            S = S - tf.linalg.diag(trace)
        S = S / tf.sqrt(tf.linalg.det(R))
        extra = tf.fill(tf.shape(self.variance), 1e-6) if deterministic else self.variance
        S = S + tf.linalg.diag(extra)
        S = S - M[:, :, None] * M[:, None, :]
        return M, S, V


def squash_sin(m, s, top):
    v = tf.linalg.diag_part(s)
    mean = top * tf.exp(-v / 2) * tf.sin(m)
    lq = -(v[:, :, None] + v[:, None, :]) / 2
    q = tf.exp(lq)
    diff, add = m[:, :, None] - m[:, None, :], m[:, :, None] + m[:, None, :]
    cov = (tf.exp(lq + s) - q) * tf.cos(diff) - (tf.exp(lq - s) - q) * tf.cos(add)
    cov = top * top * cov / 2
    C = top * tf.linalg.diag(tf.exp(-v / 2) * tf.cos(m))
    return mean, cov, C


class Pilco(tf.Module):
    def __init__(self, seed=0):
        super().__init__()
        rng = np.random.default_rng(seed)
        self.policy = SparseGP(rng, D, U)
        self.dynamics = SparseGP(rng, D + U, D)
        self.target = tf.Variable(rng.normal(size=(D,)).astype("float32") * 0.5)
        self.weight = tf.Variable(rng.uniform(0.3, 1.0, size=(D,)).astype("float32"))

    def reward(self, m, s):
        W = tf.linalg.diag(self.weight)
        A = tf.eye(D) + s @ W
        err = m - self.target
        iSpW = W @ tf.linalg.inv(A)
        quad = tf.einsum("bi,bij,bj->b", err, iSpW, err)
        return tf.exp(-0.5 * quad) / tf.sqrt(tf.linalg.det(A))

    def propagate(self, m, s):
        mu, su, cu = self.policy.moments(m, s, deterministic=True)
        mu, su, C = squash_sin(mu, su, MAX_ACTION)
        cross = s @ (cu @ C)                                                # [B, D, U]
        joint_m = tf.concat([m, mu], -1)
        top = tf.concat([s, cross], -1)
        bottom = tf.concat([tf.linalg.matrix_transpose(cross), su], -1)
        joint_s = tf.concat([top, bottom], 1)
        dm, ds, dc = self.dynamics.moments(joint_m, joint_s)
        shared = top @ dc
        return m + dm, s + ds + shared + tf.linalg.matrix_transpose(shared), mu

    def __call__(self, m, s):
        rewards, actions = [], []
        for _ in range(HORIZON):
            m, s, u = self.propagate(m, s)
            rewards.append(self.reward(m, s))
            actions.append(u)
        return tf.stack(rewards, 1), tf.stack(actions, 1), m, s


def make():
    return Pilco(0)


def inputs(seed):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(4, D, D)) * 0.3
    s = a @ a.transpose(0, 2, 1) + 0.05 * np.eye(D)
    return rng.normal(size=(4, D)).astype("float32"), s.astype("float32")
