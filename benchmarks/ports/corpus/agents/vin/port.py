"""A VIN for the robot's computer, where there is only NumPy."""
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

FRAMEWORK = "numpy"


def conv3(x, kernel):
    """(n, c, h, w) * (o, c, 3, 3) -> (n, o, h, w), the border filled with zeros."""
    x = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    patches = sliding_window_view(x, (3, 3), axis=(2, 3))
    return np.einsum("nchwij,ocij->nohw", patches, kernel, optimize=True)


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


class ValueIterationNetwork:
    def __init__(self, iterations=6, seed=0):
        rng = np.random.default_rng(seed)
        draw = lambda *shape: rng.normal(scale=0.2, size=shape).astype(np.float32)
        self.iterations = iterations
        self.params = {
            "hidden": draw(10, 2, 3, 3),
            "hidden_bias": draw(10),
            "reward": draw(10),
            "q_reward": draw(6, 1, 3, 3),
            "q_value": draw(6, 1, 3, 3),
            "policy": draw(6, 8),
            "policy_bias": draw(8),
        }

    def plan(self, reward):
        p = self.params
        fixed = conv3(reward, p["q_reward"])
        value = fixed.max(axis=1, keepdims=True)
        for _ in range(1, self.iterations):
            value = (fixed + conv3(value, p["q_value"])).max(axis=1, keepdims=True)
        return fixed + conv3(value, p["q_value"]), value

    def __call__(self, maps, row, col):
        p = self.params
        hidden = conv3(maps, p["hidden"]) + p["hidden_bias"][:, None, None]
        reward = np.tensordot(hidden, p["reward"], axes=(1, 0))[:, None]
        q, value = self.plan(reward)
        here = q[np.arange(len(q)), :, row, col]
        logits = here @ p["policy"] + p["policy_bias"]
        return logits, softmax(logits), value


def make():
    return ValueIterationNetwork(seed=4)


def load(model, reference):
    p = model.params
    p["hidden"][:] = reference.h.weight.detach().numpy()
    p["hidden_bias"][:] = reference.h.bias.detach().numpy()
    p["reward"][:] = reference.r.weight.detach().numpy().ravel()
    p["q_reward"][:] = reference.q.weight.detach().numpy()
    p["q_value"][:] = reference.w.detach().numpy()
    p["policy"][:] = reference.fc.weight.detach().numpy().T
    p["policy_bias"][:] = reference.fc.bias.detach().numpy()
