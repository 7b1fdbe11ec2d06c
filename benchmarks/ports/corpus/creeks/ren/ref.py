"""Recurrent equilibrium network (acyclic, contracting) as a feedback controller."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
NX, NV, NU, NY, T = 4, 4, 3, 2, 4
ALPHA, EPS = 0.9, 0.05


def weight(rng, *shape, scale=0.5, name=None):
    return tf.Variable((scale * rng.randn(*shape)).astype("float32"), name=name)


class REN(tf.Module):
    def __init__(self, seed=51):
        super().__init__()
        r = np.random.RandomState(seed)
        self.X = weight(r, 2 * NX + NV, 2 * NX + NV, scale=0.4, name="X")
        self.Y = weight(r, NX, NX, scale=0.8, name="Y")
        self.B2 = weight(r, NX, NU, name="B2")
        self.D12 = weight(r, NV, NU, name="D12")
        self.C2 = weight(r, NY, NX, name="C2")
        self.D21 = weight(r, NY, NV, name="D21")
        self.D22 = weight(r, NY, NU, name="D22")
        self.bx = weight(r, NX, scale=0.3, name="bx")
        self.bv = weight(r, NV, scale=0.3, name="bv")
        self.by = weight(r, NY, scale=0.3, name="by")

    def direct(self):
        H = tf.matmul(self.X, self.X, transpose_a=True) + EPS * tf.eye(2 * NX + NV)
        H11 = H[:NX, :NX]
        H21 = H[NX:NX + NV, :NX]
        H22 = H[NX:NX + NV, NX:NX + NV]
        H31 = H[NX + NV:, :NX]
        H32 = H[NX + NV:, NX:NX + NV]
        H33 = H[NX + NV:, NX + NV:]
        E = 0.5 * (H11 + H33 / ALPHA ** 2 + self.Y - tf.transpose(self.Y))
        lam = 0.5 * tf.linalg.diag_part(H22)
        D11 = -(tf.linalg.band_part(H22, -1, 0) - tf.linalg.diag(tf.linalg.diag_part(H22)))
        return E, H31, H32, lam, D11, -H21

    def __call__(self, x, u):
        E, F, B1, lam, D11, C1 = self.direct()
        E_inv = tf.linalg.inv(E)
        ys = []
        for t in range(T):
            ut = u[:, t]
            pre = tf.matmul(x, C1, transpose_b=True) + tf.matmul(ut, self.D12, transpose_b=True) + self.bv
            w = []
            for i in range(NV):
                vi = pre[:, i]
                for j in range(i):
                    vi = vi + D11[i, j] * w[j]
                w.append(tf.tanh(vi / lam[i]))
            w = tf.stack(w, axis=1)
            y = tf.matmul(x, self.C2, transpose_b=True) + tf.matmul(w, self.D21, transpose_b=True) \
                + tf.matmul(ut, self.D22, transpose_b=True) + self.by
            ys.append(y)
            rhs = tf.matmul(x, F, transpose_b=True) + tf.matmul(w, B1, transpose_b=True) \
                + tf.matmul(ut, self.B2, transpose_b=True) + self.bx
            x = tf.matmul(rhs, E_inv, transpose_b=True)
        return tf.stack(ys, axis=1), x


def make():
    return REN()


def inputs(seed):
    r = np.random.RandomState(seed)
    return r.randn(5, NX).astype("float32"), r.randn(5, T, NU).astype("float32")
