"""Ensemble Q network with random priors, Keras 3."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "tensorflow"


class BootQ(keras.Model):
    def __init__(self, n_actions=5, heads=6, beta=3.0, kappa=0.7, gamma=0.99):
        super().__init__()
        self.n_actions, self.n_heads, self.beta, self.kappa, self.gamma = n_actions, heads, beta, kappa, gamma
        self.ln_in = layers.LayerNormalization(epsilon=1e-5)
        self.trunk1 = layers.Dense(48, activation="elu")
        self.trunk2 = layers.Dense(48)
        self.ln_trunk = layers.LayerNormalization(epsilon=1e-5)
        self.hidden = [layers.Dense(24, activation="elu", name=f"hidden_{k}") for k in range(heads)]
        self.out = [layers.Dense(n_actions, name=f"q_{k}") for k in range(heads)]
        self.prior1 = layers.Dense(32, activation="elu", trainable=False)
        self.prior2 = layers.Dense(32, activation="relu", trainable=False)
        self.prior_out = [layers.Dense(n_actions, trainable=False, name=f"prior_{k}") for k in range(heads)]
        for layer in self.prior_out:
            layer.build((None, 32))

    def call(self, obs, mask, reward, not_done):
        x = self.ln_in(obs)
        feat = ops.relu(self.ln_trunk(self.trunk2(self.trunk1(x))))
        pfeat = self.prior2(self.prior1(x))
        per_head = []
        for k in range(self.n_heads):
            qk = self.out[k](self.hidden[k](feat))
            pk = self.prior_out[k](pfeat)
            per_head.append(qk + self.beta * pk)
        q = ops.stack(per_head, axis=1)

        mu = ops.mean(q, axis=1)
        centred = q - ops.expand_dims(mu, 1)
        sigma = ops.sqrt(ops.sum(ops.square(centred), axis=1) / (self.n_heads - 1))
        score = mu + self.kappa * sigma

        choice = ops.one_hot(ops.argmax(q, axis=-1), self.n_actions)
        votes = ops.mean(choice, axis=1)

        bootstrap = ops.max(q, axis=-1)
        y = reward[:, None] + self.gamma * not_done[:, None] * bootstrap
        delta = mask * (y - ops.mean(q, axis=-1))
        seen = ops.maximum(ops.sum(mask, axis=0), 1.0)
        loss = ops.sum(ops.square(delta), axis=0) / seen
        return q, score, votes, loss


def make(seed=1):
    keras.utils.set_random_seed(seed)
    net = BootQ()
    net(*[ops.convert_to_tensor(a) for a in inputs(0)])
    rng = np.random.default_rng(seed)
    for w in net.weights:
        if len(w.shape) == 1:
            w.assign(w + rng.normal(0, 0.2, w.shape))
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    b = 8
    obs = rng.normal(0.3, 2.0, (b, 10)).astype(np.float32)
    mask = (rng.random((b, 6)) < 0.5).astype(np.float32)
    reward = rng.normal(size=b).astype(np.float32)
    not_done = (rng.random(b) > 0.25).astype(np.float32)
    return obs, mask, reward, not_done


def load(ported, original):
    def dense(layer, lin):
        layer.set_weights([lin.weight.detach().numpy().T, lin.bias.detach().numpy()])

    def norm(layer, ln):
        layer.set_weights([ln.weight.detach().numpy(), ln.bias.detach().numpy()])

    norm(ported.ln_in, original.obs_norm)
    norm(ported.ln_trunk, original.core_norm)
    dense(ported.trunk1, original.core[0])
    dense(ported.trunk2, original.core[2])
    dense(ported.prior1, original.prior_core[0])
    dense(ported.prior2, original.prior_core[2])
    for k in range(ported.n_heads):
        dense(ported.hidden[k], original.heads[k][0])
        dense(ported.out[k], original.heads[k][2])
        dense(ported.prior_out[k], original.prior_heads[k])
