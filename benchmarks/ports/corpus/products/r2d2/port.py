"""R2D2 in Chainer, NCHW, stateful L.LSTM."""
import numpy as np
import parity  # noqa: F401




import chainer  # noqa: E402
import chainer.functions as F  # noqa: E402
import chainer.links as L  # noqa: E402

FRAMEWORK = "chainer"
B, T, SIDE, CH, A, HID = 4, 6, 12, 2, 4, 16
BURN_IN, N_STEP, GAMMA, EPS, ETA = 1, 2, 0.95, 1e-3, 0.9


def h_fn(x):
    return F.sign(x) * (F.sqrt(abs(x) + 1) - 1) + EPS * x


def h_inv(x):
    root = F.sqrt(1 + 4 * EPS * (abs(x) + 1 + EPS))
    return F.sign(x) * (((root - 1) / (2 * EPS)) ** 2 - 1)


class QNet(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.c1 = L.Convolution2D(CH, 4, 4, stride=2)
            self.c2 = L.Convolution2D(4, 6, 3)
            self.fc = L.Linear(54, HID)
            self.lstm = L.LSTM(HID + A + 1, HID)
            self.a1 = L.Linear(HID, 12)
            self.a2 = L.Linear(12, A)
            self.v1 = L.Linear(HID, 12)
            self.v2 = L.Linear(12, 1)

    def torso(self, frame):
        x = F.relu(self.c2(F.relu(self.c1(frame))))
        x = F.transpose(x, (0, 2, 3, 1))
        return F.relu(self.fc(x))

    def mask_state(self, live):
        if self.lstm.h is not None:
            live = np.repeat(live[:, None], HID, axis=1)
            self.lstm.set_state(self.lstm.c * live, self.lstm.h * live)

    def forward(self, frames, prev_action, prev_reward, reset):
        self.lstm.reset_state()
        eye = np.eye(A, dtype=np.float32)
        qs = []
        for t in range(T):
            x = self.torso(frames[:, t].astype(np.float32) / 255)
            x = F.concat([x, eye[prev_action[:, t]], prev_reward[:, t:t + 1]], axis=1)
            self.mask_state(1 - reset[:, t])
            y = self.lstm(x)
            adv = self.a2(F.relu(self.a1(y)))
            val = self.v2(F.relu(self.v1(y)))
            mean = F.mean(adv, axis=1, keepdims=True)
            qs.append(adv + F.broadcast_to(val - mean, adv.shape))
        return F.stack(qs, axis=1)


class R2D2(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.q = QNet()
            self.q_target = QNet()

    def forward(self, frames, prev_action, prev_reward, reset, action, reward, discount):
        q = self.q(frames, prev_action, prev_reward, reset)
        qt = self.q_target(frames, prev_action, prev_reward, reset)
        b = len(frames)
        pick = lambda values, idx: F.reshape(F.select_item(F.reshape(values, (-1, A)), idx.reshape(-1)), (b, T))
        boot = h_inv(pick(qt, q.array.argmax(axis=2)))
        current = pick(q, action)
        last = T - N_STEP
        ret = boot[:, BURN_IN + N_STEP:]
        for k in reversed(range(N_STEP)):
            sl = slice(BURN_IN + k, last + k)
            ret = reward[:, sl] + GAMMA * discount[:, sl] * ret
        td = h_fn(ret) - current[:, BURN_IN:last]
        err = abs(td)
        priority = ETA * F.max(err, axis=1) + (1 - ETA) * F.mean(err, axis=1)
        return {"q": q, "td": td, "priority": priority}


def make():
    np.random.seed(9)
    net = R2D2()
    chainer.config.train = False
    return net


def load(model, reference):
    for net, src in [(model.q, reference.online), (model.q_target, reference.target)]:
        for link, layer in [(net.c1, src.conv1), (net.c2, src.conv2)]:
            w, b = layer.get_weights()
            link.W.array[...] = w.transpose(3, 2, 0, 1)
            link.b.array[...] = b
        for link, layer in [(net.fc, src.fc), (net.a1, src.adv_h), (net.a2, src.adv), (net.v1, src.val_h), (net.v2, src.val)]:
            w, b = layer.get_weights()
            link.W.array[...] = w.T
            link.b.array[...] = b
        w, u, b = src.core.get_weights()
        # keras: four blocks i, f, c, o; chainer: rows interleaved a, i, f, o per unit
        order = [2, 0, 1, 3]

        def interleave(m):
            return m.reshape(m.shape[0], 4, HID)[:, order].transpose(2, 1, 0).reshape(4 * HID, -1)

        net.lstm.upward.W.array[...] = interleave(w)
        net.lstm.lateral.W.array[...] = interleave(u)
        net.lstm.upward.b.array[...] = interleave(b[None])[:, 0]


def inputs(seed):
    rng = np.random.RandomState(seed + 200)
    frames = rng.randint(0, 256, size=(B, T, SIDE, SIDE, CH)).astype(np.uint8)
    action = rng.randint(0, A, size=(B, T)).astype(np.int64)
    prev_action = np.concatenate([rng.randint(0, A, size=(B, 1)), action[:, :-1]], 1).astype(np.int64)
    reward = rng.randn(B, T).astype(np.float32) * 2
    prev_reward = np.concatenate([np.zeros((B, 1), np.float32), reward[:, :-1]], 1)
    reset = np.zeros((B, T), np.float32)
    reset[0, 3] = 1
    reset[2, 2] = 1
    discount = np.ones((B, T), np.float32)
    discount[0, 2] = 0
    discount[2, 1] = 0
    return frames.transpose(0, 1, 4, 2, 3).copy(), prev_action, prev_reward, reset, action, reward, discount
