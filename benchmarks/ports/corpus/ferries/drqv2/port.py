"""DrQ-v2 networks, Keras 3, channels last."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
LAYOUT = "NHWC"
ACT, FEAT, HID = 3, 16, 24


class Encoder(layers.Layer):
    def __init__(self, width=8, **kw):
        super().__init__(**kw)
        self.convs = [layers.Conv2D(width, 3, strides=2 if i == 0 else 1, activation="relu")
                      for i in range(4)]
        self.to_channels_first = layers.Permute((3, 1, 2))
        self.flatten = layers.Flatten()

    def call(self, obs):
        x = obs / 255.0 - 0.5
        for conv in self.convs:
            x = conv(x)
        x = self.to_channels_first(x)
        return self.flatten(x)


class Trunk(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.dense = layers.Dense(FEAT)
        self.norm = layers.LayerNormalization(epsilon=1e-5)

    def call(self, h):
        return ops.tanh(self.norm(self.dense(h)))


class MLP(layers.Layer):
    def __init__(self, n_out, **kw):
        super().__init__(**kw)
        self.fc1 = layers.Dense(HID, activation="relu")
        self.fc2 = layers.Dense(HID, activation="relu")
        self.out = layers.Dense(n_out)

    def call(self, x):
        return self.out(self.fc2(self.fc1(x)))


class DrQV2(keras.Model):
    def __init__(self, std=0.4, clip=0.3):
        super().__init__()
        self.std, self.clip = std, clip
        self.encoder = Encoder()
        self.actor_trunk = Trunk()
        self.policy = MLP(ACT)
        self.critic_trunk = Trunk()
        self.q1 = MLP(1)
        self.q2 = MLP(1)

    def sample(self, mu, noise):
        eps = ops.clip(noise * self.std, -self.clip, self.clip)
        return ops.clip(mu + eps, -1.0 + 1e-6, 1.0 - 1e-6)

    def call(self, obs, noise):
        h = self.encoder(obs)
        mu = ops.tanh(self.policy(self.actor_trunk(h)))
        action = self.sample(mu, noise)
        z = ops.concatenate([self.critic_trunk(h), action], axis=-1)
        q1 = self.q1(z)
        q2 = self.q2(z)
        return action, ops.concatenate([q1, q2], axis=-1), ops.minimum(q1, q2)


def make():
    keras.utils.set_random_seed(5)
    model = DrQV2()
    model(*[ops.convert_to_tensor(v) for v in inputs(0)])
    rng = np.random.RandomState(5)
    for w in model.weights:
        w.assign(w.numpy() + 0.1 * rng.randn(*w.shape).astype(np.float32))
    return model


def inputs(seed):
    rng = np.random.RandomState(seed)
    obs = rng.randint(0, 256, (6, 9, 20, 20)).astype(np.float32)
    noise = rng.randn(6, ACT).astype(np.float32)
    return np.ascontiguousarray(obs.transpose(0, 2, 3, 1)), noise


def load(ported, original):
    def n(t):
        return t.detach().numpy()

    def dense(dst, src):
        dst.kernel.assign(n(src.weight).T)
        dst.bias.assign(n(src.bias))

    def mlp(dst, src):
        for d, i in ((dst.fc1, 0), (dst.fc2, 2), (dst.out, 4)):
            dense(d, src[i])

    def trunk(dst, src):
        dense(dst.dense, src[0])
        dst.norm.gamma.assign(n(src[1].weight))
        dst.norm.beta.assign(n(src[1].bias))

    for i, conv in enumerate(ported.encoder.convs):
        src = original.encoder.convnet[2 * i]
        conv.kernel.assign(n(src.weight).transpose(2, 3, 1, 0))
        conv.bias.assign(n(src.bias))
    trunk(ported.actor_trunk, original.actor.trunk)
    mlp(ported.policy, original.actor.policy)
    trunk(ported.critic_trunk, original.critic.trunk)
    mlp(ported.q1, original.critic.Q1)
    mlp(ported.q2, original.critic.Q2)
