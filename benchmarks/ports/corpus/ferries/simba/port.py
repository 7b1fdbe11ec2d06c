"""SimBa SAC agent, Chainer."""
import math
import numpy as np
import parity  # noqa: F401  (lets chainer load)
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
OBS, ACT, HID, BINS = 7, 3, 12, 11
LOG_STD_MIN, LOG_STD_MAX = -5.0, 2.0
VMAX = 4.0


class Block(chainer.Chain):
    def __init__(self, dim):
        super().__init__()
        with self.init_scope():
            self.ln = L.LayerNormalization(dim, eps=1e-5)
            self.up = L.Linear(dim, 4 * dim)
            self.down = L.Linear(4 * dim, dim)

    def forward(self, x):
        h = self.ln(x)
        h = self.down(F.relu(self.up(h)))
        return x + h


class Encoder(chainer.Chain):
    def __init__(self, n_in, dim, blocks):
        super().__init__()
        with self.init_scope():
            self.embed = L.Linear(n_in, dim)
            self.blocks = chainer.ChainList(*[Block(dim) for _ in range(blocks)])
            self.post = L.LayerNormalization(dim, eps=1e-5)

    def forward(self, x):
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return self.post(x)


class Critic(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.encoder = Encoder(OBS + ACT, HID, 2)
            self.out = L.Linear(HID, BINS)
        self.support = np.linspace(-VMAX, VMAX, BINS).astype(np.float32)

    def forward(self, obs, action):
        probs = F.softmax(self.out(self.encoder(F.concat([obs, action], axis=1))))
        x = F.sum(probs * self.support[None].repeat(probs.shape[0], 0), axis=1, keepdims=True)
        return F.sign(x) * F.expm1(F.absolute(x))


class Agent(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.encoder = Encoder(OBS, HID, 1)
            self.mean = L.Linear(HID, ACT)
            self.log_std = L.Linear(HID, ACT)
            self.critic1 = Critic()
            self.critic2 = Critic()
            self.log_alpha = chainer.Parameter(np.array([-0.7], np.float32))
        self.add_persistent("obs_mean", np.zeros(OBS, np.float32))
        self.add_persistent("obs_var", np.ones(OBS, np.float32))

    def normalise(self, obs):
        return (obs - self.obs_mean) / np.sqrt(self.obs_var + 1e-8)

    def policy(self, obs, noise):
        z = self.encoder(obs)
        mean = self.mean(z)
        log_std = F.tanh(self.log_std(z))
        log_std = LOG_STD_MIN + 0.5 * (LOG_STD_MAX - LOG_STD_MIN) * (log_std + 1)
        u = mean + F.exp(log_std) * noise
        gauss = -0.5 * noise ** 2 - log_std - 0.5 * math.log(2 * math.pi)
        jacobian = 2.0 * (math.log(2.0) - u - F.softplus(-2.0 * u))
        logp = F.sum(gauss - jacobian, axis=1, keepdims=True)
        return F.tanh(u), logp

    def forward(self, obs, noise):
        obs = self.normalise(obs)
        action, logp = self.policy(obs, noise)
        q = F.minimum(self.critic1(obs, action), self.critic2(obs, action))
        alpha = F.broadcast_to(F.exp(self.log_alpha), logp.shape)
        return action, logp, q - alpha * logp


def make():
    np.random.seed(17)
    model = Agent()
    rng = np.random.RandomState(17)
    for p in model.params():
        p.array += 0.1 * rng.randn(*p.shape).astype(np.float32)
    model.obs_mean[...] = 0.3 * rng.randn(OBS)
    model.obs_var[...] = rng.uniform(0.5, 2, OBS)
    return model


def inputs(seed):
    rng = np.random.RandomState(seed)
    return (1.5 * rng.randn(6, OBS)).astype(np.float32), rng.randn(6, ACT).astype(np.float32)


def load(ported, original):
    def n(t):
        return t.detach().numpy()

    def dense(dst, src):
        dst.W.array[...] = n(src.weight)
        dst.b.array[...] = n(src.bias)

    def norm(dst, src):
        dst.gamma.array[...] = n(src.weight)
        dst.beta.array[...] = n(src.bias)

    def encoder(dst, src):
        dense(dst.embed, src.embed)
        for d, s in zip(dst.blocks, src.blocks):
            norm(d.ln, s.layer_norm)
            dense(d.up, s.fc1)
            dense(d.down, s.fc2)
        norm(dst.post, src.post_norm)

    encoder(ported.encoder, original.actor.encoder)
    dense(ported.mean, original.actor.mean)
    dense(ported.log_std, original.actor.log_std)
    for name in ("critic1", "critic2"):
        encoder(getattr(ported, name).encoder, getattr(original, name).encoder)
        dense(getattr(ported, name).out, getattr(original, name).out)
    ported.log_alpha.array[...] = n(original.log_alpha)
    ported.obs_mean[...] = n(original.norm.mean)
    ported.obs_var[...] = n(original.norm.var)
