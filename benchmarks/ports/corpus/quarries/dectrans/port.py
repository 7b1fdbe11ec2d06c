"""Decision Transformer in Keras 3, using the stock MultiHeadAttention layer."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "tensorflow"
K, D, HEADS, MAX_T = 6, 48, 4, 50


class GPTBlock(layers.Layer):
    def __init__(self, dim, heads, **kw):
        super().__init__(**kw)
        self.norm1 = layers.LayerNormalization(epsilon=1e-5)
        self.norm2 = layers.LayerNormalization(epsilon=1e-5)
        self.mha = layers.MultiHeadAttention(heads, dim // heads)
        self.fc = layers.Dense(4 * dim, activation="gelu")
        self.out = layers.Dense(dim)

    def call(self, x, attention_mask):
        y = self.norm1(x)
        x = x + self.mha(y, y, attention_mask=attention_mask)
        return x + self.out(self.fc(self.norm2(x)))


class DecisionTransformer(keras.Model):
    def __init__(self, state_dim=11, action_dim=3, **kw):
        super().__init__(**kw)
        self.time = layers.Embedding(MAX_T, D)
        self.from_return = layers.Dense(D)
        self.from_state = layers.Dense(D)
        self.from_action = layers.Dense(D)
        self.norm = layers.LayerNormalization(epsilon=1e-5)
        self.block0 = GPTBlock(D, HEADS)
        self.block1 = GPTBlock(D, HEADS)
        self.to_action = layers.Dense(action_dim, activation="tanh")
        self.to_state = layers.Dense(state_dim)
        self.to_return = layers.Dense(1)

    def call(self, states, actions, rtg, timesteps, mask):
        n = states.shape[1]
        t = self.time(timesteps)
        streams = [
            self.from_return(rtg) + t,
            self.from_state(states) + t,
            self.from_action(actions) + t,
        ]
        tokens = ops.stack(streams, axis=2)
        x = self.norm(ops.reshape(tokens, (-1, 3 * n, D)))

        keys = ops.repeat(ops.cast(mask, "bool"), 3, axis=1)
        idx = ops.arange(3 * n)
        causal = idx[:, None] >= idx[None, :]
        allowed = ops.logical_and(causal[None], keys[:, None, :])
        x = self.block0(x, allowed)
        x = self.block1(x, allowed)

        x = ops.reshape(x, (-1, n, 3, D))
        after_state = x[:, :, 1]
        after_action = x[:, :, 2]
        return self.to_action(after_state), self.to_state(after_action), self.to_return(after_action)


def make():
    keras.utils.set_random_seed(9)
    model = DecisionTransformer()
    model(*inputs(0))
    rng = np.random.default_rng(9)
    for w in model.weights:
        if w.path.endswith(("beta", "bias")):
            w.assign(rng.normal(size=w.shape) * 0.1)
        elif w.path.endswith("gamma"):
            w.assign(1 + rng.normal(size=w.shape) * 0.2)
    return model


def _linear(layer, lin):
    layer.set_weights([lin.weight.detach().numpy().T, lin.bias.detach().numpy()])


def _norm(layer, ln):
    layer.set_weights([ln.weight.detach().numpy(), ln.bias.detach().numpy()])


def load(ported, original):
    ported.time.set_weights([original.embed_t.weight.detach().numpy()])
    _linear(ported.from_return, original.embed_r)
    _linear(ported.from_state, original.embed_s)
    _linear(ported.from_action, original.embed_a)
    _norm(ported.norm, original.embed_ln)
    for mine, theirs in zip((ported.block0, ported.block1), original.blocks):
        _norm(mine.norm1, theirs.ln_1)
        _norm(mine.norm2, theirs.ln_2)
        _linear(mine.fc, theirs.mlp[0])
        _linear(mine.out, theirs.mlp[2])
        w = theirs.attn.qkv.weight.detach().numpy().reshape(3, HEADS, D // HEADS, D)
        b = theirs.attn.qkv.bias.detach().numpy().reshape(3, HEADS, D // HEADS)
        weights = []
        for i in range(3):
            weights += [w[i].transpose(2, 0, 1), b[i]]
        proj = theirs.attn.proj
        weights += [proj.weight.detach().numpy().T.reshape(HEADS, D // HEADS, D),
                    proj.bias.detach().numpy()]
        # keras keeps query, key, value, output in creation order
        order = [mine.mha._query_dense, mine.mha._key_dense, mine.mha._value_dense, mine.mha._output_dense]
        for i, dense in enumerate(order):
            dense.set_weights(weights[2 * i:2 * i + 2])
    _linear(ported.to_action, original.predict_action)
    _linear(ported.to_state, original.predict_state)
    _linear(ported.to_return, original.predict_return)


def inputs(seed):
    rng = np.random.default_rng(seed)
    B, K = 4, 6
    lengths = np.array([K, 3, 5, 4])
    mask = (np.arange(K)[None] >= K - lengths[:, None]).astype(np.float32)
    start = rng.integers(0, MAX_T - K, size=B)
    steps = np.maximum(np.arange(K)[None] - (K - lengths)[:, None], 0)
    timesteps = ((start[:, None] + steps) * mask).astype(np.int64)
    states = (rng.normal(size=(B, K, 11)) * mask[..., None]).astype(np.float32)
    actions = (np.tanh(rng.normal(size=(B, K, 3))) * mask[..., None]).astype(np.float32)
    rtg = (rng.uniform(0.5, 3.6, size=(B, K, 1)) * mask[..., None]).astype(np.float32)
    return states, actions, rtg, timesteps, mask
