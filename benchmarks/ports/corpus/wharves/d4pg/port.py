"""D4PG in plain TensorFlow modules; the projection is the dense "triangle kernel" of the Acme code."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
OBS, ACT, ATOMS = 14, 4, 21
VMIN, VMAX = -6.0, 6.0


class Linear(tf.Module):
    def __init__(self, n_in, n_out, rng, name=None):
        super().__init__(name=name)
        self.w = tf.Variable(rng.randn(n_in, n_out).astype("f") * 1.3 / n_in ** 0.5)
        self.b = tf.Variable(rng.randn(n_out).astype("f") * 0.2)

    def __call__(self, x):
        return tf.matmul(x, self.w) + self.b


class Norm(tf.Module):
    def __init__(self, n, rng, name=None):
        super().__init__(name=name)
        self.gamma = tf.Variable(rng.uniform(0.6, 1.4, n).astype("f"))
        self.beta = tf.Variable(rng.randn(n).astype("f") * 0.2)

    def __call__(self, x):
        mu, var = tf.nn.moments(x, axes=[-1], keepdims=True)
        return tf.nn.batch_normalization(x, mu, var, self.beta, self.gamma, 1e-5)


class Policy(tf.Module):
    def __init__(self, rng, name=None):
        super().__init__(name=name)
        self.l1, self.n1 = Linear(OBS, 40, rng), Norm(40, rng)
        self.l2, self.n2 = Linear(40, 24, rng), Norm(24, rng)
        self.l3 = Linear(24, ACT, rng)

    def __call__(self, obs):
        h = tf.nn.elu(self.n1(self.l1(obs)))
        h = tf.nn.elu(self.n2(self.l2(h)))
        return tf.tanh(self.l3(h))


class CategoricalCritic(tf.Module):
    def __init__(self, rng, name=None):
        super().__init__(name=name)
        self.l1, self.n1 = Linear(OBS, 40, rng), Norm(40, rng)
        self.l2 = Linear(40 + ACT, 24, rng)
        self.l3 = Linear(24, ATOMS, rng)

    def __call__(self, obs, act):
        h = tf.nn.elu(self.n1(self.l1(obs)))
        h = tf.concat([h, act], axis=-1)
        return self.l3(tf.nn.elu(self.l2(h)))


def l2_project(z_p, p, z_q):
    """Cramer projection of (z_p, p) on the fixed atoms z_q."""
    delta = z_q[1] - z_q[0]
    z_p = tf.clip_by_value(z_p, z_q[0], z_q[-1])
    dist = tf.abs(z_p[:, None, :] - z_q[None, :, None]) / delta
    kernel = tf.maximum(1.0 - dist, 0.0)
    return tf.reduce_sum(kernel * p[:, None, :], axis=2)


class Learner(tf.Module):
    def __init__(self, seed):
        super().__init__()
        rng = np.random.RandomState(seed)
        self.policy, self.critic = Policy(rng), CategoricalCritic(rng)
        self.target_policy, self.target_critic = Policy(rng), CategoricalCritic(rng)
        self.atoms = tf.constant(np.linspace(VMIN, VMAX, ATOMS), tf.float32)

    def __call__(self, obs, action, reward, discount, next_obs):
        next_act = self.target_policy(next_obs)
        p_next = tf.nn.softmax(self.target_critic(next_obs, next_act))
        z = reward[:, None] + discount[:, None] * self.atoms
        target = l2_project(z, p_next, self.atoms)
        td = tf.nn.softmax_cross_entropy_with_logits(target, self.critic(obs, action))
        p_pi = tf.nn.softmax(self.critic(obs, self.policy(obs)))
        q_pi = tf.linalg.matvec(p_pi, self.atoms)
        return {"target": target, "td": td, "critic_loss": tf.reduce_mean(td), "actor_loss": -tf.reduce_mean(q_pi)}


def make(seed=3):
    return Learner(seed)


def inputs(seed=0):
    rs = np.random.RandomState(seed)
    done = np.array([0, 1, 0, 0, 0, 1, 0, 0], "float32")
    return (rs.randn(8, OBS).astype("float32"), rs.uniform(-1, 1, (8, ACT)).astype("float32"),
            (rs.randn(8) * 2).astype("float32"), (0.99 * (1 - done)).astype("float32"),
            rs.randn(8, OBS).astype("float32"))


def load(ported, original):
    def lin(a, b):
        a.w.assign(b.weight.detach().numpy().T)
        a.b.assign(b.bias.detach().numpy())

    def norm(a, b):
        a.gamma.assign(b.weight.detach().numpy())
        a.beta.assign(b.bias.detach().numpy())
    for a, b in ((ported.policy, original.actor), (ported.target_policy, original.target_actor)):
        lin(a.l1, b.net[0]), norm(a.n1, b.net[1]), lin(a.l2, b.net[3]), norm(a.n2, b.net[4]), lin(a.l3, b.net[6])
    for a, b in ((ported.critic, original.critic), (ported.target_critic, original.target_critic)):
        lin(a.l1, b.first), norm(a.n1, b.norm), lin(a.l2, b.second), lin(a.l3, b.out)
