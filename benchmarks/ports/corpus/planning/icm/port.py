"""Curiosity bonuses as TensorFlow functions over a dict of variables (frames stay NCHW outside)."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
A, K = 5, 20


class Bonus:
    """p maps names as "phi/conv1/w" to variables; nothing here is a layer."""

    def __init__(self):
        rng = np.random.default_rng(12)
        self.p = {}

        def var(name, *shape):
            start = np.ones(shape) if name.endswith("_var") else rng.normal(0, 0.1, shape)
            self.p[name] = tf.Variable(np.float32(start), name=name.replace("/", "_"))

        def dense(name, i, o):
            var(name + "/w", i, o), var(name + "/b", o)

        for tower, out in (("phi", K), ("target", 16), ("predictor", 16)):
            var(tower + "/conv1/w", 3, 3, 2, 8), var(tower + "/conv1/b", 8)
            var(tower + "/conv2/w", 3, 3, 4, 8), var(tower + "/conv2/b", 8)
            dense(tower + "/fc", 72, out)
        for name, i, o in (("inv1", 2 * K, 32), ("inv2", 32, A), ("fwd_in", K + A, 32), ("fwd_0", 32 + A, 32),
                           ("fwd_1", 32 + A, 32), ("fwd_out", 32, K), ("tail", 16, 16)):
            dense(name, i, o)
        for name in ("obs_mean", "obs_var"):
            var(name, 13, 13, 2)
        for name in ("phi_mean", "phi_var"):
            var(name, K)
        var("return_var")

    def dense(self, name, *xs):
        x = xs[0] if len(xs) == 1 else tf.concat(xs, axis=-1)
        return tf.nn.bias_add(tf.matmul(x, self.p[name + "/w"]), self.p[name + "/b"])

    def tower(self, name, x, slope):
        p = self.p
        x = tf.nn.conv2d(x, p[name + "/conv1/w"], strides=2, padding="VALID") + p[name + "/conv1/b"]
        x = tf.nn.leaky_relu(x, slope)
        halves = zip(tf.split(x, 2, axis=-1), tf.split(p[name + "/conv2/w"], 2, axis=-1))
        x = tf.concat([tf.nn.conv2d(part, w, 1, "SAME") for part, w in halves], axis=-1) + p[name + "/conv2/b"]
        x = tf.nn.leaky_relu(x, slope)
        x = tf.nn.avg_pool2d(x, 2, 2, "VALID")
        flat = tf.reshape(tf.transpose(x, (0, 3, 1, 2)), (-1, 72))
        return self.dense(name + "/fc", flat)

    def phi(self, frames):
        x = self.tower("phi", frames, 0.01)
        return tf.nn.batch_normalization(x, self.p["phi_mean"], self.p["phi_var"], None, None, 1e-5)

    def forward_model(self, phi, action):
        x = tf.nn.leaky_relu(self.dense("fwd_in", phi, action), 0.01)
        for i in range(2):
            x += tf.nn.leaky_relu(self.dense(f"fwd_{i}", x, action), 0.01)
        return self.dense("fwd_out", x)

    def rnd(self, frames):
        x = (frames - self.p["obs_mean"]) * tf.math.rsqrt(self.p["obs_var"] + 1e-8)
        x = tf.clip_by_value(x, -2.5, 2.5)
        target = tf.stop_gradient(self.tower("target", x, 0.2))
        guess = self.dense("tail", tf.nn.elu(self.tower("predictor", x, 0.2)))
        return tf.reduce_mean(tf.math.squared_difference(guess, target), axis=-1) / tf.sqrt(self.p["return_var"])

    def __call__(self, obs, next_obs, action):
        obs, next_obs = (tf.transpose(o, (0, 2, 3, 1)) for o in (obs, next_obs))
        phi, phi_next = self.phi(obs), self.phi(next_obs)
        logits = self.dense("inv2", tf.nn.relu(self.dense("inv1", phi, phi_next)))
        delta = self.forward_model(phi, action) - phi_next
        forward_error = tf.nn.l2_loss(delta) if delta.shape.rank == 1 else tf.reduce_sum(delta * delta, -1) / 2.0
        smooth = action * 0.9 + 0.1 / A
        inverse = tf.nn.softmax_cross_entropy_with_logits(labels=smooth, logits=logits)
        bonus = 0.2 * forward_error + self.rnd(next_obs)
        return bonus, logits, 0.8 * inverse + 0.2 * forward_error


def make():
    return Bonus()


def load(port, ref):
    n = lambda t: t.detach().numpy()
    p = port.p

    def put(name, lin):
        p[name + "/w"].assign(n(lin.weight).T)
        p[name + "/b"].assign(n(lin.bias))

    for tower in ("phi", "target", "predictor"):
        seq = getattr(ref, tower).net
        for name, conv in (("conv1", seq[0]), ("conv2", seq[2])):
            p[f"{tower}/{name}/w"].assign(n(conv.weight).transpose(2, 3, 1, 0))
            p[f"{tower}/{name}/b"].assign(n(conv.bias))
        put(tower + "/fc", seq[6])
    put("inv1", ref.inverse[0]), put("inv2", ref.inverse[2])
    put("fwd_in", ref.forward_in), put("fwd_0", ref.forward_res[0]), put("fwd_1", ref.forward_res[1])
    put("fwd_out", ref.forward_out), put("tail", ref.predictor_tail[1])
    p["obs_mean"].assign(n(ref.obs_mean).transpose(1, 2, 0)), p["obs_var"].assign(n(ref.obs_var).transpose(1, 2, 0))
    p["phi_mean"].assign(n(ref.phi_norm.running_mean)), p["phi_var"].assign(n(ref.phi_norm.running_var))
    p["return_var"].assign(n(ref.return_var))
