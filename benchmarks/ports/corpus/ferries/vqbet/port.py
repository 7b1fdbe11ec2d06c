"""VQ-BeT, TensorFlow, tf.Module."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
OBS, ACT, DIM, HEADS, T, GOALS = 5, 4, 16, 2, 4, 2
GROUPS, CODES, ZDIM = 2, 6, 8
GAMMA = 2.0
_rng = np.random.RandomState(71)


def var(*shape, scale=0.3, name=None):
    return tf.Variable((scale * _rng.randn(*shape)).astype(np.float32), name=name)


class Dense(tf.Module):
    def __init__(self, n_in, n_out, name=None):
        super().__init__(name=name)
        self.w = var(n_in, n_out, name="w")
        self.b = var(n_out, name="b")

    def __call__(self, x):
        return tf.einsum("...i,io->...o", x, self.w) + self.b


class LayerNorm(tf.Module):
    def __init__(self, dim, eps=1e-5, name=None):
        super().__init__(name=name)
        self.eps = eps
        self.gamma = tf.Variable((1 + 0.2 * _rng.randn(dim)).astype(np.float32), name="gamma")
        self.beta = var(dim, name="beta")

    def __call__(self, x):
        mean, variance = tf.nn.moments(x, axes=[-1], keepdims=True)
        return tf.nn.batch_normalization(x, mean, variance, self.beta, self.gamma, self.eps)


class Attention(tf.Module):
    def __init__(self, name=None):
        super().__init__(name=name)
        self.qkv = Dense(DIM, 3 * DIM)
        self.out = Dense(DIM, DIM)

    def __call__(self, x):
        B, L, _ = x.shape
        qkv = tf.reshape(self.qkv(x), [B, L, 3, HEADS, DIM // HEADS])
        q, k, v = tf.unstack(qkv, axis=2)
        scores = tf.einsum("blhd,bmhd->bhlm", q, k) / (DIM // HEADS) ** 0.5
        causal = tf.linalg.band_part(tf.ones([L, L]), -1, 0)
        scores = tf.where(causal > 0, scores, -1e9)
        weights = tf.nn.softmax(scores)
        y = tf.einsum("bhlm,bmhd->blhd", weights, v)
        return self.out(tf.reshape(y, [B, L, DIM]))


class Block(tf.Module):
    def __init__(self, name=None):
        super().__init__(name=name)
        self.ln1, self.ln2 = LayerNorm(DIM), LayerNorm(DIM)
        self.attn = Attention()
        self.up, self.down = Dense(DIM, 4 * DIM), Dense(4 * DIM, DIM)

    def __call__(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.down(tf.nn.gelu(self.up(self.ln2(x))))


class VQBeT(tf.Module):
    def __init__(self, name=None):
        super().__init__(name=name)
        self.tok, self.goal_tok = Dense(OBS, DIM), Dense(OBS, DIM)
        self.pos = var(T + GOALS, DIM, name="pos")
        self.blocks = [Block() for _ in range(2)]
        self.ln_f = LayerNorm(DIM)
        self.enc = [Dense(ACT, 16), Dense(16, ZDIM)]
        self.dec = [Dense(ZDIM, 16), Dense(16, ACT)]
        self.codebooks = var(GROUPS, CODES, ZDIM, name="codebooks")
        self.bin1, self.bin2 = Dense(DIM, CODES), Dense(DIM + CODES, CODES)
        self.offset = Dense(DIM, GROUPS * CODES * ACT)

    def gpt(self, obs, goal):
        n_goal = goal.shape[1]
        x = tf.concat([self.goal_tok(goal), self.tok(obs)], axis=1)
        x += self.pos[:x.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x)[:, n_goal:]

    def decode(self, z):
        return self.dec[1](tf.nn.relu(self.dec[0](z)))

    def quantize(self, z):
        residual, total, codes = z, tf.zeros_like(z), []
        for g in range(GROUPS):
            book = self.codebooks[g]
            d = tf.reduce_sum((residual[..., None, :] - book) ** 2, -1)
            idx = tf.argmin(d, -1)
            q = tf.gather(book, idx)
            total += q
            residual -= q
            codes.append(idx)
        return total, tf.stack(codes, -1)

    def __call__(self, obs, goal, action):
        h = self.gpt(obs, goal)
        B, L, _ = h.shape
        z_q, target = self.quantize(self.enc[1](tf.nn.relu(self.enc[0](action))))
        recon = self.decode(z_q)

        logits1 = self.bin1(h)
        pick1 = tf.one_hot(tf.argmax(logits1, -1), CODES)
        logits2 = self.bin2(tf.concat([h, pick1], -1))
        pick2 = tf.one_hot(tf.argmax(logits2, -1), CODES)
        picks = tf.stack([pick1, pick2], 2)

        z = tf.einsum("blgc,gcz->blz", picks, self.codebooks)
        offsets = tf.reshape(self.offset(h), [B, L, GROUPS, CODES, ACT])
        predicted = self.decode(z) + tf.einsum("blgc,blgca->bla", picks, offsets)

        logp = tf.nn.log_softmax(tf.stack([logits1, logits2], 2))
        logpt = tf.reduce_sum(logp * tf.one_hot(target, CODES), -1)
        focal = -((1.0 - tf.exp(logpt)) ** GAMMA) * logpt
        return predicted, recon, focal


def make():
    return VQBeT()


def inputs(seed):
    rng = np.random.RandomState(seed)
    return (rng.randn(4, T, OBS).astype(np.float32), rng.randn(4, GOALS, OBS).astype(np.float32),
            rng.randn(4, T, ACT).astype(np.float32))


def load(ported, original):
    sd = {k: v.detach().numpy() for k, v in original.state_dict().items()}

    def dense(dst, key):
        dst.w.assign(sd[key + ".weight"].T)
        dst.b.assign(sd[key + ".bias"])

    def norm(dst, key):
        dst.gamma.assign(sd[key + ".weight"])
        dst.beta.assign(sd[key + ".bias"])

    dense(ported.tok, "tok")
    dense(ported.goal_tok, "goal_tok")
    ported.pos.assign(sd["pos"][0])
    for i, b in enumerate(ported.blocks):
        p = "blocks.%d." % i
        norm(b.ln1, p + "ln_1")
        norm(b.ln2, p + "ln_2")
        dense(b.attn.qkv, p + "attn.c_attn")
        dense(b.attn.out, p + "attn.c_proj")
        dense(b.up, p + "mlp.0")
        dense(b.down, p + "mlp.2")
    norm(ported.ln_f, "ln_f")
    for mine, theirs in ((ported.enc, "encoder"), (ported.dec, "decoder")):
        dense(mine[0], theirs + ".0")
        dense(mine[1], theirs + ".2")
    ported.codebooks.assign(sd["vq.codebooks"])
    for key in ("bin1", "bin2", "offset"):
        dense(getattr(ported, key), key)
