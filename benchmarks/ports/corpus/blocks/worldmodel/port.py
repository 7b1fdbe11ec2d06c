"""The world model in NumPy, to look at checkpoints where there is no torch."""
import numpy as np

FRAMEWORK = "numpy"
DETER, CODES, CLASSES, BINS = 20, 4, 5, 41
W = {}


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def symlog(x):
    return np.sign(x) * np.log1p(np.abs(x))


def symexp(x):
    return np.sign(x) * (np.exp(np.abs(x)) - 1.0)


def layer_norm(x, name, eps=1e-3):
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = np.mean(centred**2, axis=-1, keepdims=True)
    return centred / np.sqrt(variance + eps) * W[name + ".weight"] + W[name + ".bias"]


def linear(x, name):
    return x @ W[name + ".weight"].T + W[name + ".bias"]


def dense(x, name):
    h = layer_norm(linear(x, name + ".0"), name + ".1")
    return h * sigmoid(h)


def head(x, name):
    return linear(dense(x, name + ".0"), name + ".1")


def gru(x, h):
    parts = np.concatenate([x, h], axis=-1) @ W["cell.layer.weight"].T
    parts = layer_norm(parts, "cell.norm")
    reset = sigmoid(parts[:, :DETER])
    candidate = np.tanh(reset * parts[:, DETER : 2 * DETER])
    update = sigmoid(parts[:, 2 * DETER :] - 1.0)
    return h + update * (candidate - h)


def code(logits, mix=0.01):
    probs = softmax(logits.reshape(-1, CODES, CLASSES))
    uniform = np.float32(1.0 / CLASSES)
    return probs + mix * (uniform - probs)


def world_model(obs, action, is_first):
    batch, time, _ = obs.shape
    embed = symlog(obs)
    embed = dense(embed, "encoder.0")
    embed = dense(embed, "encoder.1")
    h = np.zeros((batch, DETER), np.float32)
    z = np.zeros((batch, CODES * CLASSES), np.float32)
    features, kls = [], []
    for t in range(time):
        go_on = 1.0 - is_first[:, t, None]
        h = h * go_on
        z = z * go_on
        a = action[:, t] * go_on
        a = np.clip(a, -1.0, 1.0)
        h = gru(dense(np.concatenate([z, a], axis=1), "img_in"), h)
        prior = code(head(h, "prior"))
        posterior = code(head(np.concatenate([h, embed[:, t]], axis=1), "posterior"))
        kl = np.sum(posterior * np.log(posterior / prior), axis=(1, 2))
        kls.append(np.maximum(kl, 0.3))
        z = posterior.reshape(batch, -1)
        features.append(np.concatenate([h, z], axis=1))
    feature = np.stack(features, axis=1)
    recon = symexp(head(feature, "decoder"))
    bins = symexp(np.linspace(-3.0, 3.0, BINS, dtype=np.float32))
    reward = softmax(head(feature, "reward")) @ bins
    return {"recon": recon, "reward": reward, "kl": np.stack(kls, axis=1)}


def make():
    return world_model


def load(port, ref):
    W.clear()
    W.update({name: tensor.detach().numpy().copy() for name, tensor in ref.named_parameters()})
