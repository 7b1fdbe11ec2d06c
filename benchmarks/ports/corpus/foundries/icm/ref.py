"""Intrinsic curiosity module with its policy head, in Chainer (NCHW frames)."""
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
ACTIONS, ETA, BETA = 6, 0.1, 0.2


class Encoder(chainer.ChainList):
    def __init__(self):
        channels = (4, 8, 8, 10)
        super().__init__(*[L.Convolution2D(i, o, 3, stride=2, pad=1) for i, o in zip(channels, channels[1:])])

    def forward(self, x):
        for conv in self:
            x = F.elu(conv(x))
        return F.reshape(x, (x.shape[0], -1))


class Icm(chainer.Chain):
    def __init__(self):
        super().__init__()
        phi = 10 * 5 * 5
        with self.init_scope():
            self.encoder = Encoder()
            self.inverse1 = L.Linear(2 * phi, 48)
            self.inverse2 = L.Linear(48, ACTIONS)
            self.forward1 = L.Linear(phi + ACTIONS, 48)
            self.forward2 = L.Linear(48 + ACTIONS, phi)
            self.policy = L.Linear(phi, ACTIONS)
            self.value = L.Linear(phi, 1)

    def forward(self, frames, next_frames, action):
        phi = self.encoder(frames * np.float32(1 / 255))
        phi_next = self.encoder(next_frames * np.float32(1 / 255))
        one_hot = np.eye(ACTIONS, dtype="float32")[action]

        guess = self.inverse2(F.relu(self.inverse1(F.concat((phi, phi_next), axis=1))))
        inverse_loss = F.softmax_cross_entropy(guess, action, reduce="no")

        x = F.leaky_relu(self.forward1(F.concat((phi, one_hot), axis=1)))
        predicted = self.forward2(F.concat((x, one_hot), axis=1))
        error = 0.5 * F.sum((predicted - phi_next) ** 2, axis=1)
        bonus = F.minimum(ETA * error, np.full(error.shape, 25.0, "float32"))

        logits = self.policy(phi)
        value = F.squeeze(self.value(phi), 1)
        loss = (1 - BETA) * F.mean(inverse_loss) + BETA * F.mean(error)
        return {"action_guess": guess, "bonus": bonus, "logits": logits, "value": value, "loss": loss}


def make(seed=31):
    rng = np.random.RandomState(seed)
    net = Icm()
    for name, p in sorted(net.namedparams()):
        fan_in = np.prod(p.data.shape[1:]) if p.data.ndim > 1 else 1
        scale = 0.1 if p.data.ndim == 1 else 1.3 / np.sqrt(fan_in)
        p.data[...] = rng.normal(0, scale, p.data.shape)
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    frames = rng.integers(0, 256, size=(5, 4, 36, 36)).astype("float32")
    newest = rng.integers(0, 256, size=(5, 1, 36, 36)).astype("float32")
    action = rng.integers(0, ACTIONS, size=5).astype("int32")
    return frames, np.concatenate([frames[:, 1:], newest], axis=1), action
