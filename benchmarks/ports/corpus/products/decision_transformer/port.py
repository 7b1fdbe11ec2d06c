"""Decision Transformer in Keras 3."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
S_DIM, A_DIM, T, D, HEADS, LAYERS, MAX_EP = 7, 3, 6, 24, 3, 2, 40


class GPTBlock(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.norm1 = layers.LayerNormalization(epsilon=1e-5)
        self.mha = layers.MultiHeadAttention(HEADS, D // HEADS)
        self.norm2 = layers.LayerNormalization(epsilon=1e-5)
        self.up = layers.Dense(2 * D, activation=lambda v: keras.activations.gelu(v, approximate=True))
        self.down = layers.Dense(D)

    def call(self, x, attend):
        y = self.norm1(x)
        x = x + self.mha(y, y, attention_mask=attend)
        return x + self.down(self.up(self.norm2(x)))


class DT(keras.Model):
    def __init__(self):
        super().__init__()
        self.time_table = layers.Embedding(MAX_EP, D)
        self.return_in = layers.Dense(D)
        self.state_in = layers.Dense(D)
        self.action_in = layers.Dense(D)
        self.norm_in = layers.LayerNormalization(epsilon=1e-5)
        self.stack = [GPTBlock() for _ in range(LAYERS)]
        self.norm_out = layers.LayerNormalization(epsilon=1e-5)
        self.action_head = layers.Dense(A_DIM, activation="tanh")
        self.state_head = layers.Dense(S_DIM)
        self.return_head = layers.Dense(1)

    def call(self, states, actions, rtg, timesteps, mask):
        n = 3 * T
        pos = self.time_table(timesteps)
        tok_r = self.return_in(rtg) + pos
        tok_s = self.state_in(states) + pos
        tok_a = self.action_in(actions) + pos
        x = ops.reshape(ops.stack([tok_r, tok_s, tok_a], axis=2), (-1, n, D))
        keys = ops.cast(ops.repeat(mask, 3, axis=1), "bool")
        causal = ops.arange(n)[:, None] >= ops.arange(n)[None, :]
        attend = ops.logical_and(keys[:, None, :], causal[None])
        h = self.norm_in(x)
        for blk in self.stack:
            h = blk(h, attend)
        h = self.norm_out(h)
        h_state, h_action = h[:, 1::3], h[:, 2::3]
        valid = ops.cast(mask, h.dtype)[..., None]
        return {
            "action": self.action_head(h_state) * valid,
            "next_state": self.state_head(h_action) * valid,
            "next_return": self.return_head(h_action) * valid,
        }


def make():
    keras.utils.set_random_seed(5)
    model = DT()
    z = np.zeros
    model(z((1, T, S_DIM), "float32"), z((1, T, A_DIM), "float32"), z((1, T, 1), "float32"),
          z((1, T), "int64"), np.ones((1, T), "int64"))
    return model


def _dense(dst, src):
    dst.set_weights([src.weight.detach().numpy().T, src.bias.detach().numpy()])


def _norm(dst, src):
    dst.set_weights([src.weight.detach().numpy(), src.bias.detach().numpy()])


def load(model, reference):
    model.time_table.set_weights([reference.embed_timestep.weight.detach().numpy()])
    _dense(model.return_in, reference.embed_return)
    _dense(model.state_in, reference.embed_state)
    _dense(model.action_in, reference.embed_action)
    _norm(model.norm_in, reference.embed_ln)
    _norm(model.norm_out, reference.ln_f)
    hd = D // HEADS
    for dst, src in zip(model.stack, reference.blocks):
        _norm(dst.norm1, src.ln_1)
        _norm(dst.norm2, src.ln_2)
        qkv = src.attn.c_attn.weight.detach().numpy().T.reshape(D, 3, HEADS, hd)
        bias = src.attn.c_attn.bias.detach().numpy().reshape(3, HEADS, hd)
        weights = []
        for i in range(3):
            weights += [qkv[:, i], bias[i]]
        out = src.attn.c_proj
        weights += [out.weight.detach().numpy().T.reshape(HEADS, hd, D), out.bias.detach().numpy()]
        dst.mha.set_weights(weights)
        _dense(dst.up, src.c_fc)
        _dense(dst.down, src.c_proj)
    _dense(model.action_head, reference.predict_action[0])
    _dense(model.state_head, reference.predict_state)
    _dense(model.return_head, reference.predict_return)
