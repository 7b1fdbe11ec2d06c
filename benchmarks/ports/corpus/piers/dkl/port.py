"""The deep kernel dynamics model as tf.Modules."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
STATE, ACT, WIDTH, FEATURES, POINTS, HORIZON = 3, 2, 12, 4, 9, 3


def _init(rng, *shape, mean=0.0, std=0.3):
    return tf.Variable((mean + std * rng.normal(size=shape)).astype("float32"))


class MLP(tf.Module):
    def __init__(self, sizes, rng, name=None):
        super().__init__(name=name)
        self.ws = [_init(rng, i, o, std=i ** -0.5) for i, o in zip(sizes[:-1], sizes[1:])]
        self.bs = [_init(rng, o) for o in sizes[1:]]

    def __call__(self, x):
        last = len(self.ws) - 1
        for i, (w, b) in enumerate(zip(self.ws, self.bs)):
            x = tf.matmul(x, w) + b
            if i < last:
                x = tf.tanh(x)
        return x


class DeepKernelDynamics(tf.Module):
    def __init__(self, seed=0, name=None):
        super().__init__(name=name)
        rng = np.random.default_rng(seed)
        n = STATE + 1 + ACT
        self.net = MLP([n, WIDTH, WIDTH, FEATURES], rng)
        self.x_mean = _init(rng, n)
        self.x_std = _init(rng, n, mean=1.0, std=0.1)
        self.raw_lengthscales = _init(rng, STATE, FEATURES, mean=0.5)
        self.raw_variances = _init(rng, STATE)
        self.log_noise = _init(rng, STATE, mean=-1.2, std=0.2)
        self.data_state = _init(rng, POINTS, STATE, std=1.0)
        self.data_action = _init(rng, POINTS, ACT, std=1.0)
        self.data_delta = _init(rng, POINTS, STATE, std=0.5)
        self.goal = tf.constant([0.4, 0.9])

    def embed(self, state, action):
        pos, angle, vel = tf.split(state, 3, axis=-1)
        x = tf.concat([pos, tf.sin(angle), tf.cos(angle), vel, action], -1)
        return self.net((x - self.x_mean) / self.x_std)

    def kernel(self, a, b):
        """(n, f), (m, f) -> (STATE, n, m)."""
        scale = tf.nn.softplus(self.raw_lengthscales)[:, None]
        diff = (a / scale)[:, :, None] - (b / scale)[:, None]
        sq = tf.reduce_sum(tf.square(diff), -1)
        return tf.nn.softplus(self.raw_variances)[:, None, None] * tf.exp(-0.5 * sq)

    def fit(self):
        z = self.embed(self.data_state, self.data_action)
        noise = tf.exp(2.0 * self.log_noise)
        gram = self.kernel(z, z)
        gram += noise[:, None, None] * tf.eye(POINTS)
        chol = tf.linalg.cholesky(gram)
        alpha = tf.linalg.cholesky_solve(chol, tf.transpose(self.data_delta)[:, :, None])
        return z, chol, alpha[..., 0]

    def predict(self, cache, state, action):
        z, chol, alpha = cache
        cross = self.kernel(z, self.embed(state, action))
        mean = tf.einsum("snb,sn->bs", cross, alpha)
        v = tf.linalg.triangular_solve(chol, cross, lower=True)
        prior = tf.nn.softplus(self.raw_variances)
        var = prior - tf.transpose(tf.reduce_sum(v * v, 1))
        return mean, var

    def cost(self, state, var, width=0.8):
        pos, angle = state[:, 0], state[:, 1]
        tip = tf.stack([pos + tf.sin(angle), tf.cos(angle)], -1)
        d2 = tf.reduce_sum(tf.math.squared_difference(tip, self.goal), -1)
        total = width ** 2 + var[:, 0]
        return 1.0 - width * tf.math.rsqrt(total) * tf.exp(-d2 / (2.0 * total))

    def __call__(self, state, plan):
        cache = self.fit()
        spread, discount, total = 0.0, 1.0, 0.0
        states = []
        for t in range(HORIZON):
            delta, var = self.predict(cache, state, plan[:, t])
            state += delta
            spread += var
            total += discount * self.cost(state, spread)
            discount *= 0.95
            states.append(state)
        return tf.stack(states, 1), spread, total


def make():
    return DeepKernelDynamics(seed=4)


def inputs(seed):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(6, STATE)).astype("float32"),
            rng.normal(size=(6, HORIZON, ACT)).astype("float32"))


def load(ported, original):
    s = {k: v.detach().numpy() for k, v in original.state_dict().items()}
    for i in range(3):
        ported.net.ws[i].assign(s[f"features.net.{2 * i}.weight"].T)
        ported.net.bs[i].assign(s[f"features.net.{2 * i}.bias"])
    ported.x_mean.assign(s["features.loc"])
    ported.x_std.assign(s["features.std"])
    ported.raw_lengthscales.assign(s["kernel.raw_lengthscale"][:, 0])
    ported.raw_variances.assign(s["kernel.raw_variance"][:, 0, 0])
    ported.log_noise.assign(s["log_noise"][:, 0, 0])
    ported.data_state.assign(s["train_state"])
    ported.data_action.assign(s["train_action"])
    ported.data_delta.assign(s["train_delta"])
