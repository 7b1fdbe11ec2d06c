"""MADDPG in plain TensorFlow: variables in dicts, attention over all agents at once."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
DIMS = [9, 7, 8]
ACTS, ENC, HEADS, TEMPERATURE = 5, 24, 3, 0.7


def glorot(rng, *shape):
    return tf.Variable((rng.normal(size=shape) / np.sqrt(shape[-2])).astype("float32"))


class Team(tf.Module):
    def __init__(self):
        super().__init__()
        rng = np.random.default_rng(5)
        zeros = lambda *s: tf.Variable(tf.zeros(s))
        self.actors, self.enc, self.head = [], [], []
        for d in DIMS:
            self.actors.append(dict(g=tf.Variable(tf.ones(d)), b=zeros(d), w1=glorot(rng, d, 32), b1=zeros(32),
                                    w2=glorot(rng, 32, ACTS), b2=zeros(ACTS)))
            self.enc.append(dict(wsa=glorot(rng, d + ACTS, ENC), bsa=zeros(ENC), ws=glorot(rng, d, ENC), bs=zeros(ENC)))
            self.head.append(dict(w1=glorot(rng, 2 * ENC, ENC), b1=zeros(ENC), w2=glorot(rng, ENC, 1), b2=zeros(1)))
        dim = ENC // HEADS
        self.wk, self.wq, self.wv = (glorot(rng, HEADS, ENC, dim) for _ in range(3))
        self.bv = zeros(HEADS, dim)

    @staticmethod
    def lrelu(x):
        return tf.nn.leaky_relu(x, alpha=0.01)

    def act(self, p, obs):
        mean, var = tf.nn.moments(obs, axes=[-1], keepdims=True)
        x = (obs - mean) * tf.math.rsqrt(var + 1e-5) * p["g"] + p["b"]
        logits = self.lrelu(x @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]
        u = tf.random.uniform(tf.shape(logits))
        noise = -tf.math.log(-tf.math.log(u + 1e-20) + 1e-20)
        return tf.nn.softmax((logits + noise) / TEMPERATURE)

    def attend(self, s, sa):
        """s, sa: (agents, batch, ENC). Each agent attends over the others."""
        k = tf.einsum("jbe,hed->hbjd", sa, self.wk)
        q = tf.einsum("ibe,hed->hbid", s, self.wq)
        v = self.lrelu(tf.einsum("jbe,hed->hbjd", sa, self.wv) + self.bv[:, None, None, :])
        logits = tf.matmul(q, k, transpose_b=True)
        eye = tf.eye(len(DIMS))
        scaled = logits / tf.sqrt(float(ENC // HEADS)) - 1e9 * eye
        out = tf.einsum("hbij,hbjd->ibhd", tf.nn.softmax(scaled, axis=-1), v)
        n, b = out.shape[0], tf.shape(out)[1]
        off = (1.0 - eye) * logits
        pairs = tf.cast(b, tf.float32) * (n - 1)
        reg = 1e-3 * tf.reduce_sum(off**2) / pairs
        return tf.reshape(out, (n, b, ENC)), reg

    def __call__(self, *obs):
        acts = [self.act(p, o) for p, o in zip(self.actors, obs)]
        sa = tf.stack([self.lrelu(tf.concat([o, a], 1) @ e["wsa"] + e["bsa"])
                       for e, o, a in zip(self.enc, obs, acts)])
        s = tf.stack([self.lrelu(o @ e["ws"] + e["bs"]) for e, o in zip(self.enc, obs)])
        context, reg = self.attend(s, sa)
        joint = tf.unstack(tf.concat([s, context], axis=-1))
        q = [self.lrelu(x @ h["w1"] + h["b1"]) @ h["w2"] + h["b2"] for x, h in zip(joint, self.head)]
        return tf.concat(q, axis=1), tf.stack(acts, axis=1), reg


def make():
    return Team()


def load(port, ref):
    n = lambda t: t.detach().numpy()
    for p, a in zip(port.actors, ref.actors):
        p["g"].assign(n(a.norm.weight)), p["b"].assign(n(a.norm.bias))
        p["w1"].assign(n(a.fc1.weight).T), p["b1"].assign(n(a.fc1.bias))
        p["w2"].assign(n(a.fc2.weight).T), p["b2"].assign(n(a.fc2.bias))
    c = ref.critic
    for e, sa, s in zip(port.enc, c.sa_encoders, c.s_encoders):
        e["wsa"].assign(n(sa.weight).T), e["bsa"].assign(n(sa.bias))
        e["ws"].assign(n(s.weight).T), e["bs"].assign(n(s.bias))
    for h, seq in zip(port.head, c.heads):
        h["w1"].assign(n(seq[0].weight).T), h["b1"].assign(n(seq[0].bias))
        h["w2"].assign(n(seq[2].weight).T), h["b2"].assign(n(seq[2].bias))
    for var, mods in ((port.wk, c.keys), (port.wq, c.queries), (port.wv, c.values)):
        var.assign(np.stack([n(m.weight).T for m in mods]))
    port.bv.assign(np.stack([n(m.bias) for m in c.values]))
