"""The decision transformer in Keras 3."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
D, H, T, S, A = 32, 4, 6, 11, 3


class KBlock(layers.Layer):
    def __init__(self):
        super().__init__()
        self.ln1 = layers.LayerNormalization(epsilon=1e-5)
        self.qkv = layers.Dense(3 * D)
        self.proj = layers.Dense(D)
        self.ln2 = layers.LayerNormalization(epsilon=1e-5)
        self.fc1 = layers.Dense(4 * D)
        self.fc2 = layers.Dense(D)

    def heads(self, t):
        return ops.transpose(ops.reshape(t, (-1, 3 * T, H, D // H)), (0, 2, 1, 3))

    def call(self, h):
        normed = self.ln1(h)
        q, k, v = (self.heads(t) for t in ops.split(self.qkv(normed), 3, axis=-1))
        scale = (D // H) ** -0.5
        scores = ops.matmul(q, ops.transpose(k, (0, 1, 3, 2))) * scale
        mask = np.tril(np.ones((3 * T, 3 * T), bool))
        scores = ops.where(mask, scores, -1e9)
        y = ops.matmul(ops.softmax(scores, axis=-1), v)
        y = ops.reshape(ops.transpose(y, (0, 2, 1, 3)), (-1, 3 * T, D))
        h = h + self.proj(y)
        m = self.fc1(self.ln2(h))
        m = ops.gelu(m, approximate=True)
        return h + self.fc2(m)


class KDecisionTransformer(keras.Model):
    def __init__(self):
        super().__init__()
        self.embed_time = layers.Embedding(50, D)
        self.embed_return = layers.Dense(D)
        self.embed_state = layers.Dense(D)
        self.embed_action = layers.Dense(D)
        self.ln = layers.LayerNormalization(epsilon=1e-5)
        self.blocks = [KBlock() for _ in range(2)]
        self.head = layers.Dense(A, activation="tanh")

    def call(self, states, actions, returns, timesteps):
        time = self.embed_time(timesteps)
        s = self.embed_state(states) + time
        a = self.embed_action(actions) + time
        r = self.embed_return(returns) + time
        x = ops.stack([r, s, a], axis=2)
        x = self.ln(ops.reshape(x, (-1, 3 * T, D)))
        for block in self.blocks:
            x = block(x)
        x = ops.reshape(x, (-1, T, 3, D))
        return self.head(x[:, :, 1])


def make():
    k = KDecisionTransformer()
    z = lambda *s: np.zeros(s, "float32")
    k(z(1, T, S), z(1, T, A), z(1, T, 1), np.zeros((1, T), "int64"))
    return k


def load(k, t):
    lin = lambda l: [l.weight.detach().numpy().T, l.bias.detach().numpy()]
    nrm = lambda l: [l.weight.detach().numpy(), l.bias.detach().numpy()]
    k.embed_time.set_weights([t.embed_time.weight.detach().numpy()])
    for n in ("embed_return", "embed_state", "embed_action", "head"):
        getattr(k, n).set_weights(lin(getattr(t, n)))
    k.ln.set_weights(nrm(t.ln))
    for a, b in zip(t.blocks, k.blocks):
        b.ln1.set_weights(nrm(a.ln_1))
        b.ln2.set_weights(nrm(a.ln_2))
        for x, y in ((a.qkv, b.qkv), (a.proj, b.proj), (a.fc1, b.fc1), (a.fc2, b.fc2)):
            y.set_weights(lin(x))
