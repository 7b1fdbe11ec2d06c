"""The trained recurrent policy without torch: NumPy for the robot."""
import numpy as np

FRAMEWORK = "numpy"


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def layer_norm(x, gain, shift, eps=1e-5):
    mu = x.mean(axis=-1, keepdims=True)
    var = ((x - mu) ** 2).mean(axis=-1, keepdims=True)
    return (x - mu) / np.sqrt(var + eps) * gain + shift


def log_softmax(x):
    x = x - x.max(axis=-1, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=-1, keepdims=True))


class Policy:
    def __init__(self):
        self.p = {}

    def dense(self, x, name):
        return x @ self.p[name + ".weight"].T + self.p[name + ".bias"]

    def encode(self, obs):
        x = self.dense(obs, "network.0")
        x = layer_norm(x, self.p["network.1.weight"], self.p["network.1.bias"])
        x = np.tanh(x)
        x = self.dense(x, "network.3")
        return np.maximum(x, 0)

    def gru_step(self, x, h):
        gi = x @ self.p["gru.weight_ih_l0"].T + self.p["gru.bias_ih_l0"]
        gh = h @ self.p["gru.weight_hh_l0"].T + self.p["gru.bias_hh_l0"]
        i_r, i_z, i_n = np.split(gi, 3, axis=-1)
        h_r, h_z, h_n = np.split(gh, 3, axis=-1)
        r = sigmoid(i_r + h_r)
        z = sigmoid(i_z + h_z)
        n = np.tanh(i_n + r * h_n)
        return (1 - z) * n + z * h

    def __call__(self, obs, state, done, action):
        h = state[0]
        envs = h.shape[0]
        x = self.encode(obs)
        x = x.reshape(-1, envs, x.shape[-1])
        done = done.reshape(-1, envs)
        outputs = []
        for t in range(x.shape[0]):
            h = h * (1 - done[t])[:, None]
            h = self.gru_step(x[t], h)
            outputs.append(h)
        features = np.stack(outputs).reshape(-1, h.shape[-1])
        logp = log_softmax(self.dense(features, "actor"))
        entropy = -(np.exp(logp) * logp).sum(axis=-1)
        return {
            "logprob": logp[np.arange(len(action)), action],
            "entropy": entropy,
            "value": self.dense(features, "critic"),
            "state": h[None],
        }


def make():
    return Policy()


def load(model, reference):
    for name, tensor in reference.state_dict().items():
        model.p[name] = tensor.numpy().copy()
