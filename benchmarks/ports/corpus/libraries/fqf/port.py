"""FQF in plain TensorFlow: a dict of variables and functions of it."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
OBS, DIM, ACTIONS, N, N_COS, HIDDEN = 10, 24, 4, 8, 16, 32
SIZES = {
    "body": (OBS, DIM),
    "frac": (DIM, N),
    "phi": (N_COS, DIM),
    "hidden": (DIM, HIDDEN),
    "head": (HIDDEN, ACTIONS + 1),
}


def dense(p, name, x):
    return tf.tensordot(x, p[name + "/w"], 1) + p[name + "/b"]


def body(p, obs):
    x = dense(p, "body", obs)
    mean, var = tf.nn.moments(x, -1, keepdims=True)
    return tf.nn.relu(tf.nn.batch_normalization(x, mean, var, p["ln/beta"], p["ln/gamma"], 1e-5))


def fractions(p, emb):
    logits = dense(p, "frac", emb)
    probs = tf.nn.softmax(logits)
    entropy = tf.nn.softmax_cross_entropy_with_logits(labels=probs, logits=logits)
    upper = tf.math.cumsum(probs, axis=1)
    lower = upper - probs
    taus = tf.concat([tf.zeros_like(upper[:, :1]), upper], 1)
    return taus, probs, 0.5 * (lower + upper), entropy


def quantiles(p, emb, taus):
    i = tf.range(1, N_COS + 1, dtype=tf.float32)
    cos = tf.cos(np.pi * tf.einsum("bn,i->bni", taus, i))
    x = tf.nn.relu(dense(p, "phi", cos)) * emb[:, None]
    out = dense(p, "head", tf.nn.relu(dense(p, "hidden", x)))
    adv, val = tf.split(out, [ACTIONS, 1], -1)
    return val + (adv - tf.reduce_mean(adv, -1, keepdims=True))


def pick(z, action):
    return tf.einsum("bna,ba->bn", z, tf.one_hot(action, ACTIONS))


def quantile_huber(z, tau, target, kappa=1.0):
    td = target[:, None, :] - z[:, :, None]
    size = tf.abs(td)
    quad = tf.minimum(size, kappa)
    huber = 0.5 * quad * quad + kappa * (size - quad)
    below = tf.cast(td < 0, tf.float32)
    weight = tf.abs(tau[:, :, None] - below)
    return tf.reduce_mean(tf.reduce_sum(weight * huber / kappa, axis=1), axis=1)


class FQF(tf.Module):
    def __init__(self, seed=22):
        super().__init__()
        g = np.random.default_rng(seed)
        self.p = {"ln/gamma": tf.Variable(tf.ones(DIM)), "ln/beta": tf.Variable(tf.zeros(DIM))}
        for name, size in SIZES.items():
            self.p[name + "/w"] = tf.Variable(g.normal(size=size).astype("float32") / size[0] ** 0.5)
            self.p[name + "/b"] = tf.Variable(g.normal(size=size[1]).astype("float32") * 0.1)

    def __call__(self, obs, action, target):
        p = self.p
        emb = body(p, obs)
        taus, widths, tau_hat, entropy = fractions(p, emb)
        z_hat = quantiles(p, emb, tau_hat)
        q = tf.einsum("bn,bna->ba", widths, z_hat)
        za_hat = pick(z_hat, action)
        za = pick(quantiles(p, emb, taus[:, 1:-1]), action)
        frac_grad = (za - za_hat[:, 1:]) + (za - za_hat[:, :-1])
        loss = quantile_huber(za_hat, tau_hat, target)
        return {"q": q, "taus": taus, "entropy": entropy, "frac_grad": frac_grad, "loss": loss}


def make():
    return FQF()


def load(model, reference):
    q = reference.quantiles
    linears = {"body": reference.body[0], "frac": reference.fractions.net, "phi": q.phi, "hidden": q.hidden}
    for name, layer in linears.items():
        model.p[name + "/w"].assign(layer.weight.detach().numpy().T)
        model.p[name + "/b"].assign(layer.bias.detach().numpy())
    model.p["head/w"].assign(np.vstack([q.adv.weight.detach(), q.val.weight.detach()]).T)
    model.p["head/b"].assign(np.hstack([q.adv.bias.detach(), q.val.bias.detach()]))
    model.p["ln/gamma"].assign(reference.body[1].weight.detach().numpy())
    model.p["ln/beta"].assign(reference.body[1].bias.detach().numpy())
