"""Imagination-augmented agent (I2A) on MiniPacman-like grids, Chainer."""
import numpy as np
import chainer
from chainer import functions as F
from chainer import links as L
from chainer import Sequential

FRAMEWORK = "chainer"
A, CH, H, W, DEPTH, CODE = 5, 4, 8, 8, 3, 24


class EnvModel(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.inp = L.Convolution2D(CH + A, 16, 3, pad=1)
            self.pool = L.Linear(16, 16)
            self.mix = L.Convolution2D(32, 16, 1)
            self.frame = L.Convolution2D(16, CH, 1)
            self.reward = L.Linear(16 * H * W, 1)

    def __call__(self, obs, action):
        plane = F.broadcast_to(action[:, :, None, None], action.shape + (H, W))
        h = F.relu(self.inp(F.concat([obs, plane], axis=1)))
        summary = F.relu(self.pool(F.max(h, axis=(2, 3))))
        tiled = F.broadcast_to(summary[:, :, None, None], h.shape)
        h = F.relu(self.mix(F.concat([h, tiled], axis=1)))
        return F.sigmoid(self.frame(h)), self.reward(h)


class I2A(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.env = EnvModel()
            self.rollout_policy = Sequential(
                L.Convolution2D(CH, 8, 3, stride=2, pad=1), F.relu, L.Linear(8 * 4 * 4, A))
            self.enc_conv = L.Convolution2D(CH, 10, 3, stride=2, pad=1)
            self.enc_fc = L.Linear(10 * 4 * 4, 23)
            self.enc_rnn = L.StatelessLSTM(CODE, CODE)
            self.free_conv = L.Convolution2D(CH, 12, 3, stride=2, pad=1)
            self.free_fc = L.Linear(12 * 4 * 4, 32)
            self.joint = L.Linear(A * CODE + 32, 48)
            self.policy = L.Linear(48, A)
            self.value = L.Linear(48, 1)

    def imagine(self, obs):
        B = obs.shape[0]
        state = F.reshape(F.repeat(obs[:, None], A, axis=1), (B * A, CH, H, W))
        action = chainer.Variable(np.tile(np.eye(A, dtype=np.float32), (B, 1)))
        steps = []
        for t in range(DEPTH):
            state, reward = self.env(state, action)
            steps.append((state, reward))
            if t < DEPTH - 1:
                action = F.softmax(self.rollout_policy(state), axis=1)
        return steps

    def encode(self, steps):
        c = h = None
        for frame, reward in reversed(steps):
            f = F.relu(self.enc_fc(F.relu(self.enc_conv(frame))))
            c, h = self.enc_rnn(c, h, F.concat([f, reward], axis=1))
        return h

    def __call__(self, obs):
        B = obs.shape[0]
        codes = F.reshape(self.encode(self.imagine(obs)), (B, A * CODE))
        free = F.relu(self.free_fc(F.relu(self.free_conv(obs))))
        x = F.relu(self.joint(F.concat([codes, free], axis=1)))
        logits = self.policy(x)
        imitation = F.log_softmax(self.rollout_policy(obs), axis=1)
        distill = -F.sum(F.softmax(logits, axis=1) * imitation, axis=1)
        return logits, self.value(x)[:, 0], distill


def make():
    rng = np.random.RandomState(81)
    model = I2A()
    model(inputs(0))
    for _, p in sorted(model.namedparams()):
        if p.array.ndim == 1:
            p.array[...] = rng.randn(*p.shape) * 0.2
        else:
            p.array[...] = rng.randn(*p.shape) * 1.2 / np.sqrt(p.array[0].size)
    return model


def inputs(seed):
    rng = np.random.RandomState(seed)
    grid = rng.choice(CH, size=(4, H, W), p=[0.55, 0.25, 0.15, 0.05])
    return np.eye(CH, dtype=np.float32)[grid].transpose(0, 3, 1, 2).copy()
