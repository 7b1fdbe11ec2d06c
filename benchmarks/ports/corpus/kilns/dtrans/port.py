"""Decision Transformer in Keras 3."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
D, HEADS, STATE, ACT = 24, 3, 11, 3


class CausalAttention(layers.Layer):
    def __init__(self):
        super().__init__()
        self.wq = layers.EinsumDense("btd,dhe->bhte", (HEADS, None, D // HEADS), bias_axes="he")
        self.wk = layers.EinsumDense("btd,dhe->bhte", (HEADS, None, D // HEADS), bias_axes="he")
        self.wv = layers.EinsumDense("btd,dhe->bhte", (HEADS, None, D // HEADS), bias_axes="he")
        self.wo = layers.EinsumDense("bhte,hed->btd", (None, D), bias_axes="d")

    def call(self, x, mask):
        scores = ops.einsum("bhqe,bhke->bhqk", self.wq(x), self.wk(x))
        scores = scores * (D // HEADS) ** -0.5
        scores = ops.where(mask, scores, -1e9)
        weights = ops.softmax(scores, axis=-1)
        return self.wo(ops.matmul(weights, self.wv(x)))


class GPTBlock(layers.Layer):
    def __init__(self):
        super().__init__()
        self.norm_a = layers.LayerNormalization(epsilon=1e-5)
        self.attn = CausalAttention()
        self.norm_b = layers.LayerNormalization(epsilon=1e-5)
        self.up = layers.Dense(4 * D)
        self.down = layers.Dense(D)

    def call(self, x, mask):
        normed = self.norm_a(x)
        x = x + self.attn(normed, mask)
        h = ops.gelu(self.up(self.norm_b(x)), approximate=True)
        return x + self.down(h)


class DT(keras.Model):
    def __init__(self, depth=2):
        super().__init__()
        self.t_emb = layers.Embedding(60, D)
        self.r_emb = layers.Dense(D)
        self.s_emb = layers.Dense(D)
        self.a_emb = layers.Dense(D)
        self.norm_in = layers.LayerNormalization(epsilon=1e-5)
        self.stack = [GPTBlock() for _ in range(depth)]
        self.norm_out = layers.LayerNormalization(epsilon=1e-5)
        self.to_state = layers.Dense(STATE)
        self.to_action = layers.Dense(ACT, activation="tanh")
        self.to_return = layers.Dense(1)

    def call(self, inputs):
        rtg, obs, act, step, valid = inputs
        b, k = obs.shape[0], obs.shape[1]
        t = self.t_emb(step)
        tokens = [self.r_emb(rtg) + t, self.s_emb(obs) + t, self.a_emb(act) + t]
        seq = ops.reshape(ops.stack(tokens, axis=2), (b, 3 * k, D))
        seq = self.norm_in(seq)
        keys = ops.repeat(valid, 3, axis=1) > 0
        order = ops.arange(3 * k)
        causal = order[:, None] >= order[None, :]
        mask = ops.logical_and(causal[None, None], keys[:, None, None, :])
        for block in self.stack:
            seq = block(seq, mask)
        seq = ops.reshape(self.norm_out(seq), (b, k, 3, D))
        after_state = seq[:, :, 1]
        after_action = seq[:, :, 2]
        return self.to_action(after_state), self.to_state(after_action), self.to_return(after_action)


def make():
    net = DT()
    net([ops.convert_to_tensor(a) for a in inputs(0)])
    rng = np.random.default_rng(6)
    for w in net.weights:
        w.assign(0.2 * rng.normal(size=w.shape) + (1.0 if "gamma" in w.path else 0.0))
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    b, k = 4, 5
    start = rng.integers(0, 30, size=(b, 1))
    steps = start + np.arange(k)
    mask = np.ones((b, k), "float32")
    mask[1, :2] = 0
    mask[3, :1] = 0
    steps = np.where(mask > 0, steps, 0)
    rtg = np.cumsum(rng.random((b, k)), axis=1)[:, ::-1, None].copy()
    return (
        rtg.astype("float32"),
        rng.normal(size=(b, k, 11)).astype("float32"),
        rng.uniform(-1, 1, size=(b, k, 3)).astype("float32"),
        steps.astype("int64"),
        mask,
    )


def load(ported, original):
    sd = {k: v.numpy() for k, v in original.state_dict().items()}

    def dense(layer, key):
        layer.set_weights([sd[key + ".weight"].T, sd[key + ".bias"]])

    def norm(layer, key):
        layer.set_weights([sd[key + ".weight"], sd[key + ".bias"]])

    ported.t_emb.set_weights([sd["embed_timestep.weight"]])
    dense(ported.r_emb, "embed_return")
    dense(ported.s_emb, "embed_state")
    dense(ported.a_emb, "embed_action")
    norm(ported.norm_in, "embed_ln")
    for i, block in enumerate(ported.stack):
        p = f"blocks.{i}."
        norm(block.norm_a, p + "ln_1")
        norm(block.norm_b, p + "ln_2")
        dense(block.up, p + "c_fc")
        dense(block.down, p + "mlp_proj")
        kernels = np.split(sd[p + "c_attn.weight"].T, 3, axis=1)
        biases = np.split(sd[p + "c_attn.bias"], 3)
        for layer, w, bias in zip((block.attn.wq, block.attn.wk, block.attn.wv), kernels, biases):
            layer.set_weights([w.reshape(D, HEADS, -1), bias.reshape(HEADS, 1, -1)
                               if layer.bias.shape == (HEADS, 1, D // HEADS) else bias.reshape(HEADS, -1)])
        block.attn.wo.set_weights([sd[p + "c_proj.weight"].T.reshape(HEADS, D // HEADS, D), sd[p + "c_proj.bias"]])
    norm(ported.norm_out, "ln_f")
    dense(ported.to_state, "predict_state")
    dense(ported.to_action, "predict_action.0")
    dense(ported.to_return, "predict_return")
