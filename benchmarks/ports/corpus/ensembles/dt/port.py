"""The decision transformer in Keras 3."""
import math
import tensorflow as tf
import keras
from torch import nn
from keras import layers, ops

FRAMEWORK = "tensorflow"
S, A, H, HEADS, K, MAXT, BLOCKS = 6, 3, 32, 4, 5, 20, 2


class KBlock(layers.Layer):
    def __init__(self):
        super().__init__()
        self.ln1 = layers.LayerNormalization(epsilon=1e-5)
        self.ln2 = layers.LayerNormalization(epsilon=1e-5)
        self.qkv, self.proj = layers.Dense(3 * H), layers.Dense(H)
        self.fc, self.out = layers.Dense(4 * H), layers.Dense(H)

    def call(self, x, mask):
        b, t, _ = x.shape
        q, k, v = ops.split(self.qkv(self.ln1(x)), 3, -1)
        q, k, v = (ops.transpose(ops.reshape(z, (b, t, HEADS, H // HEADS)), (0, 2, 1, 3)) for z in (q, k, v))
        scale = math.sqrt(H // HEADS)
        w = ops.matmul(q, ops.swapaxes(k, -2, -1)) / scale
        w = ops.softmax(ops.where(mask, w, -1e9), -1)
        y = ops.matmul(w, v)
        y = ops.reshape(ops.transpose(y, (0, 2, 1, 3)), (b, t, H))
        x = x + self.proj(y)
        return x + self.out(ops.gelu(self.fc(self.ln2(x)), approximate=True))


class KerasDT(keras.Model):
    def __init__(self):
        super().__init__()
        self.time = layers.Embedding(MAXT, H)
        self.ret, self.state, self.action = layers.Dense(H), layers.Dense(H), layers.Dense(H)
        self.ln = layers.LayerNormalization(epsilon=1e-5)
        self.blocks = [KBlock() for _ in range(BLOCKS)]
        self.lnf = layers.LayerNormalization(epsilon=1e-5)
        self.head_a, self.head_s = layers.Dense(A), layers.Dense(S)

    def call(self, returns, states, actions, timesteps):
        b, t, _ = states.shape
        time = self.time(timesteps)
        r, s, a = self.ret(returns) + time, self.state(states) + time, self.action(actions) + time
        tokens = ops.stack([r, s, a], 2)
        x = self.ln(ops.reshape(tokens, (b, 3 * t, H)))
        i = ops.arange(3 * t)
        mask = i[:, None] >= i[None, :]
        for block in self.blocks:
            x = block(x, mask)
        x = ops.reshape(self.lnf(x), (b, t, 3, H))
        return {"action": ops.tanh(self.head_a(x[:, :, 1])), "state": self.head_s(x[:, :, 2])}


def make():
    net = KerasDT()
    net(tf.zeros((3, K, 1)), tf.zeros((3, K, S)), tf.zeros((3, K, A)), tf.zeros((3, K), "int64"))
    return net


def put(k, t):
    n = lambda p: p.detach().numpy()
    if isinstance(t, nn.Linear): k.set_weights([n(t.weight).T, n(t.bias)])
    elif isinstance(t, nn.LayerNorm): k.set_weights([n(t.weight), n(t.bias)])
    else: k.set_weights([n(t.weight)])


def load(net, ref):
    for k in ("time", "ret", "state", "action", "ln", "lnf", "head_a", "head_s"):
        put(getattr(net, k), getattr(ref, k))
    for kb, tb in zip(net.blocks, ref.blocks):
        for k in ("ln1", "ln2", "qkv", "proj", "fc", "out"):
            put(getattr(kb, k), getattr(tb, k))
