"""Social LSTM with tf.Module."""
import math
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
T, N, EMB, H, GRID, SIZE = 3, 3, 8, 10, 4, 4.0


class Linear(tf.Module):
    def __init__(self, rng, fan_in, fan_out, name=None):
        super().__init__(name=name)
        self.w = tf.Variable((rng.normal(size=(fan_in, fan_out)) * 0.3).astype("float32"), name="w")
        self.b = tf.Variable((rng.normal(size=(fan_out,)) * 0.3).astype("float32"), name="b")

    def __call__(self, x):
        return tf.tensordot(x, self.w, 1) + self.b


class LSTMCell(tf.Module):
    def __init__(self, rng, fan_in, units, name=None):
        super().__init__(name=name)
        self.kernel = tf.Variable((rng.normal(size=(fan_in + units, 4 * units)) * 0.3).astype("float32"))
        self.bias = tf.Variable((rng.normal(size=(4 * units,)) * 0.3).astype("float32"))

    def __call__(self, x, h, c):
        gates = tf.tensordot(tf.concat([x, h], -1), self.kernel, 1) + self.bias
        i, f, g, o = tf.split(gates, 4, axis=-1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        return tf.sigmoid(o) * tf.tanh(c), c


def neighbour_grid(pos, present):
    rel = pos[:, None] - pos[:, :, None]                                   # seen from i
    cell = tf.floor((rel + SIZE / 2) * (GRID / SIZE))
    inside = tf.reduce_all((cell >= 0) & (cell < GRID), axis=-1)
    index = tf.cast(cell[..., 0] + GRID * cell[..., 1], tf.int32)
    onehot = tf.one_hot(index, GRID * GRID)
    valid = tf.cast(inside, tf.float32) * (1.0 - tf.eye(N)) * present[:, None, :]
    return onehot * valid[..., None]


class SocialLSTM(tf.Module):
    def __init__(self, seed=3):
        super().__init__()
        rng = np.random.default_rng(seed)
        self.embed = Linear(rng, 2, EMB)
        self.social = Linear(rng, GRID * GRID * H, EMB)
        self.cell = LSTMCell(rng, 2 * EMB, H)
        self.head = Linear(rng, H, 5)

    def advance(self, pos, present, h, c):
        grid = neighbour_grid(pos, present)
        pooled = tf.einsum("bijg,bjh->bigh", grid, h)
        pooled = tf.reshape(pooled, [-1, N, GRID * GRID * H])
        x = tf.concat([tf.nn.relu(self.embed(pos)), tf.nn.relu(self.social(pooled))], -1)
        new_h, new_c = self.cell(x, h, c)
        here = present[..., None] > 0.5
        return tf.where(here, new_h, h), tf.where(here, new_c, c)

    def gaussian(self, h):
        mu, log_sigma, rho = tf.split(self.head(h), [2, 2, 1], axis=-1)
        return mu, log_sigma, tf.tanh(rho)

    def __call__(self, traj, present):
        h = tf.zeros([traj.shape[0], N, H])
        c = tf.zeros_like(h)
        losses = []
        for t in range(T):
            h, c = self.advance(traj[:, t], present[:, t], h, c)
            mu, log_sigma, rho = self.gaussian(h)
            if t < T - 1:
                z = (traj[:, t + 1] - traj[:, t] - mu) * tf.exp(-log_sigma)
                r = rho[..., 0]
                one = 1.0 - tf.square(r)
                quad = tf.reduce_sum(tf.square(z), -1) - 2.0 * r * z[..., 0] * z[..., 1]
                nll = 0.5 * quad / one + tf.reduce_sum(log_sigma, -1) + 0.5 * tf.math.log(one) + math.log(2 * math.pi)
                losses.append(nll * present[:, t] * present[:, t + 1])
        future = traj[:, -1] + mu
        h, c = self.advance(future, present[:, -1], h, c)
        mu2, log_sigma2, rho2 = self.gaussian(h)
        return tf.add_n(losses), future, future + mu2, tf.exp(log_sigma2), rho2


def make():
    return SocialLSTM()


def load(ported, original):
    sd = {k: v.detach().numpy() for k, v in original.state_dict().items()}
    for mod, n in ((ported.embed, "input_embedding"), (ported.social, "social_embedding"), (ported.head, "output")):
        mod.w.assign(sd[n + ".weight"].T)
        mod.b.assign(sd[n + ".bias"])
    ported.cell.kernel.assign(np.concatenate([sd["cell.weight_ih"].T, sd["cell.weight_hh"].T], 0))
    ported.cell.bias.assign(sd["cell.bias_ih"] + sd["cell.bias_hh"])


def inputs(seed):
    rng = np.random.default_rng(seed)
    start = rng.uniform(-1.2, 1.2, size=(6, 1, N, 2))
    traj = start + np.cumsum(rng.normal(size=(6, T, N, 2)) * 0.4, axis=1)
    present = (rng.random((6, T, N)) < 0.8).astype("float32")
    present[:, :, 0] = 1
    return traj.astype("float32"), present
