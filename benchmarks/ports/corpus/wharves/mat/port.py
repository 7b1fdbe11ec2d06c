"""Multi-Agent Transformer as Keras layers on keras.layers.MultiHeadAttention."""
import numpy as np
import tensorflow as tf
import keras
from keras import layers

FRAMEWORK = "tensorflow"
AGENTS, OBS, ACT, D, HEADS = 4, 9, 5, 24, 3
EPS = 1e-5


def norm():
    return layers.LayerNormalization(epsilon=EPS)


def gelu(x):
    return tf.nn.gelu(x, approximate=False)


class Block(layers.Layer):
    """Encoder block, or decoder block when `cross`."""

    def __init__(self, cross=False):
        super().__init__()
        self.cross = cross
        self.self_att = layers.MultiHeadAttention(HEADS, D // HEADS)
        self.norm_a = norm()
        if cross:
            self.cross_att = layers.MultiHeadAttention(HEADS, D // HEADS)
            self.norm_b = norm()
        self.up = layers.Dense(D)
        self.down = layers.Dense(D)
        self.norm_c = norm()

    def call(self, x, memory=None):
        att = self.self_att(x, x, use_causal_mask=self.cross)
        x = self.norm_a(x + att)
        if self.cross:
            att = self.cross_att(memory, x, use_causal_mask=True)
            x = self.norm_b(memory + att)
        return self.norm_c(x + self.down(gelu(self.up(x))))


class Head(layers.Layer):
    def __init__(self, n):
        super().__init__()
        self.fc, self.norm, self.out = layers.Dense(D), norm(), layers.Dense(n)

    def call(self, x):
        return self.out(self.norm(gelu(self.fc(x))))


class MAT(keras.Model):
    def __init__(self):
        super().__init__()
        self.obs_norm, self.obs_fc, self.enc_norm = norm(), layers.Dense(D), norm()
        self.enc1, self.enc2 = Block(), Block()
        self.critic = Head(1)
        self.act_fc, self.dec_norm = layers.Dense(D, use_bias=False), norm()
        self.dec = Block(cross=True)
        self.actor = Head(ACT)

    def call(self, inputs):
        obs, actions = inputs
        rep = self.enc_norm(gelu(self.obs_fc(self.obs_norm(obs))))
        rep = self.enc2(self.enc1(rep))
        value = self.critic(rep)
        tokens = tf.one_hot(actions + 1, ACT + 1)
        start = tf.one_hot(tf.zeros_like(actions[:, :1]), ACT + 1)
        tokens = tf.concat([start, tokens[:, :-1]], axis=1)
        x = self.dec_norm(gelu(self.act_fc(tokens)))
        x = self.dec(x, rep)
        return value, tf.nn.log_softmax(self.actor(x))


def make(seed=2):
    m = MAT()
    m([np.zeros((1, AGENTS, OBS), "f"), np.zeros((1, AGENTS), "int64")])
    r = np.random.RandomState(seed)
    for v in m.weights:
        if "gamma" in v.path:
            w = r.uniform(0.6, 1.4, v.shape)
        elif "kernel" in v.path:
            w = r.randn(*v.shape) * 0.3
        else:
            w = r.randn(*v.shape) * 0.2
        v.assign(w)
    return m


def inputs(seed=0):
    r = np.random.RandomState(seed)
    return r.randn(5, AGENTS, OBS).astype("float32"), r.randint(0, ACT, (5, AGENTS)).astype("int64")


def load(ported, original):
    n = lambda t: t.detach().numpy()

    def fc(d, l):
        d.set_weights([n(l.weight).T] + ([n(l.bias)] if l.bias is not None else []))

    def ln(d, l):
        d.set_weights([n(l.weight), n(l.bias)])

    def att(d, a):
        ws = []
        for l in (a.query, a.key, a.value):
            ws += [n(l.weight).T.reshape(D, HEADS, -1), n(l.bias).reshape(HEADS, -1)]
        d.set_weights(ws + [n(a.proj.weight).T.reshape(HEADS, -1, D), n(a.proj.bias)])

    def head(d, s):
        fc(d.fc, s[0]), ln(d.norm, s[2]), fc(d.out, s[3])
    ln(ported.obs_norm, original.obs_encoder[0]), fc(ported.obs_fc, original.obs_encoder[1])
    ln(ported.enc_norm, original.enc_ln), ln(ported.dec_norm, original.dec_ln)
    fc(ported.act_fc, original.action_encoder)
    head(ported.critic, original.v_head), head(ported.actor, original.pi_head)
    for d, b in ((ported.enc1, original.enc_blocks[0]), (ported.enc2, original.enc_blocks[1])):
        att(d.self_att, b.attn), ln(d.norm_a, b.ln1), fc(d.up, b.mlp[0]), fc(d.down, b.mlp[2]), ln(d.norm_c, b.ln2)
    d, b = ported.dec, original.dec_blocks[0]
    att(d.self_att, b.attn1), ln(d.norm_a, b.ln1), att(d.cross_att, b.attn2), ln(d.norm_b, b.ln2)
    fc(d.up, b.mlp[0]), fc(d.down, b.mlp[2]), ln(d.norm_c, b.ln3)
