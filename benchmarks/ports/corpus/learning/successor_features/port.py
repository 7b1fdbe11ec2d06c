"""Successor features and GPI with tf.function-friendly code."""
import tensorflow as tf

FRAMEWORK = "tensorflow"


def glorot(name, n_in, n_out):
    limit = (6.0 / (n_in + n_out)) ** 0.5
    return tf.Variable(tf.random.uniform((n_in, n_out), -limit, limit), name=name)


class Affine(tf.Module):
    def __init__(self, n_in, n_out, name=None):
        super().__init__(name=name)
        self.w = glorot("w", n_in, n_out)
        self.b = tf.Variable(tf.zeros(n_out), name="b")

    def __call__(self, x):
        return tf.einsum("...i,io->...o", x, self.w) + self.b


def layer_norm(x, gain, shift):
    mean, var = tf.nn.moments(x, axes=[-1], keepdims=True)
    return tf.nn.batch_normalization(x, mean, var, shift, gain, 1e-5)


class SuccessorFeatures(tf.Module):
    def __init__(self, state_dim=8, feat_dim=5, hidden=24, n_actions=4, gamma=0.9):
        super().__init__()
        self.n_actions, self.feat_dim, self.gamma = n_actions, feat_dim, gamma
        self.phi_in = glorot("phi_in", state_dim, hidden)
        self.phi_out = glorot("phi_out", hidden, feat_dim)
        self.state = Affine(state_dim, hidden)
        self.gain = tf.Variable(tf.ones(hidden))
        self.shift = tf.Variable(tf.zeros(hidden))
        self.task = Affine(feat_dim, hidden)
        self.trunk = Affine(2 * hidden, hidden)
        self.base = Affine(hidden, feat_dim)
        self.advantage = Affine(hidden, n_actions * feat_dim)

    def phi(self, s):
        x = tf.nn.elu(s @ self.phi_in) @ self.phi_out
        # epsilon is a bound on the squared norm here
        return tf.math.l2_normalize(x, axis=-1, epsilon=1e-4)

    def psi(self, s, z):
        """s: [batch, states], z: [batch, policies, features]."""
        state = tf.tanh(layer_norm(self.state(s), self.gain, self.shift))
        state = tf.repeat(state[:, None], tf.shape(z)[1], axis=1)
        z = z / (tf.norm(z, axis=-1, keepdims=True) + 1e-6)
        h = tf.concat([state, tf.nn.softplus(self.task(z))], axis=-1)
        h = tf.nn.relu(self.trunk(h))
        shape = tf.concat([tf.shape(h)[:-1], [self.n_actions, self.feat_dim]], axis=0)
        advantage = tf.reshape(self.advantage(h), shape)
        advantage -= tf.reduce_mean(advantage, axis=-2, keepdims=True)
        return self.base(h)[..., None, :] + advantage

    def gpi(self, s, policies, w):
        psi = self.psi(s, policies)
        q = tf.linalg.matvec(psi, w[:, None])
        return tf.reduce_max(q, axis=1), psi

    def __call__(self, s, s_next, w, policies, done):
        q, _ = self.gpi(s, policies, w)
        q_next, psi_next = self.gpi(s_next, policies, w)
        best = tf.argmax(q_next, axis=-1)
        boot = tf.gather(psi_next, best, axis=2, batch_dims=1)
        phi = self.phi(s_next)
        live = self.gamma * (1.0 - done)
        target = phi[:, None] + live[:, None, None] * boot
        return q, target, tf.reduce_sum(phi * w, axis=-1)


def make(seed=50):
    tf.random.set_seed(seed)
    return SuccessorFeatures()


def load(model, reference):
    def value(p):
        return p.detach().numpy()

    def affine(target, linear):
        target.w.assign(value(linear.weight).T)
        target.b.assign(value(linear.bias))

    model.phi_in.assign(value(reference.phi.net[0].weight).T)
    model.phi_out.assign(value(reference.phi.net[2].weight).T)
    psi = reference.psi
    affine(model.state, psi.state)
    model.gain.assign(value(psi.norm.weight))
    model.shift.assign(value(psi.norm.bias))
    affine(model.task, psi.task.fc)
    affine(model.trunk, psi.trunk)
    affine(model.base, psi.shared)
    affine(model.advantage, psi.advantage)
