"""BCQ in Keras 3."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "tensorflow"
S, A, Z, H, N = 11, 3, 6, 32, 5
LIMIT = 1.5


def mlp(dims, name):
    net = keras.Sequential(name=name)
    for d in dims[:-1]:
        net.add(layers.Dense(d, activation="relu"))
    net.add(layers.Dense(dims[-1]))
    return net


class BCQ(keras.Model):
    def __init__(self, phi=0.2, **kw):
        super().__init__(**kw)
        self.phi = phi
        self.enc1 = layers.Dense(H, activation="relu")
        self.enc2 = layers.Dense(H, activation="relu")
        self.to_mean = layers.Dense(Z)
        self.to_log_std = layers.Dense(Z)
        self.decoder = mlp([H, H, A], "decoder")
        self.perturbation = mlp([H, H, A], "perturbation")
        self.q_a = mlp([H, H, 1], "q_a")
        self.q_b = mlp([H, H, 1], "q_b")

    def decode(self, state, z):
        return LIMIT * ops.tanh(self.decoder(ops.concatenate([state, z], -1)))

    def encode(self, state, action):
        h = self.enc2(self.enc1(ops.concatenate([state, action], -1)))
        log_std = ops.clip(self.to_log_std(h), -4.0, 15.0)
        return self.to_mean(h), ops.exp(log_std)

    def perturb(self, state, action):
        delta = ops.tanh(self.perturbation(ops.concatenate([state, action], -1)))
        return ops.clip(action + self.phi * LIMIT * delta, -LIMIT, LIMIT)

    def call(self, inputs):
        state, action, eps, noise = inputs
        mean, std = self.encode(state, action)
        recon = self.decode(state, mean + std * eps)

        n = noise.shape[1]
        tiled = ops.repeat(state, n, axis=0)
        latent = ops.clip(noise, -0.5, 0.5)
        latent = ops.reshape(latent, (-1, Z))
        proposals = self.perturb(tiled, self.decode(tiled, latent))
        sa = ops.concatenate([tiled, proposals], -1)
        qs = ops.concatenate([self.q_a(sa), self.q_b(sa)], -1)
        soft = 0.75 * ops.min(qs, -1) + 0.25 * ops.max(qs, -1)
        soft = ops.reshape(soft, (-1, n))
        pick = ops.one_hot(ops.argmax(soft, -1), n)
        chosen = ops.sum(ops.reshape(proposals, (-1, n, A)) * pick[..., None], 1)
        return recon, mean, std, chosen, ops.max(soft, -1)


def make(seed=1):
    m = BCQ()
    m([np.zeros((1, S), "f"), np.zeros((1, A), "f"), np.zeros((1, Z), "f"), np.zeros((1, N, Z), "f")])
    r = np.random.RandomState(seed)
    for v in m.weights:
        v.assign(r.randn(*v.shape).astype("f") * (1.2 / v.shape[0] ** 0.5 if len(v.shape) > 1 else 0.1))
    return m


def inputs(seed=0):
    r = np.random.RandomState(seed)
    return (r.randn(6, S).astype("f"), r.uniform(-1, 1, (6, A)).astype("f"),
            r.randn(6, Z).astype("f"), r.randn(6, N, Z).astype("f"))


def load(ported, original):
    def put(dense, lin):
        dense.set_weights([lin.weight.detach().numpy().T, lin.bias.detach().numpy()])
    v, a, c = original.vae, original.actor, original.critic
    for d, l in [(ported.enc1, v.e1), (ported.enc2, v.e2), (ported.to_mean, v.mean), (ported.to_log_std, v.log_std)]:
        put(d, l)
    for net, ls in [(ported.decoder, (v.d1, v.d2, v.d3)), (ported.perturbation, (a.l1, a.l2, a.l3)),
                    (ported.q_a, (c.l1, c.l2, c.l3)), (ported.q_b, (c.l4, c.l5, c.l6))]:
        for d, l in zip(net.layers, ls):
            put(d, l)
