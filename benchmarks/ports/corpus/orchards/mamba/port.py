"""Mamba in Keras 3, subclassed."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
N_TOKENS, DIM, INNER, STATE, RANK, KERNEL, N_LAYERS, SEQ = 40, 16, 32, 4, 3, 4, 2, 10


class RootMeanSquare(layers.Layer):
    def build(self, shape):
        self.scale = self.add_weight(name="scale", shape=(shape[-1],), initializer="ones")

    def call(self, x):
        power = ops.mean(ops.square(x), axis=-1, keepdims=True)
        return x / ops.sqrt(power + 1e-5) * self.scale


class SelectiveSSM(layers.Layer):
    def __init__(self):
        super().__init__()
        self.select = layers.Dense(RANK + 2 * STATE, use_bias=False)
        self.step = layers.Dense(INNER, activation="softplus")

    def build(self, shape):
        self.log_rate = self.add_weight(name="log_rate", shape=(INNER, STATE), initializer="random_normal")
        self.skip = self.add_weight(name="skip", shape=(INNER,), initializer="ones")

    def call(self, u):
        a = -ops.exp(self.log_rate)
        delta, b, c = ops.split(self.select(u), [RANK, RANK + STATE], axis=-1)
        delta = self.step(delta)
        state = ops.zeros((ops.shape(u)[0], INNER, STATE))
        outputs = []
        for t in range(SEQ):
            step = delta[:, t, :, None]
            incoming = step * b[:, t, None, :] * u[:, t, :, None]
            state = ops.exp(step * a) * state + incoming
            outputs.append(ops.einsum("bis,bs->bi", state, c[:, t]))
        return ops.stack(outputs, axis=1) + self.skip * u


class MambaMixer(layers.Layer):
    def __init__(self):
        super().__init__()
        self.expand = layers.Dense(2 * INNER, use_bias=False)
        self.conv = layers.DepthwiseConv1D(KERNEL, padding="valid")
        self.ssm = SelectiveSSM()
        self.reduce = layers.Dense(DIM, use_bias=False)

    def call(self, x):
        main, gate = ops.split(self.expand(x), 2, axis=-1)
        padded = ops.pad(main, [[0, 0], [KERNEL - 1, 0], [0, 0]])
        conv = ops.silu(self.conv(padded))
        y = self.ssm(conv)
        return self.reduce(y * ops.silu(gate))


class MambaLM(keras.Model):
    def __init__(self):
        super().__init__()
        self.embed = layers.Embedding(N_TOKENS, DIM)
        self.pre = [RootMeanSquare() for _ in range(N_LAYERS)]
        self.mixers = [MambaMixer() for _ in range(N_LAYERS)]
        self.final = RootMeanSquare()

    def call(self, tokens):
        x = self.embed(tokens)
        for pre, mixer in zip(self.pre, self.mixers):
            x = x + mixer(pre(x))
        return ops.matmul(self.final(x), ops.transpose(self.embed.embeddings))


def make(seed=9):
    keras.utils.set_random_seed(seed)
    net = MambaLM()
    net(np.zeros((1, SEQ), "int64"))
    rng = np.random.default_rng(seed)
    for v in net.weights:
        if v.name in ("scale", "skip"):
            v.assign(rng.uniform(0.5, 1.5, size=v.shape))
        elif v.name in ("bias", "log_rate"):
            v.assign(rng.normal(size=v.shape) * 0.3)
        elif v.name == "embeddings":
            v.assign(rng.normal(size=v.shape) * 0.4)
    return net


def inputs(seed):
    return (np.random.default_rng(seed).integers(0, N_TOKENS, size=(4, SEQ)),)


def load(ported, original):
    w = {name: p.detach().numpy() for name, p in original.named_parameters()}
    ported.embed.set_weights([w["embedding.weight"]])
    ported.final.set_weights([w["norm_f.weight"]])
    for i in range(N_LAYERS):
        theirs = f"layers.{i}."
        ported.pre[i].set_weights([w[f"norms.{i}.weight"]])
        mixer, ssm = ported.mixers[i], ported.mixers[i].ssm
        mixer.expand.set_weights([w[theirs + "in_proj.weight"].T])
        mixer.conv.set_weights([w[theirs + "conv1d.weight"].transpose(2, 0, 1), w[theirs + "conv1d.bias"]])
        mixer.reduce.set_weights([w[theirs + "out_proj.weight"].T])
        ssm.select.set_weights([w[theirs + "x_proj.weight"].T])
        ssm.step.set_weights([w[theirs + "dt_proj.weight"].T, w[theirs + "dt_proj.bias"]])
        ssm.log_rate.assign(w[theirs + "A_log"])
        ssm.skip.assign(w[theirs + "D"])
