"""The recurrent PPO agent in Keras 3."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
HIDDEN, ACTIONS, OBS = 24, 5, 9


class RunningNorm(layers.Layer):
    def build(self, shape):
        self.mean = self.add_weight(shape=shape[-1:], initializer="zeros", trainable=False)
        self.var = self.add_weight(shape=shape[-1:], initializer="ones", trainable=False)

    def call(self, x):
        x = (x - self.mean) * ops.rsqrt(self.var + 1e-8)
        return ops.clip(x, -2.0, 2.0)


class Agent(keras.Model):
    def __init__(self):
        super().__init__()
        self.norm = RunningNorm()
        self.enc = layers.Dense(HIDDEN, activation="tanh")
        self.act_emb = layers.Embedding(ACTIONS + 1, 8)
        self.gru = layers.GRUCell(HIDDEN, reset_after=True)
        self.pi_h = layers.Dense(32, activation="tanh")
        self.pi = layers.Dense(ACTIONS)
        self.v_h = layers.Dense(32, activation="tanh")
        self.v = layers.Dense(1)

    def unroll(self, x, starts, state):
        keep = 1.0 - starts
        outs = []
        for t in range(x.shape[1]):
            state = state * keep[:, t : t + 1]
            out, state = self.gru(x[:, t], state)
            outs.append(out)
        return ops.stack(outs, axis=1), state

    def call(self, inputs):
        obs, prev, starts, legal, state = inputs
        feats = self.enc(self.norm(obs))
        feats = ops.concatenate([feats, self.act_emb(prev)], axis=-1)
        core, state = self.unroll(feats, starts, state)
        logits = self.pi(self.pi_h(core))
        logits = ops.where(legal, logits, -1e9)
        probs = ops.softmax(logits, axis=-1)
        log_probs = ops.log_softmax(logits, axis=-1)
        entropy = -ops.sum(probs * log_probs, axis=-1)
        values = self.v(self.v_h(core))[..., 0]
        return probs, entropy, values, state


def make():
    net = Agent()
    net([ops.convert_to_tensor(a) for a in inputs(0)])
    rng = np.random.default_rng(5)
    for w in net.weights:
        w.assign(0.3 * rng.normal(size=w.shape))
    net.norm.var.assign(0.5 + rng.random(OBS))
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    n, t = 5, 6
    obs = (2 * rng.normal(size=(n, t, 9))).astype("float32")
    prev = rng.integers(1, 6, size=(n, t))
    starts = (rng.random((n, t)) < 0.3).astype("float32")
    prev = np.where(starts > 0, 0, prev).astype("int64")
    legal = rng.random((n, t, 5)) < 0.7
    legal[..., 2] = True
    h = rng.normal(size=(n, 24)).astype("float32") * 0.5
    return obs, prev, starts, legal, h


def _dense(layer, linear):
    layer.set_weights([linear.weight.detach().numpy().T, linear.bias.detach().numpy()])


def load(ported, original):
    ported.norm.set_weights([original.obs_mean.numpy(), original.obs_var.numpy()])
    _dense(ported.enc, original.encoder)
    ported.act_emb.set_weights([original.prev_action.weight.detach().numpy()])
    ours = []
    for name in ("weight_ih", "weight_hh"):
        r, z, n = np.split(getattr(original.cell, name).detach().numpy(), 3)
        ours.append(np.concatenate([z, r, n]).T)
    biases = []
    for name in ("bias_ih", "bias_hh"):
        r, z, n = np.split(getattr(original.cell, name).detach().numpy(), 3)
        biases.append(np.concatenate([z, r, n]))
    ported.gru.set_weights([*ours, np.stack(biases)])
    _dense(ported.pi_h, original.actor[0])
    _dense(ported.pi, original.actor[2])
    _dense(ported.v_h, original.critic[0])
    _dense(ported.v, original.critic[2])
