"""ANI potential in TensorFlow (tf.Module)."""
import math
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
SPECIES = 3
R_RADIAL, R_ANGULAR = 5.2, 3.5
PAIRS = [(i, j) for i in range(SPECIES) for j in range(i, SPECIES)]


def smooth_cutoff(r, rc):
    return (0.5 + 0.5 * tf.cos(math.pi * r / rc)) * tf.cast(r <= rc, r.dtype)


class SymmetryFunctions(tf.Module):
    def __init__(self):
        super().__init__()
        self.eta_r = tf.constant(3.0)
        self.shift_r = tf.constant([0.9, 1.6, 2.3, 3.4])
        self.eta_a = tf.constant(1.5)
        self.zeta = tf.constant(4.0)
        self.shift_a = tf.constant([0.9, 2.0])
        self.shift_z = tf.constant([0.4, 1.6, 2.7])

    def radial(self, r):
        g = tf.exp(-self.eta_r * tf.square(r[..., None] - self.shift_r))
        return 0.25 * g * smooth_cutoff(r, R_RADIAL)[..., None]

    def angular(self, diff, r):
        dots = tf.matmul(diff, diff, transpose_b=True)
        cosine = dots / tf.maximum(r[:, :, :, None] * r[:, :, None, :], 1e-8)
        angle = tf.acos(0.95 * cosine)
        fc = smooth_cutoff(r, R_ANGULAR)
        fc = fc[:, :, :, None] * fc[:, :, None, :]
        avg = 0.5 * (r[:, :, :, None] + r[:, :, None, :])
        az = tf.pow(0.5 * (1.0 + tf.cos(angle[..., None] - self.shift_z)), self.zeta)
        ar = tf.exp(-self.eta_a * tf.square(avg[..., None] - self.shift_a))
        # both orders of a pair are summed below, hence no factor 2
        g = az[..., :, None] * ar[..., None, :] * fc[..., None, None]
        return tf.reshape(g, tf.concat([tf.shape(g)[:-2], [6]], 0))

    def __call__(self, species, xyz):
        n = species.shape[1]
        onehot = tf.one_hot(species, SPECIES)
        exists = tf.reduce_sum(onehot, -1)
        eye = tf.eye(n)
        diff = xyz[:, None, :, :] - xyz[:, :, None, :]
        r = tf.sqrt(tf.reduce_sum(tf.square(diff), -1) + eye)
        mask = exists[:, :, None] * exists[:, None, :] * (1.0 - eye)
        rad = self.radial(r) * mask[..., None]
        rad = tf.einsum("bijr,bjs->bisr", rad, onehot)
        mask3 = mask[:, :, :, None] * mask[:, :, None, :] * (1.0 - eye)
        ang = self.angular(diff, r) * mask3[..., None]
        parts = []
        for p, q in PAIRS:
            sel = onehot[:, :, None, p] * onehot[:, None, :, q]
            if p != q:
                sel = sel + onehot[:, :, None, q] * onehot[:, None, :, p]
            parts.append(tf.einsum("bijka,bjk->bia", ang, sel))
        rad = tf.reshape(rad, [-1, n, SPECIES * 4])
        return tf.concat([rad] + parts, -1)


class Dense(tf.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.w = tf.Variable(tf.random.normal([n_in, n_out]) * 0.4)
        self.b = tf.Variable(tf.random.normal([n_out]) * 0.4)

    def __call__(self, x):
        return tf.tensordot(x, self.w, 1) + self.b


def celu(x, alpha=0.1):
    return tf.maximum(x, 0.0) + tf.minimum(alpha * tf.math.expm1(x / alpha), 0.0)


class AtomNet(tf.Module):
    def __init__(self, d):
        super().__init__()
        self.layers = [Dense(d, 16), Dense(16, 8), Dense(8, 1)]

    def __call__(self, x):
        for l in self.layers[:-1]:
            x = celu(l(x))
        return self.layers[-1](x)


class ANI(tf.Module):
    def __init__(self):
        super().__init__()
        self.features = SymmetryFunctions()
        self.nets = [AtomNet(SPECIES * 4 + len(PAIRS) * 6) for _ in range(SPECIES)]
        self.shift = tf.Variable(tf.random.normal([SPECIES]))

    def __call__(self, species, xyz):
        x = self.features(species, xyz)
        per_species = tf.concat([net(x) for net in self.nets], -1) + self.shift
        atomic = tf.reduce_sum(per_species * tf.one_hot(species, SPECIES), -1)
        return tf.reduce_sum(atomic, 1, keepdims=True)


def make():
    tf.random.set_seed(6)
    return ANI()


def inputs(seed):
    r = np.random.RandomState(seed)
    species = r.randint(0, SPECIES, (5, 6)).astype("int64")
    species[1, 5] = species[3, 4] = species[3, 5] = -1
    base = np.array([[0, 0, 0], [1.1, 0, 0], [0, 1.3, 0], [0, 0, 1.2], [1.2, 1.1, .1], [.2, 1.3, 1.4]])
    return species, (base + r.randn(5, 6, 3) * 0.15).astype("float32")


def load(ported, original):
    for net, seq in zip(ported.nets, original.networks):
        for l, m in zip(net.layers, seq[::2]):
            l.w.assign(m.weight.detach().numpy().T)
            l.b.assign(m.bias.detach().numpy())
    ported.shift.assign(original.self_energies.detach().numpy())
