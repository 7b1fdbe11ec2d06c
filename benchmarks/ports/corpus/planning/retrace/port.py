"""Soft Retrace in NumPy, for the replay server, which has no torch."""
import numpy as np

FRAMEWORK = "numpy"


def silu(x):
    return x / (1.0 + np.exp(-x))


def mish(x):
    return x * np.tanh(np.log1p(np.exp(x)))


def dense(x, layer):
    w, b = layer
    return np.matmul(x, w) + b


class Retrace:
    def __init__(self, gamma=0.98, lam=0.9):
        self.gamma, self.lam = gamma, lam
        rng = np.random.default_rng(1)
        net = lambda *sizes: [(rng.normal(size=s).astype("float32"), np.zeros(s[1], "float32")) for s in zip(sizes, sizes[1:])]
        self.scale, self.shift = np.ones(7, "float32"), np.zeros(7, "float32")
        self.critics = [net(7, 24, 24, 5), net(7, 24, 24, 5)]
        self.actor, self.gate = net(7, 24, 5), net(7, 12, 1)
        self.log_alpha = np.zeros((), "float32")

    def normalise(self, obs):
        mu = np.mean(obs, axis=-1, keepdims=True)
        var = np.mean(np.square(obs - mu), axis=-1, keepdims=True)
        return (obs - mu) / np.sqrt(var + 1e-5) * self.scale + self.shift

    def critic(self, layers, x):
        for layer in layers[:-1]:
            x = silu(dense(x, layer))
        return dense(x, layers[-1])

    def log_policy(self, x):
        logits = dense(np.tanh(dense(x, self.actor[0])), self.actor[1])
        logits = logits - np.max(logits, axis=-1, keepdims=True)
        return logits - np.log(np.sum(np.exp(logits), axis=-1, keepdims=True))

    def __call__(self, obs, actions, behaviour, rewards, discounts):
        alpha = np.exp(self.log_alpha)
        x = self.normalise(obs)
        twins = np.stack([self.critic(c, x) for c in self.critics])  # 2, T, B, A
        q_min = np.min(twins, axis=0)
        log_pi = self.log_policy(x)
        pi = np.exp(log_pi)
        v = np.sum(pi * (q_min - alpha * log_pi), axis=-1)
        taken = actions[..., None]
        q = np.take_along_axis(q_min, taken, axis=-1)[..., 0]
        log_pi_a = np.take_along_axis(log_pi, taken, axis=-1)[..., 0]
        trace = self.lam * np.minimum(1.0, np.exp(log_pi_a - behaviour))
        gamma = self.gamma * discounts[:-1]
        delta = rewards[:-1] + gamma * v[1:] - q[:-1]
        # targets by their definition: sums of products of traces
        steps = delta.shape[0]
        targets = []
        for t in range(steps):
            total, weight = delta[t], np.ones_like(delta[t])
            for s in range(t + 1, steps):
                weight = weight * gamma[s - 1] * trace[s]
                total = total + weight * delta[s]
            targets.append(q[t] + total)
        targets = np.stack(targets)
        q_taken = np.take_along_axis(twins, taken[None], axis=-1)[..., 0]
        td = np.abs(targets[None] - q_taken[:, :-1])
        huber = np.where(td < 1.0, 0.5 * td * td, td - 0.5)
        gate = 1.0 / (1.0 + np.exp(-dense(mish(dense(x, self.gate[0])), self.gate[1])))
        critic_loss = np.mean(gate[None, :-1, :, 0] * huber)
        actor_loss = np.mean(np.sum(pi * (alpha * log_pi - q_min), axis=-1))
        return targets, v, critic_loss, actor_loss


def make():
    return Retrace()


def load(port, ref):
    n = lambda t: t.detach().numpy().copy()
    layers = lambda seq: [(n(m.weight).T.copy(), n(m.bias)) for m in seq if hasattr(m, "weight")]
    port.scale, port.shift = n(ref.norm.weight), n(ref.norm.bias)
    port.critics = [layers(ref.q1), layers(ref.q2)]
    port.actor, port.gate = layers(ref.actor), layers(ref.gate)
    port.log_alpha = n(ref.log_alpha)
