"""Perceiver in TensorFlow, with an attention of its own."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
B, M, C, L, D, H = 4, 14, 16, 8, 32, 4


def var(p, t=False):
    p = p.detach().numpy()
    return tf.Variable(p.T.copy() if t else p.copy())


class Norm(tf.Module):
    def __init__(self, src):
        super().__init__()
        self.g, self.b, self.eps = var(src.weight), var(src.bias), 1e-5

    def __call__(self, x):
        mean, variance = tf.nn.moments(x, axes=[-1], keepdims=True)
        return (x - mean) * tf.math.rsqrt(variance + self.eps) * self.g + self.b


class BlockTF(tf.Module):
    def __init__(self, src):
        super().__init__()
        a = src.att
        self.nq, self.nk, self.nm = (Norm(n) for n in (src.nq, src.nk, src.nm))
        if a.in_proj_weight is None:
            q, k, v = a.q_proj_weight, a.k_proj_weight, a.v_proj_weight
        else:
            q, k, v = a.in_proj_weight.chunk(3)
        bq, bk, bv = a.in_proj_bias.chunk(3)
        self.wq, self.wk, self.wv, self.wo = (var(w, True) for w in (q, k, v, a.out_proj.weight))
        self.bq, self.bk, self.bv, self.bo = (var(b) for b in (bq, bk, bv, a.out_proj.bias))
        self.w1, self.b1 = var(src.mlp[0].weight, True), var(src.mlp[0].bias)
        self.w2, self.b2 = var(src.mlp[2].weight, True), var(src.mlp[2].bias)

    def split(self, x):
        n = x.shape[1]
        return tf.transpose(tf.reshape(x, (-1, n, H, D // H)), (0, 2, 1, 3))

    def __call__(self, z, ctx, valid=None):
        k = self.nk(ctx)
        zn = self.nq(z)
        q, kk, v = self.split(zn @ self.wq + self.bq), self.split(k @ self.wk + self.bk), self.split(k @ self.wv + self.bv)
        scores = tf.matmul(q, kk, transpose_b=True)
        scores = scores / np.sqrt(D // H)
        if valid is not None:
            allowed = valid[:, None, None, :] > 0
            scores = tf.where(allowed, scores, -np.inf)
        p = tf.nn.softmax(scores, axis=-1)
        o = tf.reshape(tf.transpose(tf.matmul(p, v), (0, 2, 1, 3)), (-1, L, D))
        att = o @ self.wo + self.bo
        z = z + att
        h = tf.nn.gelu(self.nm(z) @ self.w1 + self.b1, approximate=False)
        return z + h @ self.w2 + self.b2


class PerceiverTF(tf.Module):
    def __call__(self, x, valid):
        z = tf.tile(self.latents[None], (tf.shape(x)[0], 1, 1))
        z = self.cross(z, x, valid)
        z = self.self_(z, z)
        z = self.norm(z)
        return tf.reduce_mean(z, axis=1) @ self.w + self.b


def make():
    return PerceiverTF()


def load(net, src):
    net.latents = var(src.latents)
    net.cross, net.self_ = BlockTF(src.cross), BlockTF(src.self_)
    net.norm, net.w, net.b = Norm(src.norm), var(src.head.weight, True), var(src.head.bias)
