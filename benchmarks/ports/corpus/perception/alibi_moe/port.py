"""The trajectory transformer in Keras 3: einsum attention, all experts at once."""

import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
MODE = "train"
DIM, HEADS, EXPERTS, TOP_K, LAYERS = 24, 4, 5, 2, 2


def alibi(length):
    slopes = 2.0 ** (-8.0 / HEADS * np.arange(1, HEADS + 1))
    position = np.arange(length)
    distance = position[:, None] - position[None, :]
    return (-slopes[:, None, None] * distance).astype("float32")


class AlibiAttention(layers.Layer):
    def __init__(self, rate, **kw):
        super().__init__(**kw)
        size = DIM // HEADS
        self.to_q, self.to_k, self.to_v = (
            layers.EinsumDense("btd,dhk->bhtk", (HEADS, None, size), name=n) for n in "qkv"
        )
        self.merge = layers.EinsumDense("bhtk,hkd->btd", (None, DIM), bias_axes="d", name="merge")
        self.dropout = layers.Dropout(rate)

    def call(self, x, padding, training=None):
        length = x.shape[1]
        q = self.to_q(x) * (DIM // HEADS) ** -0.5
        logits = ops.einsum("bhqd,bhkd->bhqk", q, self.to_k(x)) + alibi(length)[None]
        future = np.triu(np.ones((length, length), bool), k=1)
        hidden = ops.logical_or(future[None, None], padding[:, None, None, :])
        logits = ops.where(hidden, -1e9, logits)
        weights = self.dropout(ops.softmax(logits), training=training)
        return self.merge(ops.einsum("bhqk,bhkd->bhqd", weights, self.to_v(x)))


class Experts(layers.Layer):
    def build(self, shape):
        self.router = layers.Dense(EXPERTS, use_bias=False)
        self.router.build(shape)
        self.up = self.add_weight(shape=(EXPERTS, DIM, 30), name="up")
        self.down = self.add_weight(shape=(EXPERTS, 30, DIM), name="down")
        self.built = True

    def call(self, x):
        logits = self.router(x)
        values, indices = ops.top_k(logits, TOP_K)
        gates = ops.softmax(values, axis=-1)
        chosen = ops.one_hot(indices, EXPERTS)  # batch, time, k, expert
        gates = ops.sum(gates[..., None] * chosen, axis=2)
        h = ops.silu(ops.einsum("btd,edh->bteh", x, self.up))
        y = ops.einsum("bteh,ehd,bte->btd", h, self.down, gates)
        load = ops.mean(ops.sum(chosen, axis=2), axis=(0, 1)) / TOP_K
        importance = ops.mean(ops.softmax(logits), axis=(0, 1))
        return y, EXPERTS * ops.sum(load * importance)


class TrajectoryModel(keras.Model):
    def __init__(self, actions=4, rate=0.1):
        super().__init__()
        self.embed = layers.Dense(DIM)
        self.attention = [AlibiAttention(rate, name=f"attn{i}") for i in range(LAYERS)]
        self.experts = [Experts(name=f"moe{i}") for i in range(LAYERS)]
        self.norms = [layers.RMSNormalization(epsilon=1e-5) for _ in range(2 * LAYERS + 1)]
        self.dropouts = [layers.Dropout(rate) for _ in range(2 * LAYERS)]
        self.head = layers.Dense(actions)

    def call(self, obs, padding, training=None):
        x = self.embed(obs)
        losses = []
        for i in range(LAYERS):
            y = self.attention[i](self.norms[2 * i](x), padding, training=training)
            x = x + self.dropouts[2 * i](y, training=training)
            y, aux = self.experts[i](self.norms[2 * i + 1](x))
            x = x + self.dropouts[2 * i + 1](y, training=training)
            losses.append(aux)
        return self.head(self.norms[-1](x)), ops.mean(ops.stack(losses))


def make():
    keras.utils.set_random_seed(0)
    net = TrajectoryModel()
    net(np.zeros((1, 7, 9), "float32"), np.zeros((1, 7), bool))
    return net


def load(port_model, reference_model):
    sd = {k: v.detach().numpy() for k, v in reference_model.state_dict().items()}
    port_model.embed.set_weights([sd["embed.weight"].T, sd["embed.bias"]])
    for i, (attention, experts) in enumerate(zip(port_model.attention, port_model.experts)):
        pre = f"blocks.{i}."
        fused = sd[pre + "attn.qkv.weight"].reshape(3, HEADS, -1, DIM)  # which, head, k, d
        for layer, w in zip((attention.to_q, attention.to_k, attention.to_v), fused):
            layer.set_weights([w.transpose(2, 0, 1)])
        out = sd[pre + "attn.out.weight"].T.reshape(HEADS, -1, DIM)
        attention.merge.set_weights([out, sd[pre + "attn.out.bias"]])
        experts.router.set_weights([sd[pre + "moe.gate.weight"].T])
        experts.up.assign(sd[pre + "moe.w1"])
        experts.down.assign(sd[pre + "moe.w2"])
        port_model.norms[2 * i].set_weights([sd[pre + "norm1.weight"]])
        port_model.norms[2 * i + 1].set_weights([sd[pre + "norm2.weight"]])
    port_model.norms[-1].set_weights([sd["norm.weight"]])
    port_model.head.set_weights([sd["head.weight"].T, sd["head.bias"]])
