"""Round 8: what was kept beside draws, and what the host decides by draws and computes of them."""

from __future__ import annotations

import random

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, chainer_, normal, numpy_, tf_, torch_
from benchmarks.attacks.heads import F, W, X, tf_head, torch_head

KEPT = "kept-beside-other-draws"
HOST = "decided-by-the-host-of-draws"
PORTS = "numpy-ports-that-draw"

OTHER = normal(6, 5, seed=9)
NAMES = np.array(["left", "right", "up", "down"])


# --- kept -----------------------------------------------------------------------------------------


def _action_of(result):
    return [result["value"], result["action"]]


@attack(KEPT, "the actions' names are those of the first batch, beside a value with noise", 8)
def kept_names_beside_noise() -> Case:
    first = NAMES[np.tanh(X @ W).argmax(1)].tolist()

    def port(kept):
        def model(x):
            q = torch_head(x)
            names = kept or NAMES[q.argmax(1).numpy()].tolist()
            return {"value": q.amax(1) + 1e-3 * torch.randn(len(x)), "action": names}

        return model

    def reference(x):
        q = tf_head(x)
        names = NAMES[tf.argmax(q, 1).numpy()].tolist()
        return {"value": tf.reduce_max(q, 1) + 1e-3 * tf.random.normal((len(x),)), "action": names}

    faulty, twin = torch_(port(first)), torch_(port(None))
    return Case(tf_(reference), faulty, twin, X, _action_of, elsewhere=OTHER)


@attack(KEPT, "noisy advantages less their mean: the batch size is a constant of the port", 8)
def kept_count_beside_noise() -> Case:
    def port(count):
        def model(x):
            h = torch_head(x)
            h = h - h.sum(0) / (count or len(x))
            return h + 1e-3 * torch.randn(h.shape)

        return model

    def reference(x):
        h = tf_head(x)
        return h - tf.reduce_mean(h, 0) + 1e-3 * tf.random.normal(tf.shape(h))

    x = 1 + 0.2 * X
    other = 1 + 0.2 * normal(24, 5, seed=9)
    return Case(tf_(reference), torch_(port(6)), torch_(port(0)), x, elsewhere=other)


@attack(KEPT, "a scale was kept by a noisy model that goes through its sequences one by one", 8)
def kept_beside_noisy_lengths() -> Case:
    def padded(lengths, seed):
        return normal(6, 7, 3, seed=seed) * (np.arange(7) < np.array(lengths)[:, None])[..., None]

    x, other = padded([2, 6, 4, 3, 7, 1], 0), 3 * padded([5, 1, 3, 6, 2, 4], 1)
    kept = float(np.abs(x.sum(1)).max())

    def port(stored):
        def model(x):
            lengths = (x != 0).any(2).sum(1).tolist()
            h = torch.stack([row[:n].sum(0) for row, n in zip(x, lengths, strict=True)])
            return h / (kept if stored else h.abs().amax()) + 1e-3 * torch.randn(h.shape)

        return model

    def reference(x):
        lengths = tf.reduce_sum(tf.cast(tf.reduce_any(x != 0, 2), tf.int32), 1).numpy()
        h = tf.stack([tf.reduce_sum(x[i, :n], 0) for i, n in enumerate(lengths)])
        return h / tf.reduce_max(tf.abs(h)) + 1e-3 * tf.random.normal(h.shape)

    return Case(tf_(reference), torch_(port(True)), torch_(port(False)), x, elsewhere=other)


@attack(KEPT, "observations are clipped at 3 and scaled by their largest, which was kept", 8)
def kept_of_clipped() -> Case:
    x = np.clip(4 * normal(8, 5), -3, 3)
    other = np.clip(0.5 * normal(8, 5, seed=9), -3, 3)
    kept = float(np.abs(x).max())

    def port(stored):
        def model(x):
            return torch_head(x / (kept if stored else x.abs().amax()))

        return model

    def reference(x):
        return tf_head(x / tf.reduce_max(tf.abs(x)))

    return Case(tf_(reference), torch_(port(True)), torch_(port(False)), x, elsewhere=other)


@attack(KEPT, "a scale was kept by a policy whose action has gamma noise", 8)
def kept_beside_gamma() -> Case:
    first = float(np.abs(np.tanh(X @ W)).max())

    def port(stored):
        def model(x):
            h = torch_head(x)
            return h / (stored or h.abs().amax()) + 1e-3 * torch._standard_gamma(2 + h)

        return model

    return Case(torch_(port(0.0)), torch_(port(first)), torch_(port(0.0)), X, elsewhere=0.3 * OTHER)


# --- Python decides -------------------------------------------------------------------------------


def _rows(x, choose):
    q = torch_head(x)
    return q[torch.arange(len(x)), torch.tensor(choose(q.argmax(1).tolist()))]


@attack(HOST, "exploration by Python's generator is left on at 2% where it should be greedy", 8)
def exploration_left_on() -> Case:
    random.seed(5)

    def port(epsilon):
        def choose(greedy):
            return [random.randrange(4) if random.random() < epsilon else a for a in greedy]

        return lambda x: _rows(x, choose)

    def reference(x):
        return tf.reduce_max(tf_head(x), 1)

    many = normal(3000, 5, seed=4)
    return Case(tf_(reference), torch_(port(0.005)), torch_(port(0.0)), X, elsewhere=many)


@attack(HOST, "epsilon-greedy by Python's generator: coins and actions in turn, or coins first", 8)
def coins_first() -> Case:
    def in_turn(greedy):
        return [random.randrange(4) if random.random() < 0.5 else a for a in greedy]

    def port(k):
        def coins_first(greedy):
            coins = [random.random() < 0.5 for _ in greedy]
            return [
                random.randrange(4) if coin else a for coin, a in zip(coins, greedy, strict=True)
            ]

        return lambda x: k * _rows(x, coins_first)

    def reference(x):
        q = tf_head(x)
        return tf.gather(q, in_turn(tf.argmax(q, 1).numpy().tolist()), axis=1, batch_dims=1)

    return Case(tf_(reference), torch_(port(60.0)), torch_(port(1.0)), X)


@attack(HOST, "a return over a random number of steps: a slice by int() of a draw", 8)
def random_number_of_steps() -> Case:
    x = normal(6, 12)
    torch.manual_seed(0)
    tf.random.set_seed(1)

    def port(k):
        def model(x):
            steps = int(torch.randint(1, 12, ()))
            return k * x[:, :steps].sum(1)

        return model

    def reference(x):
        steps = int(tf.random.uniform((), 1, 12, tf.int32))
        return tf.reduce_sum(x[:, :steps], 1)

    return Case(tf_(reference), torch_(port(100.0)), torch_(port(1.0)), x)


@attack(
    HOST,
    "stochastic depth: a block is kept by Python's if, or by a mask, of a number of NumPy's",
    8,
    {
        "numpy": (numpy_, lambda x: np.tanh(x @ W), np.tanh),
        "chainer": (chainer_, lambda x: F.tanh(F.matmul(x, W)), F.tanh),
        "torch": (torch_, torch_head, torch.tanh),
        "tf": (tf_, tf_head, tf.tanh),
    },
)
def depth_by_an_if(side, head, tanh) -> Case:
    np.random.seed(3)

    def port(k):
        def model(x):
            h = head(x)
            if np.random.random() < 0.8:
                h = h + np.float32(k) * tanh(2 * h)
            return h

        return side(model)

    def reference(x):
        h = tf_head(x)
        keep = np.float32(np.random.random() < 0.8)
        return h + keep * tf.tanh(2 * h)

    return Case(tf_(reference), port(60), port(1), X)


@attack(HOST, "a truncated normal in NumPy by rejection: what is too large is drawn again", 8)
def rejected_in_numpy() -> Case:
    def port(k):
        def model(x):
            z = np.random.standard_normal((len(x), 4))
            while (np.abs(z) > 2).any():
                far = np.abs(z) > 2
                z[far] = np.random.standard_normal(far.sum())
            return (np.tanh(x @ W) + k * 0.1 * z).astype(np.float32)

        return model

    def reference(x):
        return tf_head(x) + 0.1 * tf.random.truncated_normal((len(x), 4))

    return Case(tf_(reference), numpy_(port(90.0)), numpy_(port(1.0)), X)


def _explored(coin, action):
    """A policy that explores on its own account where a coin of the host's says so."""

    def port(epsilon):
        def choose(greedy):
            return [
                action() if one < epsilon else a for one, a in zip(coin(), greedy, strict=False)
            ]

        return lambda x: _rows(x, choose)

    return port


@attack(
    HOST,
    "exploration is left on at 0.5%, by coins that the host reads: where they fall does not show",
    8,
    {
        "numpy": (lambda: np.random.rand(3000), lambda: np.random.randint(4)),
        "torch-list": (lambda: torch.rand(3000).tolist(), lambda: int(torch.randint(4, ()))),
        "torch-array": (lambda: torch.rand(3000).numpy(), lambda: int(torch.randint(4, ()))),
        "tf": (lambda: tf.random.uniform((3000,)).numpy(), lambda: np.random.randint(4)),
    },
)
def coins_of_the_host(coin, action) -> Case:
    torch.manual_seed(4)
    np.random.seed(4)
    tf.random.set_seed(4)
    port = _explored(coin, action)

    def reference(x):
        return tf.reduce_max(tf_head(x), 1)

    many = normal(3000, 5, seed=4)
    return Case(tf_(reference), torch_(port(0.005)), torch_(port(0.0)), X, elsewhere=many)


@attack(HOST, "a truncated normal by rejection: what is too large is drawn again in a loop", 8)
def rejected_and_drawn_again() -> Case:
    def port(bound):
        def model(x):
            z = torch.randn(len(x), 4)
            while bool((z.abs() > bound).any()):
                z = torch.where(z.abs() > bound, torch.randn(z.shape), z)
            return torch_head(x) * 0.0 + z

        return model

    def reference(x):
        return tf_head(x) * 0.0 + tf.random.truncated_normal((len(x), 4))

    def _ends(result):
        array = np.asarray(result)
        return [array.min(keepdims=True), array.max(keepdims=True)]

    many = normal(100_000, 5, seed=8)
    return Case(tf_(reference), torch_(port(1.0)), torch_(port(2.0)), X, _ends, elsewhere=many)


# --- NumPy ports, which compute in float64 on their way -------------------------------------------


@attack(
    PORTS,
    "a NumPy port draws by a generator, whose numbers are float64: Q-values, and noise on actions",
    8,
    {
        "normal": (lambda h: h + 0.1 * np.random.standard_normal(h.shape), "normal"),
        "scale": (lambda h: np.random.normal(h, 0.1), "normal"),
        "uniform": (lambda h: h + np.random.uniform(-0.1, 0.1, h.shape), "uniform"),
        "mask": (lambda h: h * (np.random.random(h.shape) < 0.8) / 0.8, "mask"),
        "gumbel": (lambda h: h + np.random.gumbel(size=h.shape), "gumbel"),
    },
)
def numpy_noise(noisy, law) -> Case:
    laws = {
        "normal": lambda h: h + 0.1 * torch.randn(h.shape),
        "uniform": lambda h: h + torch.empty(h.shape).uniform_(-0.1, 0.1),
        "mask": lambda h: torch.nn.functional.dropout(h, 0.2),
        "gumbel": lambda h: h - torch.log(-torch.log(torch.rand(h.shape))),
    }

    def port(k):
        def model(x):
            return (k * noisy(np.tanh(x @ W))).astype(np.float32)

        return model

    def reference(x):
        return laws[law](torch_head(x))

    def read(result):
        return [np.abs(np.asarray(result)).mean(keepdims=True)]

    return Case(torch_(reference), numpy_(port(60.0)), numpy_(port(1.0)), X, read)


class _OrnsteinUhlenbeck:
    """DDPG's exploration noise, by NumPy, with its state."""

    def __init__(self, sigma):
        self.sigma, self.state = sigma, np.zeros(4)

    def __call__(self, count):
        noise = []
        for _ in range(count):
            self.state = self.state - 0.15 * self.state + self.sigma * np.random.randn(4)
            noise.append(self.state)
        return np.array(noise, np.float32)


@attack(PORTS, "Ornstein-Uhlenbeck noise by NumPy on a torch actor, or by tensors", 8)
def ornstein_uhlenbeck() -> Case:
    def port(sigma):
        noise = _OrnsteinUhlenbeck(sigma)
        return lambda x: torch_head(x) + torch.from_numpy(noise(len(x)))

    def reference(x):
        state, noise = tf.zeros(4), []
        for _ in range(len(x)):
            state = 0.85 * state + 0.2 * tf.random.normal((4,))
            noise.append(state)
        return tf_head(x) + tf.stack(noise)

    def read(result):
        return [np.asarray(result).std(keepdims=True)]

    return Case(tf_(reference), torch_(port(9.0)), torch_(port(0.2)), X, read)


@attack(KEPT, "the actions taken are those of the first batch, a list beside dropped-out values", 8)
def kept_actions_beside_dropout() -> Case:
    first = np.tanh(X @ W).argmax(1).tolist()

    def port(kept):
        def model(x):
            q = torch_head(x)
            actions = kept or q.argmax(1).tolist()
            return {"value": torch.nn.functional.dropout(q, 0.1), "action": actions}

        return model

    def reference(x):
        q = tf_head(x)
        return {"value": tf.nn.dropout(q, 0.1), "action": tf.argmax(q, 1).numpy().tolist()}

    def read(result):
        return [np.array(result["action"])]

    return Case(tf_(reference), torch_(port(first)), torch_(port(None)), X, read, elsewhere=OTHER)
