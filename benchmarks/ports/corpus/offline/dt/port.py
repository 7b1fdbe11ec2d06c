"""Decision transformer out of stock Keras layers."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
MODE = "train"

D = 24
EPS = 1e-5


class DecoderBlock(layers.Layer):
    def __init__(self, rate, **kwargs):
        super().__init__(**kwargs)
        self.norm_in = layers.LayerNormalization(epsilon=EPS)
        self.attention = layers.MultiHeadAttention(num_heads=3, key_dim=D // 3, dropout=rate)
        self.norm_out = layers.LayerNormalization(epsilon=EPS)
        self.up = layers.Dense(4 * D)
        self.down = layers.Dense(D)
        self.dropout = layers.Dropout(rate)

    def call(self, x, valid, training=None):
        h = self.norm_in(x)
        h = self.attention(
            h, h, attention_mask=valid[:, None, :], use_causal_mask=True, training=training
        )
        x = x + h
        h = self.up(self.norm_out(x))
        h = self.down(ops.gelu(h, approximate=True))
        return x + self.dropout(h, training=training)


class DecisionTransformer(keras.Model):
    def __init__(self, depth=2, rate=0.1, horizon=40, scale=100.0):
        super().__init__()
        self.scale = scale
        self.position = layers.Embedding(horizon, D)
        self.token_r = layers.Dense(D)
        self.token_s = layers.Dense(D)
        self.token_a = layers.Dense(D)
        self.norm_tokens = layers.LayerNormalization(epsilon=EPS)
        self.stack = [DecoderBlock(rate) for _ in range(depth)]
        self.norm_final = layers.LayerNormalization(epsilon=EPS)
        self.to_action = layers.Dense(3, activation="tanh")
        self.to_state = layers.Dense(7)

    def call(self, states, actions, rtg, timesteps, mask, training=None):
        n, k = states.shape[0], states.shape[1]
        when = self.position(timesteps)
        r = self.token_r(rtg / self.scale) + when
        s = self.token_s(states) + when
        a = self.token_a(actions) + when
        x = ops.reshape(ops.concatenate([r, s, a], axis=-1), (n, k * 3, D))
        x = self.norm_tokens(x)
        valid = ops.repeat(ops.cast(mask, "bool"), 3, axis=1)
        for block in self.stack:
            x = block(x, valid, training=training)
        x = self.norm_final(x)
        action = self.to_action(x[:, 1::3])
        state = self.to_state(x[:, 2::3])
        return action * mask[:, :, None], state * mask[:, :, None]


def make():
    model = DecisionTransformer()
    z = np.zeros
    model(z((1, 5, 7), "f"), z((1, 5, 3), "f"), z((1, 5, 1), "f"), z((1, 5), "int64"),
          np.ones((1, 5), "f"))
    return model


def load(port, ref):
    arr = lambda p: p.detach().numpy()

    def dense(layer, linear):
        layer.set_weights([arr(linear.weight).T, arr(linear.bias)])

    def norm(layer, ln):
        layer.set_weights([arr(ln.weight), arr(ln.bias)])

    port.position.set_weights([arr(ref.embed_timestep.weight)])
    dense(port.token_r, ref.embed_return)
    dense(port.token_s, ref.embed_state)
    dense(port.token_a, ref.embed_action)
    dense(port.to_action, ref.predict_action)
    dense(port.to_state, ref.predict_state)
    norm(port.norm_tokens, ref.embed_ln)
    norm(port.norm_final, ref.ln_f)
    for mine, theirs in zip(port.stack, ref.blocks):
        norm(mine.norm_in, theirs.ln_1)
        norm(mine.norm_out, theirs.ln_2)
        dense(mine.up, theirs.fc)
        dense(mine.down, theirs.proj)
        weights = []
        for w, b in zip(np.split(arr(theirs.attn.c_attn.weight), 3), np.split(arr(theirs.attn.c_attn.bias), 3)):
            weights += [w.T.reshape(D, 3, D // 3), b.reshape(3, D // 3)]
        weights += [arr(theirs.attn.c_proj.weight).T.reshape(3, D // 3, D), arr(theirs.attn.c_proj.bias)]
        mine.attention.set_weights(weights)
