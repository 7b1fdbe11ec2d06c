"""ACT in Keras 3, with keras' own multi-head attention."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
DIM, N_HEADS, HIDDEN = 24, 3, 40
CHUNK, N_JOINTS, N_PATCHES, N_FEAT, N_Z = 6, 5, 7, 10, 4


def positions(n, dim):
    i = np.arange(dim)
    angle = np.arange(n)[:, None] / np.power(10000.0, 2 * (i[None] // 2) / dim)
    angle[:, 0::2] = np.sin(angle[:, 0::2])
    angle[:, 1::2] = np.cos(angle[:, 1::2])
    return angle.astype("float32")


def attention():
    return layers.MultiHeadAttention(N_HEADS, DIM // N_HEADS)


def norm():
    return layers.LayerNormalization(epsilon=1e-5)


class Block(layers.Layer):
    def __init__(self):
        super().__init__()
        self.attend = attention()
        self.ff = keras.Sequential([layers.Dense(HIDDEN, activation="relu"), layers.Dropout(0.1), layers.Dense(DIM)])
        self.norm_a, self.norm_b = norm(), norm()

    def call(self, x, pos, valid=None):
        where = x + pos
        mask = None if valid is None else valid[:, None, :]
        mixed = self.attend(where, x, key=where, attention_mask=mask)
        x = self.norm_a(x + mixed)
        return self.norm_b(x + self.ff(x))


class CrossBlock(layers.Layer):
    def __init__(self):
        super().__init__()
        self.attend, self.look = attention(), attention()
        self.ff1, self.ff2 = layers.Dense(HIDDEN, activation="relu"), layers.Dense(DIM)
        self.norm_a, self.norm_b, self.norm_c = norm(), norm(), norm()

    def call(self, target, memory, pos, query):
        t = target + query
        target = self.norm_a(target + self.attend(query=t, value=target, key=t))
        seen = self.look(query=target + query, key=memory + pos, value=memory)
        target = self.norm_b(target + seen)
        return self.norm_c(target + self.ff2(self.ff1(target)))


class ChunkPolicy(keras.Model):
    def __init__(self):
        super().__init__()
        self.cls = self.add_weight(shape=(1, 1, DIM), initializer="random_normal", name="cls")
        self.pos = self.add_weight(shape=(2 + N_PATCHES, DIM), initializer="random_normal", name="pos")
        self.queries = self.add_weight(shape=(CHUNK, DIM), initializer="random_normal", name="queries")
        self.action_in, self.joints_in = layers.Dense(DIM), layers.Dense(DIM)
        self.style = Block()
        self.to_latent, self.from_latent = layers.Dense(2 * N_Z), layers.Dense(DIM)
        self.joints, self.patches = layers.Dense(DIM), layers.Dense(DIM)
        self.blocks = [Block(), Block()]
        self.decode = CrossBlock()
        self.head, self.pad_head = layers.Dense(N_JOINTS), layers.Dense(1)
        self.sinusoid = positions(CHUNK + 2, DIM)

    def call(self, data):
        qpos, feats, actions, is_pad, eps = data
        batch = ops.shape(qpos)[0]
        cls = ops.broadcast_to(self.cls, (batch, 1, DIM))
        tokens = ops.concatenate([cls, self.joints_in(qpos)[:, None], self.action_in(actions)], axis=1)
        valid = ops.pad(ops.logical_not(is_pad), [[0, 0], [2, 0]], constant_values=True)
        style = self.style(tokens, self.sinusoid, valid)[:, 0]
        mu, logvar = ops.split(self.to_latent(style), 2, axis=-1)
        z = mu + eps * ops.exp(0.5 * logvar)

        memory = ops.concatenate(
            [ops.expand_dims(self.from_latent(z), 1), ops.expand_dims(self.joints(qpos), 1), self.patches(feats)],
            axis=1,
        )
        for block in self.blocks:
            memory = block(memory, self.pos)
        decoded = self.decode(ops.zeros((batch, CHUNK, DIM)), memory, self.pos, self.queries)
        a_hat = self.head(decoded)
        pad_hat = ops.squeeze(self.pad_head(decoded), -1)

        keep = 1.0 - ops.cast(is_pad, "float32")
        l1 = ops.mean(ops.abs(actions - a_hat) * keep[..., None], axis=(1, 2))
        kl = 0.5 * ops.sum(ops.square(mu) + ops.exp(logvar) - 1.0 - logvar, axis=1)
        loss = ops.mean(l1) + 10.0 * ops.mean(kl)
        return {"a_hat": a_hat, "pad_hat": pad_hat, "l1": l1, "kl": kl, "loss": loss}


def make(seed=12):
    keras.utils.set_random_seed(seed)
    net = ChunkPolicy()
    net([ops.convert_to_tensor(a) for a in inputs(0)])
    rng = np.random.default_rng(seed)
    for w in net.weights:
        if "seed" not in w.path:
            w.assign(rng.normal(1.0 if w.path.endswith("gamma") else 0.0, 0.3, w.shape))
    return net


def inputs(seed=0):
    r = np.random.default_rng(seed)
    qpos = r.normal(size=(5, N_JOINTS)).astype("float32")
    feats = r.normal(size=(5, N_PATCHES, N_FEAT)).astype("float32")
    actions = r.normal(size=(5, CHUNK, N_JOINTS)).astype("float32")
    lengths = np.array([6, 4, 6, 2, 5])
    is_pad = np.arange(CHUNK)[None] >= lengths[:, None]
    return qpos, feats, actions, is_pad, r.normal(size=(5, N_Z)).astype("float32")


def load(ported, original):
    n = lambda p: p.detach().numpy()

    def linear(layer, module):
        layer.set_weights([n(module.weight).T, n(module.bias)])

    def normed(layer, module):
        layer.set_weights([n(module.weight), n(module.bias)])

    def mha(layer, module):
        size = DIM // N_HEADS
        weights = []
        for w, b in zip(np.split(n(module.in_proj_weight), 3), np.split(n(module.in_proj_bias), 3)):
            weights += [w.T.reshape(DIM, N_HEADS, size), b.reshape(N_HEADS, size)]
        out = n(module.out_proj.weight).T.reshape(N_HEADS, size, DIM)
        q, qb, k, kb, v, vb = weights
        for dense, pair in (
            (layer.query_dense, [q, qb]), (layer.key_dense, [k, kb]), (layer.value_dense, [v, vb]),
            (layer.output_dense, [out, n(module.out_proj.bias)]),
        ):
            dense.set_weights(pair)

    ported.cls.assign(n(original.cls))
    ported.pos.assign(n(original.pos))
    ported.queries.assign(n(original.query))
    for a, b in (("action_in", "enc_action"), ("joints_in", "enc_qpos"), ("to_latent", "latent"),
                 ("from_latent", "latent_out"), ("joints", "in_qpos"), ("patches", "in_feat"),
                 ("head", "action_head"), ("pad_head", "pad_head")):
        linear(getattr(ported, a), getattr(original, b))
    for block, layer in zip([ported.style, *ported.blocks], [original.cvae, *original.encoder]):
        mha(block.attend, layer.attn)
        linear(block.ff.layers[0], layer.lin1)
        linear(block.ff.layers[-1], layer.lin2)
        normed(block.norm_a, layer.norm1)
        normed(block.norm_b, layer.norm2)
    mine, theirs = ported.decode, original.decoder
    mha(mine.attend, theirs.self_attn)
    mha(mine.look, theirs.cross)
    linear(mine.ff1, theirs.lin1)
    linear(mine.ff2, theirs.lin2)
    for a, b in ((mine.norm_a, theirs.norm1), (mine.norm_b, theirs.norm2), (mine.norm_c, theirs.norm3)):
        normed(a, b)
