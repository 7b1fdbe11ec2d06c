"""MAAC critic as a subclassed Keras model; the heads are one fused projection."""
import math
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "tensorflow"


def lrelu(x):
    return ops.leaky_relu(x, negative_slope=0.01)


class AgentNet(layers.Layer):
    """Everything that belongs to one agent."""

    def __init__(self, hidden, n_actions, **kw):
        super().__init__(**kw)
        self.norm_sa = layers.BatchNormalization(epsilon=1e-5)
        self.norm_s = layers.BatchNormalization(epsilon=1e-5)
        self.embed_sa = layers.Dense(hidden)
        self.embed_s = layers.Dense(hidden)
        self.critic_hidden = layers.Dense(hidden)
        self.critic_out = layers.Dense(n_actions)

    def encode(self, s, a, training):
        sa = ops.concatenate([s, a], axis=-1)
        e_sa = lrelu(self.embed_sa(self.norm_sa(sa, training=training)))
        e_s = lrelu(self.embed_s(self.norm_s(s, training=training)))
        return e_sa, e_s

    def call(self, s, context):
        h = lrelu(self.critic_hidden(ops.concatenate([s, context], axis=-1)))
        return self.critic_out(h)


class MAACCritic(keras.Model):
    def __init__(self, n_agents=3, n_actions=4, hidden=32, n_heads=2):
        super().__init__()
        self.n, self.heads, self.dim = n_agents, n_heads, hidden // n_heads
        self.agents = [AgentNet(hidden, n_actions, name=f"agent{i}") for i in range(n_agents)]
        self.to_key = layers.Dense(hidden, use_bias=False)
        self.to_query = layers.Dense(hidden, use_bias=False)
        self.to_value = layers.Dense(hidden)

    def split(self, x):
        """B, N, hidden -> B, heads, N, dim"""
        return ops.transpose(ops.reshape(x, (-1, self.n, self.heads, self.dim)), (0, 2, 1, 3))

    def call(self, obs, act, pi, training=False):
        encoded = [net.encode(obs[:, i], act[:, i], training) for i, net in enumerate(self.agents)]
        e_sa = ops.stack([e for e, _ in encoded], axis=1)
        e_s = ops.stack([e for _, e in encoded], axis=1)

        k = self.split(self.to_key(e_sa))
        q = self.split(self.to_query(e_s))
        v = self.split(lrelu(self.to_value(e_sa)))
        scores = ops.matmul(q, ops.transpose(k, (0, 1, 3, 2))) / math.sqrt(self.dim)
        scores = scores - 1e9 * ops.eye(self.n)               # nobody attends to itself
        attn = ops.softmax(scores, axis=-1)                   # B, heads, N, N
        ctx = ops.transpose(ops.matmul(attn, v), (0, 2, 1, 3))
        ctx = ops.reshape(ctx, (-1, self.n, self.heads * self.dim))

        all_q = ops.stack([net(e_s[:, i], ctx[:, i]) for i, net in enumerate(self.agents)], axis=1)
        chosen = ops.sum(all_q * act, axis=-1)
        advantage = chosen - ops.sum(all_q * pi, axis=-1)
        entropy = -ops.sum(attn * ops.log(attn + 1e-8), axis=-1)
        reg = ops.mean(entropy, axis=(0, 1))
        return chosen, advantage, reg


def make(seed=1):
    keras.utils.set_random_seed(seed)
    net = MAACCritic()
    net(*[ops.convert_to_tensor(x) for x in inputs(0)])
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    b = 6
    obs = rng.normal(size=(b, 3, 10)).astype(np.float32)
    act = np.eye(4, dtype=np.float32)[rng.integers(0, 4, (b, 3))]
    pi = rng.dirichlet(np.ones(4), (b, 3)).astype(np.float32)
    return obs, act, pi


def load(ported, original):
    for i, net in enumerate(ported.agents):
        for bn, src in ((net.norm_sa, original.bn_sa[i]), (net.norm_s, original.bn_s[i])):
            bn.set_weights([src.gamma.array, src.beta.array, src.avg_mean, src.avg_var])
        for dense, src in ((net.embed_sa, original.enc_sa[i]), (net.embed_s, original.enc_s[i]),
                           (net.critic_hidden, original.q1[i]), (net.critic_out, original.q2[i])):
            dense.set_weights([src.W.array.T, src.b.array])
    cat = lambda links: np.concatenate([l.W.array.T for l in links], axis=1)
    ported.to_key.set_weights([cat(original.key)])
    ported.to_query.set_weights([cat(original.sel)])
    ported.to_value.set_weights([cat(original.val), np.concatenate([l.b.array for l in original.val])])
