"""TD-MPC2's world model as plain tf.Modules; the Q ensemble is one batched network."""
import math

import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
N_OBS, N_ACT, STEPS, N_LATENT, WIDTH, N_BINS, ENSEMBLE = 18, 3, 3, 32, 40, 21, 5
GAMMA = 0.95


class Dense(tf.Module):
    """Affine map, optionally for a whole ensemble at once (leading axis of the weights)."""

    def __init__(self, rng, n_in, n_out, lead=()):
        super().__init__()
        self.w = tf.Variable(rng.normal(0, n_in**-0.5, (*lead, n_in, n_out)).astype("float32"))
        self.b = tf.Variable(rng.normal(0, 0.1, (*lead, n_out)).astype("float32"))

    def __call__(self, x):
        bias = self.b[..., tf.newaxis, :] if len(self.w.shape) == 3 else self.b
        return tf.matmul(x, self.w) + bias


class Normed(Dense):
    def __init__(self, rng, n_in, n_out, act, lead=()):
        super().__init__(rng, n_in, n_out, lead)
        self.gamma = tf.Variable(rng.uniform(0.7, 1.3, (*lead, n_out)).astype("float32"))
        self.beta = tf.Variable(rng.normal(0, 0.1, (*lead, n_out)).astype("float32"))
        self.act = act

    def __call__(self, x):
        y = super().__call__(x)
        mean, var = tf.nn.moments(y, axes=[-1], keepdims=True)
        y = (y - mean) * tf.math.rsqrt(var + 1e-5)
        gamma, beta = self.gamma, self.beta
        if len(self.w.shape) == 3:
            gamma, beta = gamma[:, tf.newaxis], beta[:, tf.newaxis]
        return self.act(y * gamma + beta)


def mish(x):
    return x * tf.tanh(tf.math.softplus(x))


def simnorm(x):
    groups = tf.reshape(x, [-1, N_LATENT // 8, 8])
    return tf.reshape(tf.nn.softmax(groups, axis=-1), tf.shape(x))


class Mlp(tf.Module):
    def __init__(self, rng, n_in, n_out, act=None, lead=()):
        super().__init__()
        self.first = Normed(rng, n_in, WIDTH, mish, lead)
        self.second = Normed(rng, WIDTH, WIDTH, mish, lead)
        self.last = Normed(rng, WIDTH, n_out, act, lead) if act else Dense(rng, WIDTH, n_out, lead)

    def __call__(self, x):
        return self.last(self.second(self.first(x)))


class Planner(tf.Module):
    def __init__(self, seed):
        super().__init__()
        rng = np.random.default_rng(seed)
        self.enc = [Normed(rng, N_OBS, WIDTH, mish), Normed(rng, WIDTH, N_LATENT, simnorm)]
        self.dyn = Mlp(rng, N_LATENT + N_ACT, N_LATENT, simnorm)
        self.rew = Mlp(rng, N_LATENT + N_ACT, N_BINS)
        self.policy = Mlp(rng, N_LATENT, 2 * N_ACT)
        self.critics = Mlp(rng, N_LATENT + N_ACT, N_BINS, lead=(ENSEMBLE,))
        self.support = tf.linspace(-4.0, 4.0, N_BINS)

    def expectation(self, logits):
        x = tf.tensordot(tf.nn.softmax(logits), self.support, axes=1)
        x = tf.sign(x) * tf.math.expm1(tf.abs(x))
        return x[..., tf.newaxis]

    def act(self, z, noise):
        mean, spread = tf.split(self.policy(z), 2, axis=-1)
        log_std = -5.0 + 0.5 * 6.0 * (tf.tanh(spread) + 1.0)
        logp = -0.5 * noise**2 - log_std - 0.5 * math.log(2 * math.pi)
        a = tf.tanh(mean + tf.exp(log_std) * noise)
        logp -= tf.math.log(tf.nn.relu(1.0 - a**2) + 1e-6)
        return a, tf.reduce_sum(logp, axis=-1, keepdims=True)

    def __call__(self, obs, plan, noise):
        z = self.enc[1](self.enc[0](obs))
        ret, weight = tf.zeros([tf.shape(obs)[0], 1]), 1.0
        for action in tf.unstack(plan, num=STEPS, axis=1):
            joint = tf.concat([z, action], axis=-1)
            ret += weight * self.expectation(self.rew(joint))
            z = self.dyn(joint)
            weight *= GAMMA
        a, logp = self.act(z, noise)
        logits = self.critics(tf.concat([z, a], axis=-1)[tf.newaxis])
        chosen = self.expectation(tf.gather(logits, [1, 3], axis=0))
        bootstrap = tf.reduce_min(chosen, axis=0)
        return {"value": ret + weight * bootstrap, "latent": z, "action": a, "log_pi": logp}


def make(seed=8):
    return Planner(seed)


def inputs(seed=0):
    r = np.random.default_rng(seed)
    o = r.normal(size=(5, N_OBS)) * 1.5
    plan = r.uniform(-1, 1, size=(5, STEPS, N_ACT))
    noise = r.normal(size=(5, N_ACT))
    return o.astype("float32"), plan.astype("float32"), noise.astype("float32")


def load(ported, original):
    def put(dense, linears):
        linears = linears if isinstance(linears, list) else [linears]
        squeeze = (lambda a: a) if len(dense.w.shape) == 3 else (lambda a: a[0])
        get = lambda f: squeeze(np.stack([f(l).detach().numpy() for l in linears]))
        dense.w.assign(get(lambda l: l.weight.T))
        dense.b.assign(get(lambda l: l.bias))
        if isinstance(dense, Normed):
            dense.gamma.assign(get(lambda l: l.ln.weight))
            dense.beta.assign(get(lambda l: l.ln.bias))

    for mine, theirs in zip(ported.enc, original.encoder):
        put(mine, theirs)
    nets = ((ported.dyn, original.dynamics), (ported.rew, original.reward), (ported.policy, original.pi_net))
    for mine, theirs in nets:
        for k, part in enumerate((mine.first, mine.second, mine.last)):
            put(part, theirs[k])
    for k, part in enumerate((ported.critics.first, ported.critics.second, ported.critics.last)):
        put(part, [q[k] for q in original.qs])
